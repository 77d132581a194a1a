"""`mesh-lsp`: the entry point of the language server; checks its dependencies first."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from .command_line import version_text

HELP = """\
mesh-lsp: a language server for MLIR programs that are being edited.

usage: mesh-lsp        (an editor starts it and uses the Language Server Protocol on standard
                        input and output: docs/editors.md)
"""


def main_console() -> None:
    """Run the console script."""
    arguments = sys.argv[1:]
    if arguments and arguments[0] in ("--help", "-h", "--version"):
        sys.stdout.write(version_text() if arguments[0] == "--version" else HELP)
        return
    if find_spec("pygls") is None:
        sys.exit("mesh-lsp: pip install 'mesh-opt[lsp]' installs what it needs")
    # Clients add these; standard input and output is the only transport.
    known = ("--stdio", "--clientProcessId=")
    if unknown := [each for each in arguments if not each.startswith(known)]:
        sys.exit(f"mesh-lsp: there is no option '{unknown[0]}'")
    from .language_server.server import serve

    serve()


if __name__ == "__main__":
    main_console()

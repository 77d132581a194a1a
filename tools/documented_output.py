"""Output in the documentation: what the tools print today, put where a page asks for it.

    python -m mesh_opt.tools.documented_output docs/*.md

A page asks with a comment that names the command, right above a block of code; the block is
replaced by what the command prints, on standard error if there is nothing else. Files are named
from the page's folder.

    <!-- mesh-opt examples/product.mlir --spmd -->
    ```mlir
    ...
    ```
"""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from .mesh_opt import main as mesh_opt
from .mesh_run import main as mesh_run

_TOOLS = {"mesh-opt": mesh_opt, "mesh-run": mesh_run}

_BLOCK = re.compile(
    r"(?P<head><!-- (?P<tool>mesh-opt|mesh-run) (?P<arguments>[^\n]*) -->\n```(?:mlir|text)\n)"
    r".*?(?P<end>^```$)",
    re.MULTILINE | re.DOTALL,
)


def with_current_output(text: str, folder: Path) -> str:
    """A page with every block that names its command as the command prints it now.

    Raises ValueError with the tool's message if a command fails.
    """

    def block(match: re.Match[str]) -> str:
        arguments = [
            str(folder / word) if word.endswith(".mlir") else word
            for word in shlex.split(match["arguments"])
        ]
        stdout, stderr = io.StringIO(), io.StringIO()
        if _TOOLS[match["tool"]](arguments, io.StringIO(), stdout, stderr) != 0:
            raise ValueError(stderr.getvalue())
        output = stdout.getvalue() or stderr.getvalue()
        # Places are named as a reader sees them.
        output = output.replace(f"{folder}/", "")
        return (
            match["head"]
            + "\n".join(map(str.rstrip, output.rstrip().split("\n")))
            + "\n"
            + match["end"]
        )

    return _BLOCK.sub(block, text)


def main(paths: Sequence[str]) -> None:
    """Bring pages up to date in place."""
    for path in (Path(each).resolve() for each in paths):
        text = path.read_text(encoding="utf-8")
        path.write_text(with_current_output(text, path.parent), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

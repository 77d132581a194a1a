"""Update the tool output shown in documentation pages.

    python tests/helpers/documented_output.py docs/*.md

A comment directly above a code block contains a command. The block is replaced by the output of the
command, or by its standard error if there is no output. File names are relative to the page's
folder.

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

from mesh_opt.tools.mesh_opt import main as mesh_opt
from mesh_opt.tools.mesh_run import main as mesh_run

_TOOLS = {"mesh-opt": mesh_opt, "mesh-run": mesh_run}

_BLOCK = re.compile(
    r"(?P<head><!-- (?P<tool>mesh-opt|mesh-run) (?P<arguments>[^\n]*) -->\n```(?:mlir|text)\n)"
    r".*?(?P<end>^```$)",
    re.MULTILINE | re.DOTALL,
)


def with_current_output(text: str, folder: Path) -> str:
    """Return a page with the output in all of its command blocks updated.

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
        # Show file names relative to the page.
        output = output.replace(f"{folder}/", "")
        return (
            match["head"]
            + "\n".join(map(str.rstrip, output.rstrip().split("\n")))
            + "\n"
            + match["end"]
        )

    return _BLOCK.sub(block, text)


def main(paths: Sequence[str]) -> None:
    """Update pages in place."""
    for path in (Path(each).resolve() for each in paths):
        text = path.read_text(encoding="utf-8")
        path.write_text(with_current_output(text, path.parent), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

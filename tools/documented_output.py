"""IR in the documentation: what `mesh-opt` prints today, put where a page asks for it.

    python -m mesh_opt.tools.documented_output docs/*.md

A page asks with a comment that names the arguments, right above a block of code; the block is
replaced. Files are named from the page's folder.

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

_BLOCK = re.compile(
    r"(?P<head><!-- mesh-opt (?P<arguments>[^\n]*) -->\n```mlir\n).*?(?P<end>^```$)",
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
        if mesh_opt(arguments, io.StringIO(), stdout, stderr) != 0:
            raise ValueError(stderr.getvalue())
        return match["head"] + stdout.getvalue() + match["end"]

    return _BLOCK.sub(block, text)


def main(paths: Sequence[str]) -> None:
    """Bring pages up to date in place."""
    for path in map(Path, paths):
        text = path.read_text(encoding="utf-8")
        path.write_text(with_current_output(text, path.parent), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Single operations in unusual spellings: what mlir-opt makes of our text, and of its own.

A file in `forms/` has one operation a line. A line `## func.func @f(...)` starts a group: each
operation after it is put into this function alone; `#> ` is text below the function. All of a
file goes through mlir-opt at once, and is compared in its generic form.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path

import pytest
from mesh_opt.tools.mesh_opt import main

FORMS = sorted((Path(__file__).parent / "forms").glob("*.txt"))
SPLIT = "--split-input-file"
GENERIC = "--mlir-print-op-generic"
WANTED = (SPLIT, GENERIC, "--mlir-print-local-scope")
BETWEEN = "// -----\n"


def modules(path: Path) -> Iterator[str]:
    header, below = "", ""
    waiting: list[str] = []
    for line in [*path.read_text(encoding="utf-8").splitlines(), "## "]:
        if line.startswith("## "):
            yield from (f"{header} {{\n  {each}\n  return\n}}\n{below}" for each in waiting)
            header, below, waiting = line[3:], "", []
        elif line.startswith("#> "):
            below += line[3:] + "\n"
        elif line.strip():
            waiting.append(line)


def ours(text: str, *options: str) -> str:
    stdout, stderr = io.StringIO(), io.StringIO()
    code = main([SPLIT, *options, "-"], io.StringIO(text), stdout, stderr)
    assert code == 0, stderr.getvalue()
    return stdout.getvalue()


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_forms(path: Path, mlir_opt: Callable[..., str]) -> None:
    pieces = list(modules(path))
    text = BETWEEN.join(pieces)
    wanted = mlir_opt(text, *WANTED)
    spellings = [ours(text), ours(text, GENERIC), ours(text, "--mlir-print-debuginfo")]
    spellings += [ours(mlir_opt(text, SPLIT)), ours(wanted)]
    for spelling in spellings:
        found = mlir_opt(spelling, *WANTED)
        for piece, want, is_now in zip_longest(
            pieces, wanted.split(BETWEEN), found.split(BETWEEN), fillvalue="nothing"
        ):
            assert is_now.strip() == want.strip(), piece

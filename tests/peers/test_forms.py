"""Single operations in unusual spellings: what mlir-opt makes of our text, and of its own.

A file in `forms/` has one operation a line. A line `## func.func @f(...)` starts a group: each
operation after it is put into this function alone; `#< ` and `#> ` are lines above and below the
function. All of a file goes through mlir-opt at once, and is compared in its generic form.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path

import pytest
from tool_runs import printed

FORMS = sorted((Path(__file__).parent / "forms").glob("*.txt"))
SPLIT = "--split-input-file"
GENERIC = "--mlir-print-op-generic"
WANTED = (SPLIT, GENERIC, "--mlir-print-local-scope")
BETWEEN = "// -----\n"

BIG = {
    "i1": ("true", "false"),
    "i3": ("-4", "-1", "3"),
    "i4": ("-8", "7", "0"),
    "i8": ("-128", "5"),
    "i12": ("-2048", "100"),
    "i24": ("-1", "70000"),
    "i64": ("-1", "9000000000"),
    "index": ("-1", "9"),
    "f32": ("1.5", "0x7FC00000", "-0.0"),
    "bf16": ("1.5", "2.0"),
    "f8E4M3FN": ("1.0", "-2.0"),
    "complex<f32>": ("(1.0, 2.0)", "(-1.0, 0.5)"),
}
"""Elements, and numbers for each."""


def modules(path: Path) -> Iterator[str]:
    header, above, below = "", "", ""
    waiting: list[str] = []
    for line in [*path.read_text(encoding="utf-8").splitlines(), "## "]:
        if line.startswith("## "):
            yield from (f"{above}{header} {{\n  {each}\n  return\n}}\n{below}" for each in waiting)
            header, above, below, waiting = line[3:], "", "", []
        elif line.startswith("#< "):
            above += line[3:] + "\n"
        elif line.startswith("#> "):
            below += line[3:] + "\n"
        elif line.strip():
            waiting.append(line)


def ours(text: str, *options: str) -> str:
    return printed(SPLIT, *options, text=text)


def big_constants() -> Iterator[str]:
    """Constants that mlir-opt prints as bytes."""
    chooser = random.Random(0)
    for element, numbers in BIG.items():
        for count in (101, 203):
            values = ", ".join(chooser.choice(numbers) for _ in range(count))
            constant = f"arith.constant dense<[{values}]> : tensor<{count}x{element}>"
            yield f"func.func @f() {{\n  %0 = {constant}\n  return\n}}\n"


def compare(pieces: list[str], mlir_opt: Callable[..., str]) -> None:
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


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_forms(path: Path, mlir_opt: Callable[..., str]) -> None:
    compare(list(modules(path)), mlir_opt)


def test_big_constants(mlir_opt: Callable[..., str]) -> None:
    compare(list(big_constants()), mlir_opt)

"""Single passes of IREE's names: iree-opt and mesh-opt make the same of the programs here.

The first line of a file in `iree_passes/` is the pipeline. Each program of the file is run through
it by both; what remains after iree-opt's `canonicalize` and `cse` has to be the same text. Since
that hides patterns that `canonicalize` lacks itself, its results have the same operations before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path

import pytest
from tool_runs import printed

FILES = sorted((Path(__file__).parent / "iree_passes").iterdir())
BETWEEN = "// -----\n"
CANONICALIZED = "// builtin.module(canonicalize)"
OPERATION = re.compile(r'"([\w.]+)"\(')
GENERIC = "--mlir-print-op-generic"
CLEANED = "--pass-pipeline=builtin.module(canonicalize,cse,canonicalize)"


def ours(text: str, *options: str) -> str:
    return printed("--split-input-file", *options, text=text)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_pass(path: Path, iree_opt: Callable[..., str]) -> None:
    head, text = path.read_text(encoding="utf-8").split("\n", 1)
    pipeline = f"--pass-pipeline={head.removeprefix('// ')}"
    theirs, made = iree_opt(text, pipeline), ours(text, pipeline)
    wanted, found = iree_opt(theirs, CLEANED), iree_opt(made, CLEANED)
    programs = text.split(BETWEEN)
    for program, want, got in zip_longest(programs, wanted.split(BETWEEN), found.split(BETWEEN)):
        assert got.strip().split("\n") == want.strip().split("\n"), program
    if head == CANONICALIZED:
        before = (iree_opt(each, GENERIC).split(BETWEEN) for each in (theirs, made))
        for program, want, got in zip_longest(programs, *before):
            assert Counter(OPERATION.findall(got)) == Counter(OPERATION.findall(want)), program

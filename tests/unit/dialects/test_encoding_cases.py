"""The programs of tests/cases/encoding: read, verified, printed in either spelling, read again."""

from __future__ import annotations

from pathlib import Path

import pytest
from breadth import sampled
from tool_runs import mesh_opt, printed

CASES = sorted((Path(__file__).parents[2] / "cases" / "encoding").glob("*.mlir"))


@pytest.mark.parametrize("path", sampled(CASES, 4), ids=lambda path: path.stem)
def test_spellings(path: Path) -> None:
    as_read = printed(str(path), "--verify-roundtrip")
    today = printed("--spelling=today", "--verify-roundtrip", text=as_read)
    in_2024 = printed("--spelling=2024", "--verify-roundtrip", text=today)
    assert "iree.encoding.resolver" not in in_2024
    assert "encoding_solver" not in today
    assert printed("--spelling=2024", text=in_2024) == in_2024
    assert printed("--spelling=today", text=today) == today


def test_the_typo_of_the_seed_is_located() -> None:
    """The design document lacks a `>` in one of its listings."""
    text = """#e = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul,
  element_types = [f32, f32, f32], round_dims_to = array<i64: 32, 32, 32, targets = [1 : i32]>
"""
    code, _, errors = mesh_opt(text=text)
    assert code == 1
    assert errors.startswith("<stdin>:2:")

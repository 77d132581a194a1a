"""The programs of tests/cases/encoding: read, verified, printed in either spelling, read again."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from breadth import sampled
from mesh_opt.tools.mesh_opt import main

CASES = sorted((Path(__file__).parents[2] / "cases" / "encoding").glob("*.mlir"))


def mesh_opt(text: str, *arguments: str) -> str:
    output, errors = StringIO(), StringIO()
    code = main(["-", *arguments], StringIO(text), output, errors)
    assert code == 0, errors.getvalue()
    return output.getvalue()


@pytest.mark.parametrize("path", sampled(CASES, 2), ids=lambda path: path.stem)
def test_spellings(path: Path) -> None:
    as_read = mesh_opt(path.read_text(), "--verify-roundtrip")
    today = mesh_opt(as_read, "--spelling=today", "--verify-roundtrip")
    in_2024 = mesh_opt(today, "--spelling=2024", "--verify-roundtrip")
    assert "iree.encoding.resolver" not in in_2024
    assert "encoding_solver" not in today
    assert mesh_opt(in_2024, "--spelling=2024") == in_2024
    assert mesh_opt(today, "--spelling=today") == today


def test_the_typo_of_the_seed_is_located() -> None:
    """The design document lacks a `>` in one of its listings."""
    text = """#e = #iree_encoding.encoding<operand_index = 0 : index, op_type = matmul,
  element_types = [f32, f32, f32], round_dims_to = array<i64: 32, 32, 32, targets = [1 : i32]>
"""
    errors = StringIO()
    assert main(["-"], StringIO(text), StringIO(), errors) == 1
    assert errors.getvalue().startswith("<stdin>:2:")

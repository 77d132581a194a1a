"""Test programs of IREE: constants that are hidden from folding, and expectations."""

from __future__ import annotations

from typing import Any

import pytest
from mesh_opt import api

NUMBERS = """
  %b = util.unfoldable_constant 5 : i32
  %z = util.unfoldable_constant 0 : i32
  %i = util.unfoldable_constant dense<[1, 3]> : tensor<2xi8>
  %j = util.unfoldable_constant dense<[1, 0]> : tensor<2xi8>
  %f = util.unfoldable_constant
    dense<[1.0, 0x7F800000, 0xFF800000, 0x7FC00000, 100.0]> : tensor<5xf32>
  %g = util.unfoldable_constant
    dense<[1.0, 0x7F800000, 0xFF800000, 0x7FC00000, 101.0]> : tensor<5xf32>
"""

HOLD = [
    "check.expect_true(%b) : i32",
    "check.expect_false(%z) : i32",
    "check.expect_all_true(%i) : tensor<2xi8>",
    "check.expect_all_true(%f) : tensor<5xf32>",
    "check.expect_eq(%i, %i) : tensor<2xi8>",
    "check.expect_eq_const(%i, dense<[1, 3]> : tensor<2xi8>) : tensor<2xi8>",
    "check.expect_almost_eq(%f, %g, rtol 0.01) : tensor<5xf32>",
    "check.expect_almost_eq(%f, %g, atol 1.0) : tensor<5xf32>",
]

FAIL = {
    "check.expect_true(%z) : i32": "the operand is true",
    "check.expect_false(%b) : i32": "the operand is false",
    "check.expect_all_true(%j) : tensor<2xi8>": "finds False at [1], expected True",
    "check.expect_eq(%i, %j) : tensor<2xi8>": "finds 3 at [1], expected 0",
    "check.expect_eq_const(%i, dense<[1, 2]> : tensor<2xi8>) : tensor<2xi8>": "expected 2",
    "check.expect_almost_eq(%f, %g) : tensor<5xf32>": "finds 100.0 at [4], expected 101.0",
    "check.expect_almost_eq(%g, %f, rtol 0.0099) : tensor<5xf32>": "finds 101.0 at [4]",
    "check.expect_almost_eq_const(%f, dense<[1.0, 1.0, 1.0, 1.0, 100.0]> : tensor<5xf32>, rtol 9.0)"
    " : tensor<5xf32>": "finds inf at [1], expected 1.0",
}


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("pipeline", ["", "spmd", "compile"])
def test_what_is_expected(pipeline: str, backend: Any) -> None:
    """The error of an expectation names its line, though kernels of others are equal."""
    functions = {"hold": "\n".join(HOLD)}
    functions |= {f"fail{number}": check for number, check in enumerate(FAIL)}
    text = "\n".join(
        f"func.func @{name}() {{{NUMBERS}{body}\n  return\n}}" for name, body in functions.items()
    )
    program = api.compile(text, pipeline, backend=backend)
    program["hold"]()
    lines = text.splitlines()
    for number, (check, message) in enumerate(FAIL.items()):
        with pytest.raises(api.ExecutionError) as caught:
            program[f"fail{number}"]()
        assert message in str(caught.value)
        assert f":{lines.index(check) + 1}:1: error" in str(caught.value)

"""Test programs of IREE: hidden constants, expectations, globals, and numbers with scales."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
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


STATE = """
ml_program.global private mutable @state(dense<4> : tensor<i32>) : tensor<i32>
ml_program.global private @step(dense<3> : tensor<i32>) : tensor<i32>
func.func @advance() -> tensor<i32> {
  %0 = ml_program.global_load @state : tensor<i32>
  %1 = ml_program.global_load_const @step : tensor<i32>
  %2 = arith.addi %0, %1 : tensor<i32>
  ml_program.global_store @state = %2 : tensor<i32>
  return %2 : tensor<i32>
}"""


@pytest.mark.parametrize("pipeline", ["", "spmd", "compile"])
def test_globals_of_ml_program(pipeline: str) -> None:
    """Each call starts with their initial values."""
    advance = api.compile(STATE, pipeline)["advance"]
    assert [int(advance()) for _ in range(2)] == [7, 7]


SCALED = """
func.func @main(%x: tensor<4xf32>, %s: tensor<4xf8E8M0FNU>) -> tensor<4xf32> {
  %0 = arith.scaling_truncf %x, %s : tensor<4xf32>, tensor<4xf8E8M0FNU> to tensor<4xf4E2M1FN>
  %1 = arith.scaling_extf %0, %s : tensor<4xf4E2M1FN>, tensor<4xf8E8M0FNU> to tensor<4xf32>
  return %1 : tensor<4xf32>
}"""


def test_numbers_with_scales() -> None:
    """The quotients 1.1, 2.4, -3 and 0.3 are rounded to one of 0, 0.5, 1, 1.5, 2, 3, 4 and 6."""
    scales = np.array([8, 0.5, 1, 4], ml_dtypes.float8_e8m0fnu)
    x = np.array([8.8, 1.2, -3, 1.2], np.float32)
    np.testing.assert_array_equal(api.compile(SCALED)["main"](x, scales), [8, 1, -3, 2])

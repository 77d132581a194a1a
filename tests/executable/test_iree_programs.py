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


BITS = """
#packed = #iree_encoding.packed_storage
func.func @main(%x: tensor<?xi8>, %y: tensor<3xi8>) -> (tensor<3xi8>, tensor<1xi8>, tensor<4xi8>) {
  %0 = tensor.cast %x : tensor<?xi8> to tensor<3xi8>
  %1 = flow.tensor.bitcast %0 : tensor<3xi8> -> tensor<4x6xi1, #packed>
  %2 = flow.tensor.bitcast %y : tensor<3xi8> -> tensor<4x6xi1, #packed>
  %e = tensor.empty() : tensor<4x6xi1, #packed>
  %3 = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>,
      affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a, b)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%1, %2 : tensor<4x6xi1, #packed>, tensor<4x6xi1, #packed>)
      outs(%e : tensor<4x6xi1, #packed>) {
  ^bb0(%a: i1, %b: i1, %c: i1):
    %differ = arith.xori %a, %b : i1
    linalg.yield %differ : i1
  } -> tensor<4x6xi1, #packed>
  %4 = flow.tensor.bitcast %3 : tensor<4x6xi1, #packed> -> tensor<3xi8>
  %5 = flow.tensor.bitcast %1 : tensor<4x6xi1, #packed> -> tensor<24xi1, #packed>
  %6 = tensor.extract_slice %5[8] [8] [1]
      : tensor<24xi1, #packed> to tensor<8xi1, #packed>
  %7 = flow.tensor.bitcast %6 : tensor<8xi1, #packed> -> tensor<1xi8>
  %f = tensor.empty() : tensor<4xi8>
  %8 = linalg.generic {indexing_maps = [affine_map<(a, b) -> (a, b)>, affine_map<(a, b) -> (a)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%1 : tensor<4x6xi1, #packed>) outs(%f : tensor<4xi8>) {
  ^bb0(%a: i1, %b: i8):
    %i = linalg.index 1 : index
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0 : i8
    %is_first = arith.cmpi eq, %i, %c0 : index
    %before = arith.select %is_first, %zero, %b : i8
    %one = arith.extui %a : i1 to i8
    %sum = arith.addi %before, %one : i8
    linalg.yield %sum : i8
  } -> tensor<4xi8>
  return %4, %7, %8 : tensor<3xi8>, tensor<1xi8>, tensor<4xi8>
}"""


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("pipeline", ["", "spmd", "compile"])
def test_bits_stored_without_gaps(pipeline: str, backend: Any) -> None:
    main = api.compile(BITS, pipeline, backend=backend)["main"]
    x, y = np.array([201, 54, 3], np.uint8).view(np.int8), np.array([1, 2, 3], np.int8)
    bits = np.unpackbits(x.view(np.uint8), bitorder="little").reshape(4, 6)
    for got, want in zip(main(x, y), (x ^ y, x[1:2], bits.sum(1)), strict=True):
        np.testing.assert_array_equal(got, want)


STORED = """
util.global private @"k.1" = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
util.func public @main(%x: tensor<?xf32>, %o: tensor<?xf32> {iree.abi.output = 1 : index})
    -> (tensor<?xf32>, tensor<?xf32>) {
  %p = util.global.address @"k.1" : !util.ptr<tensor<4xf32>>
  %0 = util.global.load.indirect %p : !util.ptr<tensor<4xf32>> -> tensor<4xf32>
  %1 = tensor.cast %0 : tensor<4xf32> to tensor<?xf32>
  %2 = arith.addf %x, %1 : tensor<?xf32>
  %3 = arith.mulf %x, %o : tensor<?xf32>
  util.return %2, %3 : tensor<?xf32>, tensor<?xf32>
}"""


@pytest.mark.parametrize("pipeline", ["", "spmd", "compile"])
def test_storage_for_results_and_addresses_of_globals(pipeline: str) -> None:
    x, o = np.arange(4, dtype=np.float32), np.full(4, 3, np.float32)
    found = api.compile(STORED, pipeline)["main"](x, o)
    np.testing.assert_array_equal(found, [[1, 3, 5, 7], [0, 3, 6, 9]])

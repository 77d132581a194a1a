"""Tensors whose types leave sizes open, after `data-tile`: storage is set aside for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from mesh_opt.api import compile

X = np.arange(12, dtype=np.float32).reshape(4, 3)

PROGRAMS: dict[str, tuple[str, Sequence[npt.ArrayLike]]] = {
    "reshape": (
        """(%x: tensor<?x3xf32>, %n: index, %m: index) -> tensor<?x?xf32> {
          %s = tensor.from_elements %n, %m : tensor<2xindex>
          %r = tensor.reshape %x(%s) : (tensor<?x3xf32>, tensor<2xindex>) -> tensor<?x?xf32>""",
        (X, 2, 6),
    ),
    "reshape_by_argument": (
        """(%x: tensor<?x3xf32>, %s: tensor<2xi32>) -> tensor<?x?xf32> {
          %r = tensor.reshape %x(%s) : (tensor<?x3xf32>, tensor<2xi32>) -> tensor<?x?xf32>""",
        (X, np.array([6, 2], np.int32)),
    ),
    "reshape_by_result": (
        """(%x: tensor<?x3xf32>, %s: tensor<2xi32>) -> tensor<?x?xf32> {
          %t = arith.addi %s, %s : tensor<2xi32>
          %r = tensor.reshape %x(%t) : (tensor<?x3xf32>, tensor<2xi32>) -> tensor<?x?xf32>""",
        (X[:2, :2].reshape(-1, 1).repeat(3, axis=1), np.array([3, 1], np.int32)),
    ),
    "gather": (
        """(%x: tensor<?x?xf32>, %i: tensor<?x1xindex>) -> tensor<?x?xf32> {
          %r = tensor.gather %x[%i] gather_dims([0])
            : (tensor<?x?xf32>, tensor<?x1xindex>) -> tensor<?x?xf32>""",
        (X, np.array([[3], [0]])),
    ),
    "gather_in_place": (
        """(%x: tensor<?x?xf32>, %i: tensor<?x1xindex>) -> tensor<?x?x1xf32> {
          %r = tensor.gather %x[%i] gather_dims([1])
            : (tensor<?x?xf32>, tensor<?x1xindex>) -> tensor<?x?x1xf32>""",
        (X, np.array([[2], [0], [2], [1], [1]])),
    ),
    "scatter": (
        """(%x: tensor<?x?xf32>, %s: tensor<2x?xf32>, %i: tensor<2x1xi32>) -> tensor<?x?xf32> {
          %r = tensor.scatter %s into %x[%i] scatter_dims([0]) unique
            : (tensor<2x?xf32>, tensor<?x?xf32>, tensor<2x1xi32>) -> tensor<?x?xf32>""",
        (X, X[:2] + 100, np.array([[3], [1]], np.int32)),
    ),
    "pack": (
        """(%x: tensor<?x3xf32>, %d: tensor<?x2x2x2xf32>) -> tensor<?x2x2x2xf32> {
          %v = arith.constant 7.0 : f32
          %r = linalg.pack %x padding_value(%v : f32) inner_dims_pos = [0, 1] inner_tiles = [2, 2]
            into %d : tensor<?x3xf32> -> tensor<?x2x2x2xf32>""",
        (X[:3], np.zeros((2, 2, 2, 2), np.float32)),
    ),
    "unpack": (
        """(%x: tensor<?x2xf32>, %d: tensor<?xf32>, %n: index) -> tensor<?xf32> {
          %y = tensor.cast %x : tensor<?x2xf32> to tensor<?x?xf32>
          %r = linalg.unpack %y inner_dims_pos = [0] inner_tiles = [%n]
            into %d : tensor<?x?xf32> -> tensor<?xf32>""",
        (X.reshape(6, 2), np.zeros(11, np.float32), 2),
    ),
    "loop_of_tosa": (
        """(%x: tensor<?x3xf32>, %n: tensor<i32>) -> tensor<?x3xf32> {
          %zero = "tosa.const"() <{values = dense<0> : tensor<i32>}> : () -> tensor<i32>
          %one = "tosa.const"() <{values = dense<1> : tensor<i32>}> : () -> tensor<i32>
          %0, %r = tosa.while_loop (%i = %zero, %y = %x)
              : (tensor<i32>, tensor<?x3xf32>) -> (tensor<i32>, tensor<?x3xf32>) {
            %more = tosa.greater %n, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
            tosa.yield %more : tensor<i1>
          } do {
          ^bb0(%i: tensor<i32>, %y: tensor<?x3xf32>):
            %j = tosa.add %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
            %z = tosa.add %y, %x : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
            tosa.yield %j, %z : tensor<i32>, tensor<?x3xf32>
          }""",
        (X, np.int32(3)),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_sizes_are_found(name: str) -> None:
    body, inputs = PROGRAMS[name]
    result_type = body[body.index("-> ") + 3 : body.index(" {")]
    text = f"func.func @f{body}\nreturn %r : {result_type}\n}}"
    arrays = [np.asarray(each) for each in inputs]
    (expected,) = compile(text, backend="interpreter")["f"].run(arrays)
    for backend in ("interpreter", "native"):
        (result,) = compile(text, "data-tile", backend=backend)["f"].run(arrays)
        np.testing.assert_array_equal(result, expected)


def test_reshapes_exchange_open_sizes() -> None:
    """The types are equal, the sizes are not."""
    text = """
func.func @f(%x: tensor<?x?xf32>, %s: tensor<2xi32>) -> tensor<?x?xf32> {
  %r = stablehlo.dynamic_reshape %x, %s : (tensor<?x?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}"""
    for pipeline in ("", "data-tile"):
        for backend in ("interpreter", "native"):
            function = compile(text, pipeline, backend=backend)["f"]
            (result,) = function.run([X, np.array([6, 2], np.int32)])
            np.testing.assert_array_equal(result, X.reshape(6, 2))


def test_an_operand_lists_the_sizes_of_a_call() -> None:
    """JAX exports linear algebra of open sizes so."""
    text = """
func.func @f(%a: tensor<?x3x3xf32>, %b: tensor<?x3x?xf32>) -> tensor<?x3x?xf32> {
  %n = stablehlo.get_dimension_size %b, dim = 0 : (tensor<?x3x?xf32>) -> tensor<i32>
  %k = stablehlo.get_dimension_size %b, dim = 2 : (tensor<?x3x?xf32>) -> tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<1xi32>
  %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %k1 = stablehlo.reshape %k : (tensor<i32>) -> tensor<1xi32>
  %s = stablehlo.concatenate %n1, %three, %k1, dim = 0
    : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
  %r = stablehlo.custom_call @lapack_strsm_ffi(%a, %b, %s) {
    indices_of_shape_operands = dense<2> : tensor<1xi64>,
    mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}
  } : (tensor<?x3x3xf32>, tensor<?x3x?xf32>, tensor<3xi32>) -> tensor<?x3x?xf32>
  return %r : tensor<?x3x?xf32>
}"""
    left = np.tile(np.array([[2, 0, 0], [1, 1, 0], [0, 3, 4]], np.float32), (2, 1, 1))
    solution = np.arange(30, dtype=np.float32).reshape(2, 3, 5)
    for backend in ("interpreter", "native"):
        function = compile(text, "data-tile", backend=backend)["f"]
        (result,) = function.run([left, left @ solution])
        np.testing.assert_allclose(result, solution, atol=1e-4)

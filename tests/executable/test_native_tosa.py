"""Operations of tosa: kernels against the interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from backend_checks import check, function
from mesh_opt import api
from mesh_opt.runtime.abi.arrays import FLOAT_TYPES

TOSA_FLOAT = ["ceil", "cos", "erf", "exp", "floor", "reciprocal", "sigmoid", "sin", "tanh", "abs"]

TOSA_MUL = (
    '  %shift = "tosa.const"() {values = dense<0> : tensor<1xi8>} : () -> tensor<1xi8>\n'
    "  %mul = tosa.mul %a0, %a1, %shift"
)


@pytest.mark.parametrize("element", ["f16", "bf16", "f32"])
def test_tosa_on_floats(element: str) -> None:
    """Elementwise operations, with an operand broadcast along a dimension."""
    kind, row = f"tensor<3x7x{element}>", f"tensor<1x7x{element}>"
    lines = [f"  %{n} = tosa.{n} %a0 : ({kind}) -> {kind}" for n in TOSA_FLOAT]
    pairs = ["add", "sub", "maximum", "minimum"]
    lines += [f"  %{n} = tosa.{n} %a0, %a1 : ({kind}, {row}) -> {kind}" for n in pairs]
    lines.append(f"{TOSA_MUL} : ({kind}, {row}, tensor<1xi8>) -> {kind}")
    names = [*TOSA_FLOAT, *pairs, "mul", "clamp", "cast"]
    lines.append(
        f"  %clamp = tosa.clamp %a0 {{min_val = -0.5 : {element}, max_val = 0.5 : {element}}}"
        f" : ({kind}) -> {kind}"
    )
    lines.append(f"  %cast = tosa.cast %a0 : ({kind}) -> tensor<3x7xi8>")
    kinds = ", ".join([kind] * (len(names) - 1) + ["tensor<3x7xi8>"])
    lines.append(f"  return {', '.join('%' + n for n in names)} : {kinds}")
    check(function([kind, row], kinds, "\n".join(lines)))


@pytest.mark.parametrize("mode", ["PROPAGATE", "IGNORE"])
@pytest.mark.parametrize("element", ["f8E4M3FN", "f8E5M2"])
def test_largest_numbers_of_small_floats(element: str, mode: str) -> None:
    """`f8E4M3FN` has no infinity to start with."""
    kind, places = f"tensor<1x9x7x2x{element}>", "tensor<1x7x2xi32>"
    body = f"""  %0 = tosa.max_pool2d %a0 {{kernel = array<i64: 2, 3>, nan_mode = {mode},
      pad = array<i64: 1, 0, 1, 1>, stride = array<i64: 1, 1>}} : ({kind}) -> {kind}
  %1 = tosa.argmax %a0 {{axis = 1 : i32, nan_mode = {mode}}} : ({kind}) -> {places}
  return %0, %1 : {kind}, {places}"""
    text = function([kind], f"{kind}, {places}", body)
    every = np.arange(256, dtype=np.uint8)[2:128].view(FLOAT_TYPES[element])
    negative = np.arange(128, 256, dtype=np.uint8)[2:128].view(FLOAT_TYPES[element])
    inputs = [np.resize(each, (1, 9, 7, 2)) for each in (every, negative[::-1], every[::-1])]
    check(text, *([each] for each in inputs))


def test_tosa_on_integers() -> None:
    kind = "tensor<3x7xi32>"
    pairs = ["add", "sub", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"]
    lines = [f"  %{n} = tosa.{n} %a0, %a1 : ({kind}, {kind}) -> {kind}" for n in pairs]
    lines.append(f"{TOSA_MUL} : ({kind}, {kind}, tensor<1xi8>) -> {kind}")
    pairs.append("mul")
    compared = ["equal", "greater", "greater_equal"]
    flags = "tensor<3x7xi1>"
    lines += [f"  %{n} = tosa.{n} %a0, %a1 : ({kind}, {kind}) -> {flags}" for n in compared]
    lines.append(f"  %s = tosa.select %greater, %a0, %a1 : ({flags}, {kind}, {kind}) -> {kind}")
    lines.append(f"  %c = tosa.cast %greater : ({flags}) -> tensor<3x7xf32>")
    kinds = ", ".join([kind] * len(pairs) + [flags] * 3 + [kind, "tensor<3x7xf32>"])
    names = ", ".join("%" + n for n in [*pairs, *compared, "s", "c"])
    check(function([kind, kind], kinds, "\n".join([*lines, f"  return {names} : {kinds}"])))


TOSA_PROGRAMS = {
    "reductions": """
func.func @main(%a: tensor<3x5xf32>, %b: tensor<3x5xi32>) -> (tensor<3x1xf32>, tensor<1x5xf32>,
    tensor<3x1xi32>) {
  %0 = tosa.reduce_sum %a {axis = 1 : i32} : (tensor<3x5xf32>) -> tensor<3x1xf32>
  %1 = tosa.reduce_max %a {axis = 0 : i32} : (tensor<3x5xf32>) -> tensor<1x5xf32>
  %2 = tosa.reduce_sum %b {axis = 1 : i32} : (tensor<3x5xi32>) -> tensor<3x1xi32>
  return %0, %1, %2 : tensor<3x1xf32>, tensor<1x5xf32>, tensor<3x1xi32>
}""",
    "reductions_of_nothing": """
func.func @main(%a: tensor<3x0xf32>, %b: tensor<3x0xi32>) -> (tensor<3x1xf32>, tensor<3x1xi32>) {
  %0 = tosa.reduce_product %a {axis = 1 : i32} : (tensor<3x0xf32>) -> tensor<3x1xf32>
  %1 = tosa.reduce_sum %b {axis = 1 : i32} : (tensor<3x0xi32>) -> tensor<3x1xi32>
  return %0, %1 : tensor<3x1xf32>, tensor<3x1xi32>
}""",
    "movements": """
func.func @main(%a: tensor<2x3xf32>) -> (tensor<3x2xf32>, tensor<2x6xf32>, tensor<2x3xf32>,
    tensor<1x2xf32>, tensor<4x4xf32>, tensor<6x1xf32>, tensor<2x6xf32>) {
  %s = tosa.const_shape {values = dense<[0, 1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %z = tosa.const_shape {values = dense<[1, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %p = tosa.const_shape {values = dense<[1, 1, 0, 1]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %v = "tosa.const"() {values = dense<2.5> : tensor<1xf32>} : () -> tensor<1xf32>
  %n = tosa.const_shape {values = dense<[6, 1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %m = tosa.const_shape {values = dense<[1, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %0 = tosa.transpose %a {perms = array<i32: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = tosa.concat %a, %a {axis = 1 : i32}
      : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  %2 = tosa.reverse %a {axis = 1 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = tosa.slice %a, %s, %z
      : (tensor<2x3xf32>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x2xf32>
  %4 = tosa.pad %a, %p, %v
      : (tensor<2x3xf32>, !tosa.shape<4>, tensor<1xf32>) -> tensor<4x4xf32>
  %5 = tosa.reshape %a, %n : (tensor<2x3xf32>, !tosa.shape<2>) -> tensor<6x1xf32>
  %6 = tosa.tile %a, %m : (tensor<2x3xf32>, !tosa.shape<2>) -> tensor<2x6xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<3x2xf32>, tensor<2x6xf32>, tensor<2x3xf32>,
      tensor<1x2xf32>, tensor<4x4xf32>, tensor<6x1xf32>, tensor<2x6xf32>
}""",
    "matmul": """
func.func @main(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>) -> tensor<2x3x5xf32> {
  %z = "tosa.const"() {values = dense<0.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %0 = tosa.matmul %a, %b, %z, %z
      : (tensor<2x3x4xf32>, tensor<2x4x5xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x3x5xf32>
  return %0 : tensor<2x3x5xf32>
}""",
    "matmul_with_zero_points": """
func.func @main(%a: tensor<1x3x4xi8>, %b: tensor<1x4x5xi8>) -> tensor<1x3x5xi32> {
  %y = "tosa.const"() {values = dense<3> : tensor<1xi8>} : () -> tensor<1xi8>
  %z = "tosa.const"() {values = dense<-5> : tensor<1xi8>} : () -> tensor<1xi8>
  %0 = tosa.matmul %a, %b, %y, %z
      : (tensor<1x3x4xi8>, tensor<1x4x5xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x3x5xi32>
  return %0 : tensor<1x3x5xi32>
}""",
}


@pytest.mark.parametrize("name", TOSA_PROGRAMS)
def test_tosa_program(name: str) -> None:
    check(TOSA_PROGRAMS[name])


UNKNOWN_SIZES = {
    "sum": (
        """
func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %c = tosa.add %a, %b : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %c : tensor<?xf32>
}""",
        [((0,), (1,)), ((1,), (0,)), ((1,), (3,)), ((3,), (1,)), ((1,), (1,))],
    ),
    "reduction": (
        """
func.func @main(%a: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c = tosa.reduce_sum %a {axis = 1 : i32} : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return %c : tensor<?x?xf32>
}""",
        [((2, 3),), ((0, 3),), ((2, 0),)],
    ),
    "reshape": (
        """
func.func @main(%a: tensor<?x?xf32>) -> tensor<?x4xf32> {
  %s = tosa.const_shape {values = dense<[-1, 4]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %c = tosa.reshape %a, %s : (tensor<?x?xf32>, !tosa.shape<2>) -> tensor<?x4xf32>
  return %c : tensor<?x4xf32>
}""",
        [((2, 6),), ((0, 3),), ((4, 0),)],
    ),
}


@pytest.mark.parametrize("pipeline", ["", "data-tile"])
@pytest.mark.parametrize("name", UNKNOWN_SIZES)
def test_sizes_of_results(name: str, pipeline: str) -> None:
    """A dimension of size 1 is broadcast to none as well, and a reduced one has size 1. A reshape
    keeps the elements of all dimensions."""
    text, cases = UNKNOWN_SIZES[name]
    compiled = api.compile(text, pipeline)
    for shapes in cases:
        arrays = [np.ones(shape, np.float32) for shape in shapes]
        wanted = api.compile(text)["main"].reference(arrays)
        np.testing.assert_array_equal(compiled["main"](*arrays), wanted[0])

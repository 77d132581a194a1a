"""Reduction loops along neighbouring dimensions are one loop, if nothing reads their indices."""

from __future__ import annotations

import numpy as np
import pytest
from backend_checks import check, function
from mesh_opt import api
from mesh_opt.codegen.kernels.elements.expressions import write_element
from mesh_opt.codegen.kernels.elements.writer import KernelWriter
from mesh_opt.codegen.kernels.loops.merging import merge_loops
from mesh_opt.codegen.kernels.reductions.nests import loop_sizes
from mesh_opt.dialects.linalg.structured_view import structured_view

CUBE = "affine_map<(a, b, i, j) -> (a, b, i, j)>"
TURNED = "affine_map<(a, b, i, j) -> (a, b, j, i)>"
APART = "affine_map<(a, b, i, j) -> (a, i, b, j)>"
NUMBER = "affine_map<(a, b, i, j) -> (a, b)>"
COLUMN = "affine_map<(a, b, i, j) -> (j)>"


def tensor(*shape: int) -> str:
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


def reduction(size: int, second: str, shape: tuple[int, ...], lines: str = "") -> str:
    """The sums of products of `2x3xNxN` and another operand."""
    first, result = tensor(2, 3, size, size), tensor(2, 3)
    body = f"""  %z = arith.constant dense<0.5> : {result}
  %r = linalg.generic {{indexing_maps = [{CUBE}, {second}, {NUMBER}],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}}
      ins(%a0, %a1 : {first}, {tensor(*shape)}) outs(%z : {result}) {{
  ^bb0(%x: f32, %y: f32, %s: f32):
    %p = arith.mulf %x, %y : f32
    {lines}
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  }} -> {result}
  return %r : {result}"""
    return function([first, tensor(*shape)], result, body)


INDEX = """%i = linalg.index 3 : index
    %k = arith.index_cast %i : index to i32
    %f = arith.sitofp %k : i32 to f32
    %p = arith.addf %q, %f : f32"""


@pytest.mark.parametrize("size", [0, 1, 4, 7, 9])
@pytest.mark.parametrize("second", [CUBE, TURNED, APART, NUMBER, COLUMN])
def test_sums(size: int, second: str) -> None:
    shapes = {CUBE: (2, 3, size, size), APART: (2, size, 3, size), NUMBER: (2, 3), COLUMN: (size,)}
    shape = shapes.get(second, shapes[CUBE])
    rng = np.random.default_rng(size)
    inputs = [rng.standard_normal(each).astype(np.float32) for each in (shapes[CUBE], shape)]
    check(reduction(size, second, shape), inputs)


def test_indices_are_those_of_the_program() -> None:
    text = reduction(4, NUMBER, (2, 3), INDEX).replace("%p = arith.mulf", "%q = arith.mulf")
    rng = np.random.default_rng(0)
    check(text, [rng.standard_normal(each).astype(np.float32) for each in ((2, 3, 4, 4), (2, 3))])


@pytest.mark.parametrize(
    ("second", "shape", "expected"),
    [
        (CUBE, (2, 3, 7, 7), ((2, 3, 1, 49), (3,))),
        (NUMBER, (2, 3), ((2, 3, 1, 49), (3,))),
        (TURNED, (2, 3, 7, 7), ((2, 3, 7, 7), (2, 3))),
        (COLUMN, (7,), ((2, 3, 7, 7), (2, 3))),
    ],
)
def test_neighbours_are_merged(
    second: str, shape: tuple[int, ...], expected: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    (main,) = api.compile(reduction(7, second, shape)).module.ops
    (generic,) = (each for each in main.walk() if each.name == "linalg.generic")
    view = structured_view(generic)
    assert view is not None
    writer = KernelWriter(generic, (), lambda value: False, write_element)
    sizes = loop_sizes(writer.shape, view)
    assert merge_loops(writer, view, sizes, (2, 3)) == expected


def test_results_of_one_row() -> None:
    """Loops over results are merged, too: a row of 12 fills a vector that one of 4 does not."""
    text = """
func.func @main(%x: tensor<5x3x4xf32>) -> tensor<3x4xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0]
    : (tensor<5x3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}"""
    program = api.compile(text, pipeline="spmd")
    (sums,) = (each for each in program.module.walk() if each.name == "linalg.generic")
    view = structured_view(sums)
    assert view is not None
    # What the sums begin with is fused.
    writer = KernelWriter(sums, (), lambda value: value not in view.inputs, write_element)
    sizes = loop_sizes(writer.shape, view)
    parallel = [loop for loop in range(3) if loop not in view.reduction_loops]
    assert sorted(merge_loops(writer, view, sizes, parallel)[0]) == [1, 5, 12]
    x = np.random.default_rng(0).standard_normal((5, 3, 4), dtype=np.float32)
    np.testing.assert_allclose(program.main(x), x.sum(0), rtol=1e-6)


def test_fused_producers() -> None:
    """The squares of a difference may be read beyond a row, and those of a slice may not."""
    wide, part = tensor(2, 3, 7, 5), tensor(2, 3, 7, 4)
    text = f"""
func.func @main(%x: {wide}, %m: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {{
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x3xf32>) -> {wide}
  %d = stablehlo.subtract %x, %b : {wide}
  %s = stablehlo.multiply %d, %d : {wide}
  %r = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [2, 3]
    : ({wide}, tensor<f32>) -> tensor<2x3xf32>
  %c = stablehlo.slice %x [0:2, 0:3, 0:7, 1:5] : ({wide}) -> {part}
  %t = stablehlo.multiply %c, %c : {part}
  %u = stablehlo.reduce(%t init: %z) applies stablehlo.add across dimensions = [2, 3]
    : ({part}, tensor<f32>) -> tensor<2x3xf32>
  return %r, %u : tensor<2x3xf32>, tensor<2x3xf32>
}}"""
    rng = np.random.default_rng(0)
    x, m = (rng.standard_normal(each).astype(np.float32) for each in ((2, 3, 7, 5), (2, 3)))
    whole, sliced = api.compile(text, pipeline="spmd").main(x, m)
    difference = x - m[:, :, None, None]
    np.testing.assert_allclose(whole, (difference**2).sum((2, 3)), rtol=1e-5)
    np.testing.assert_allclose(sliced, (x[..., 1:] ** 2).sum((2, 3)), rtol=1e-5)


def test_a_dimension_of_one_keeps_no_loops_apart() -> None:
    """The rows of a tensor, and the number of each row, which is repeated along it."""
    whole, column, rows = tensor(2, 3, 5, 64), tensor(2, 3, 5, 1), tensor(2, 3, 5)
    body = f"""  %c = tensor.expand_shape %a1 [[0], [1], [2, 3]] output_shape [2, 3, 5, 1]
    : {rows} into {column}
  %e = tensor.empty() : {whole}
  %b = linalg.generic {{indexing_maps = [affine_map<(a, b, i, j) -> (a, b, i, 0)>,
      affine_map<(a, b, i, j) -> (a, b, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
      ins(%c : {column}) outs(%e : {whole}) {{
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  }} -> {whole}
  %d = arith.subf %a0, %b : {whole}
  %r = linalg.reduce {{ arith.addf }} ins(%d : {whole}) outs(%a1 : {rows}) dimensions = [3]
  return %r : {rows}"""
    text = function([whole, rows], rows, body)
    rng = np.random.default_rng(0)
    shapes = (2, 3, 5, 64), (2, 3, 5)
    check(text, [rng.standard_normal(each).astype(np.float32) for each in shapes])
    (main,) = api.compile(text).module.ops
    (reduce,) = [each for each in main.walk() if each.name == "linalg.reduce"]
    view = structured_view(reduce)
    assert view is not None
    fused = {each for op in main.regions[0].block.ops for each in op.results} - {reduce.results[0]}
    writer = KernelWriter(reduce, tuple(reduce.results), fused.__contains__, write_element)
    sizes = loop_sizes(writer.shape, view)
    assert merge_loops(writer, view, sizes, (0, 1, 2)) == ((1, 1, 30, 64), (2,))


COMBINERS = {
    "arith.addf": "0.0",
    "arith.maximumf": "0xFF800000",
    "arith.minimumf": "0x7F800000",
}


@pytest.mark.parametrize("combiner", COMBINERS)
@pytest.mark.parametrize(
    "shape", [(0, 64), (64, 0), (16, 32), (17, 37), (5, 7, 33), (3, 16, 128), (97, 257)]
)
def test_terms_that_are_stored(shape: tuple[int, ...], combiner: str) -> None:
    """A reduction along rows stores what it combines, in place of an operand if that dies."""
    whole, rows, last = tensor(*shape), tensor(*shape[:-1]), len(shape) - 1
    body = f"""  %x = arith.subf %a0, %a1 : {whole}
  %y = math.absf %x : {whole}
  %e = math.exp %x : {whole}
  %z = arith.constant {COMBINERS[combiner]} : f32
  %m = tensor.empty() : {rows}
  %f = linalg.fill ins(%z : f32) outs(%m : {rows}) -> {rows}
  %s = linalg.reduce {{ {combiner} }} ins(%e : {whole}) outs(%f : {rows}) dimensions = [{last}]
  %t = linalg.broadcast ins(%s : {rows}) outs(%x : {whole}) dimensions = [{last}]
  %d = arith.divf %e, %t : {whole}
  %r = arith.addf %d, %y : {whole}
  return %r : {whole}"""
    rng = np.random.default_rng(len(shape))
    inputs = [rng.standard_normal(shape).astype(np.float32) for _ in range(2)]
    numbers = inputs[0].reshape(-1)
    for special in (np.nan, np.inf, -np.inf, -0.0, -103.5, -105.0, -1e9, 89.0)[: numbers.size]:
        numbers[rng.integers(numbers.size)] = special
    check(function([whole, whole], whole, body), inputs)


@pytest.mark.parametrize(("rows", "columns"), [(64, 48), (2, 8)])
@pytest.mark.parametrize("dimension", [0, 1])
def test_broadcasts_that_are_stored(rows: int, columns: int, dimension: int) -> None:
    """A sum of a broadcast that is a result, too, does not read the source in its place."""
    body = f"""  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %a0, %c0 : tensor<?x?xf32>
  %m = tensor.dim %a0, %c1 : tensor<?x?xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty(%n, %m) : tensor<?x?xf32>
  %b = linalg.broadcast ins(%a1 : tensor<?xf32>) outs(%e : tensor<?x?xf32>)
      dimensions = [{dimension}]
  %r = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.fill ins(%z : f32) outs(%r : tensor<?xf32>) -> tensor<?xf32>
  %s = linalg.reduce {{ arith.addf }} ins(%b : tensor<?x?xf32>) outs(%f : tensor<?xf32>)
      dimensions = [1]
  return %b, %s : tensor<?x?xf32>, tensor<?xf32>"""
    rng = np.random.default_rng(rows)
    inputs = [
        rng.integers(-9, 9, shape).astype(np.float32)
        for shape in ((rows, columns), (columns if dimension == 0 else rows,))
    ]
    results = "tensor<?x?xf32>, tensor<?xf32>"
    check(function(["tensor<?x?xf32>", "tensor<?xf32>"], results, body), inputs)

"""Structured operations against loops that run the body point by point, and against NumPy."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from breadth import breadth
from hypothesis import given, settings
from hypothesis import strategies as st
from mesh_opt.interpreter.nests import loops, structured
from mesh_opt.interpreter.run import run
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.tools.driver import new_context


def _random(shape: tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> np.ndarray[Any, Any]:
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return generator.integers(-5, 6, shape).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)


def _type(array: np.ndarray[Any, Any], element: str) -> str:
    return "tensor<" + "".join(f"{extent}x" for extent in array.shape) + element + ">"


def _named(name: str, inputs: list[Any], output: Any, element: str, attributes: str = "") -> str:
    names = [f"%i{index}" for index in range(len(inputs))]
    types = [_type(array, element) for array in inputs]
    out = _type(output, element)
    arguments = ", ".join(f"{n}: {t}" for n, t in zip([*names, "%o"], [*types, out], strict=True))
    return f"""
    func.func @f({arguments}) -> {out} {{
      %r = linalg.{name} {attributes} ins({", ".join(names)} : {", ".join(types)})
                         outs(%o : {out}) -> {out}
      return %r : {out}
    }}"""


def _conv(x: Any, w: Any, strides: tuple[int, int], dilations: tuple[int, int]) -> Any:
    """NHWC x HWCF by the definition."""
    n, h, width, _ = x.shape
    kh, kw, _, f = w.shape
    oh = (h - (kh - 1) * dilations[0] - 1) // strides[0] + 1
    ow = (width - (kw - 1) * dilations[1] - 1) // strides[1] + 1
    result = np.zeros((n, oh, ow, f))
    for y, z, i, j in product(range(oh), range(ow), range(kh), range(kw)):
        pixel = x[:, y * strides[0] + i * dilations[0], z * strides[1] + j * dilations[1]]
        result[:, y, z] += pixel.astype(np.float64) @ w[i, j].astype(np.float64)
    return result


def test_matrix_products(execute: Any) -> None:
    a, b, o = _random((3, 4)), _random((4, 5), seed=1), _random((3, 5), seed=2)
    (result,) = execute(_named("matmul", [a, b], o, "f32"), a, b, o)
    np.testing.assert_allclose(result, o + a @ b, rtol=1e-5)
    a, b, o = _random((2, 3, 4)), _random((2, 4, 5)), _random((2, 3, 5))
    (result,) = execute(_named("batch_matmul", [a, b], o, "f32"), a, b, o)
    np.testing.assert_allclose(result, o + a @ b, rtol=1e-5)
    a, b, o = _random((3, 4)), _random((4,)), _random((3,))
    (result,) = execute(_named("matvec", [a, b], o, "f32"), a, b, o)
    np.testing.assert_allclose(result, o + a @ b, rtol=1e-5)
    (result,) = execute(_named("dot", [b, b], o[0], "f32"), b, b, o[0])
    np.testing.assert_allclose(result, o[0] + b @ b, rtol=1e-5)
    a, b, o = _random((2, 3, 4, 2)), _random((5, 3, 6, 2)), _random((2, 5, 4, 6))
    (result,) = execute(_named("mmt4d", [a, b], o, "f32"), a, b, o)
    np.testing.assert_allclose(result, o + np.einsum("mkac,nkbc->mnab", a, b), rtol=1e-5)


@pytest.mark.parametrize("strides", [(1, 1), (2, 1), (2, 3)])
@pytest.mark.parametrize("dilations", [(1, 1), (1, 2)])
def test_convolutions(execute: Any, strides: tuple[int, int], dilations: tuple[int, int]) -> None:
    x, w = _random((2, 9, 8, 3)), _random((3, 2, 3, 4), seed=1)
    expected = _conv(x, w, strides, dilations)
    attributes = (
        f"{{strides = dense<{list(strides)}> : tensor<2xi64>,"
        f" dilations = dense<{list(dilations)}> : tensor<2xi64>}}"
    )
    o = np.zeros(expected.shape, np.float32)
    text = _named("conv_2d_nhwc_hwcf", [x, w], o, "f32", attributes)
    np.testing.assert_allclose(execute(text, x, w, o)[0], expected, rtol=1e-4, atol=1e-5)


def test_pooling(execute: Any) -> None:
    x, w = _random((1, 6, 7, 2)), np.zeros((2, 3), np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 3), axis=(1, 2))[:, ::2]
    for name, reduce, start in (
        ("pooling_nhwc_max", np.max, -np.inf),
        ("pooling_nhwc_min", np.min, np.inf),
        ("pooling_nhwc_sum", np.sum, 0.0),
    ):
        expected = reduce(windows, axis=(-2, -1))
        o = np.full(expected.shape, start, np.float32)
        text = _named(name, [x, w], o, "f32", "{strides = dense<[2, 1]> : tensor<2xi64>}")
        np.testing.assert_allclose(execute(text, x, w, o)[0], expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("element", "dtype"), [("i8", np.int8), ("i32", np.int32), ("i64", np.int64)]
)
def test_integer_products_wrap(execute: Any, element: str, dtype: Any) -> None:
    limits = np.iinfo(dtype)
    generator = np.random.default_rng(3)
    a, b = (generator.integers(limits.min, limits.max, (4, 4), dtype) for _ in range(2))
    o = np.full((4, 4), limits.max, dtype)
    (result,) = execute(_named("matmul", [a, b], o, element), a, b, o)
    width = 8 * np.dtype(dtype).itemsize
    for i, j in product(range(4), range(4)):
        total = int(o[i, j]) + sum(int(a[i, k]) * int(b[k, j]) for k in range(4))
        low = total & ((1 << width) - 1)
        assert int(result[i, j]) == (low - (1 << width) if low >> (width - 1) else low)


def test_quantized_product(execute: Any) -> None:
    a, b = _random((3, 4), np.int8), _random((4, 5), np.int8)
    text = """
    func.func @f(%a: tensor<3x4xi8>, %b: tensor<4x5xi8>, %za: i32, %zb: i32, %o: tensor<3x5xi32>)
        -> tensor<3x5xi32> {
      %r = linalg.quantized_matmul ins(%a, %b, %za, %zb : tensor<3x4xi8>, tensor<4x5xi8>, i32, i32)
                                   outs(%o : tensor<3x5xi32>) -> tensor<3x5xi32>
      return %r : tensor<3x5xi32>
    }"""
    o = np.zeros((3, 5), np.int32)
    (result,) = execute(text, a, b, np.int32(2), np.int32(-3), o)
    np.testing.assert_array_equal(result, (a.astype(int) - 2) @ (b.astype(int) + 3))


def test_narrow_products_are_rounded_once(execute: Any) -> None:
    # 1 + 512 * 2^-9: each step would be lost if the sum were rounded to bf16 on the way.
    a = np.full((1, 512), 2.0**-9, ml_dtypes.bfloat16)
    b = np.ones((512, 1), ml_dtypes.bfloat16)
    o = np.ones((1, 1), ml_dtypes.bfloat16)
    assert float(execute(_named("matmul", [a, b], o, "bf16"), a, b, o)[0][0, 0]) == 2.0


def test_fill_transpose_broadcast_map_reduce(execute: Any) -> None:
    x = _random((2, 3))
    text = """
    func.func @f(%x: tensor<2x3xf32>)
        -> (tensor<3x2xf32>, tensor<2x4x3xf32>, tensor<2x3xf32>, tensor<3xf32>) {
      %zero = arith.constant 0.0 : f32
      %0 = tensor.empty() : tensor<3x2xf32>
      %t = linalg.transpose ins(%x : tensor<2x3xf32>) outs(%0 : tensor<3x2xf32>)
          permutation = [1, 0]
      %1 = tensor.empty() : tensor<2x4x3xf32>
      %b = linalg.broadcast ins(%x : tensor<2x3xf32>) outs(%1 : tensor<2x4x3xf32>)
          dimensions = [1]
      %2 = tensor.empty() : tensor<2x3xf32>
      %m = linalg.map { arith.mulf } ins(%x, %x : tensor<2x3xf32>, tensor<2x3xf32>)
          outs(%2 : tensor<2x3xf32>)
      %3 = tensor.empty() : tensor<3xf32>
      %4 = linalg.fill ins(%zero : f32) outs(%3 : tensor<3xf32>) -> tensor<3xf32>
      %r = linalg.reduce { arith.addf } ins(%x : tensor<2x3xf32>) outs(%4 : tensor<3xf32>)
          dimensions = [0]
      return %t, %b, %m, %r
          : tensor<3x2xf32>, tensor<2x4x3xf32>, tensor<2x3xf32>, tensor<3xf32>
    }"""
    transposed, broadcast, squared, total = execute(text, x)
    np.testing.assert_array_equal(transposed, x.T)
    np.testing.assert_array_equal(broadcast, np.repeat(x[:, None], 4, axis=1))
    np.testing.assert_array_equal(squared, x * x)
    np.testing.assert_allclose(total, x.sum(axis=0), rtol=1e-6)


@pytest.mark.parametrize(("low", "high", "seed"), [(0.0, 1.0, 7), (-2.0, 3.0, -9)])
def test_random_numbers_are_those_of_mlir(execute: Any, low: float, high: float, seed: int) -> None:
    text = """
    func.func @f(%low: f64, %high: f64, %seed: i32) -> tensor<4x5xf32> {
      %0 = tensor.empty() : tensor<4x5xf32>
      %r = linalg.fill_rng_2d ins(%low, %high, %seed : f64, f64, i32)
          outs(%0 : tensor<4x5xf32>) -> tensor<4x5xf32>
      return %r : tensor<4x5xf32>
    }"""
    (found,) = execute(text, np.float64(low), np.float64(high), np.int32(seed))
    # A step of a linear congruential generator for each dimension, in 32 bits that wrap.
    state = np.full((4, 5), seed, np.int32)
    for index in (np.arange(4, dtype=np.int32)[:, None], np.arange(5, dtype=np.int32)):
        state = (state + index) * np.int32(1103515245) + np.int32(12345)
    expected = (state + 2147483647.0) * ((high - low) * 2.3283064e-10) + low
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_argmax_has_two_results(execute: Any) -> None:
    x = _random((4, 7))
    text = """
    #x = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<4x7xf32>, %m: tensor<4xf32>, %n: tensor<4xi32>)
        -> (tensor<4xf32>, tensor<4xi32>) {
      %r:2 = linalg.generic {indexing_maps = [#x, #row, #row],
                             iterator_types = ["parallel", "reduction"]}
          ins(%x : tensor<4x7xf32>) outs(%m, %n : tensor<4xf32>, tensor<4xi32>) {
      ^bb0(%in: f32, %best: f32, %where: i32):
        %j = linalg.index 1 : index
        %here = arith.index_cast %j : index to i32
        %more = arith.cmpf ogt, %in, %best : f32
        %0 = arith.select %more, %in, %best : f32
        %1 = arith.select %more, %here, %where : i32
        linalg.yield %0, %1 : f32, i32
      } -> (tensor<4xf32>, tensor<4xi32>)
      return %r#0, %r#1 : tensor<4xf32>, tensor<4xi32>
    }"""
    best, where = execute(text, x, np.full(4, -np.inf, np.float32), np.zeros(4, np.int32))
    np.testing.assert_array_equal(best, x.max(axis=1))
    np.testing.assert_array_equal(where, x.argmax(axis=1))


def test_two_reductions_at_once(execute: Any) -> None:
    x = _random((3, 5))
    text = """
    #x = affine_map<(i, j) -> (i, j)>
    #row = affine_map<(i, j) -> (i)>
    func.func @f(%x: tensor<3x5xf32>, %m: tensor<3xf32>, %n: tensor<3xf32>)
        -> (tensor<3xf32>, tensor<3xf32>) {
      %r:2 = linalg.generic {indexing_maps = [#x, #row, #row],
                             iterator_types = ["parallel", "reduction"]}
          ins(%x : tensor<3x5xf32>) outs(%m, %n : tensor<3xf32>, tensor<3xf32>) {
      ^bb0(%in: f32, %a: f32, %b: f32):
        %0 = arith.maximumf %a, %in : f32
        %square = arith.mulf %in, %in : f32
        %1 = arith.addf %square, %b : f32
        linalg.yield %0, %1 : f32, f32
      } -> (tensor<3xf32>, tensor<3xf32>)
      return %r#0, %r#1 : tensor<3xf32>, tensor<3xf32>
    }"""
    top, total = execute(text, x, np.zeros(3, np.float32), np.ones(3, np.float32))
    np.testing.assert_array_equal(top, np.maximum(x.max(axis=1), 0))
    np.testing.assert_allclose(total, 1 + (x * x).sum(axis=1), rtol=1e-6)


def test_a_prefix_sum_runs_in_order(execute: Any) -> None:
    # The second output is written at every point, the first carries the sum along.
    x = np.float32([1, 2, 3, 4])
    text = """
    func.func @f(%x: tensor<4xf32>, %s: tensor<f32>, %p: tensor<4xf32>)
        -> (tensor<f32>, tensor<4xf32>) {
      %r:2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>,
                                              affine_map<(i) -> (i)>],
                             iterator_types = ["reduction"]}
          ins(%x : tensor<4xf32>) outs(%s, %p : tensor<f32>, tensor<4xf32>) {
      ^bb0(%in: f32, %sum: f32, %out: f32):
        %0 = arith.addf %sum, %in : f32
        linalg.yield %0, %0 : f32, f32
      } -> (tensor<f32>, tensor<4xf32>)
      return %r#0, %r#1 : tensor<f32>, tensor<4xf32>
    }"""
    total, prefix = execute(text, x, np.float32(0), np.zeros(4, np.float32))
    assert total == 10
    assert prefix.tolist() == [1, 3, 6, 10]


def test_bodies_with_regions_run_point_by_point(execute: Any) -> None:
    x = np.float32([-1, 2, -3])
    text = """
    func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {
      %e = tensor.empty() : tensor<3xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                           iterator_types = ["parallel"]}
          ins(%x : tensor<3xf32>) outs(%e : tensor<3xf32>) {
      ^bb0(%in: f32, %out: f32):
        %zero = arith.constant 0.0 : f32
        %positive = arith.cmpf ogt, %in, %zero : f32
        %i = linalg.index 0 : index
        %0 = scf.if %positive -> (f32) {
          %n = arith.index_cast %i : index to i32
          %v = arith.sitofp %n : i32 to f32
          scf.yield %v : f32
        } else {
          scf.yield %in : f32
        }
        linalg.yield %0 : f32
      } -> tensor<3xf32>
      return %r : tensor<3xf32>
    }"""
    assert execute(text, x)[0].tolist() == [-1, 1, -3]


def test_captured_tensors_are_looked_up(execute: Any) -> None:
    table, ids = _random((6, 3)), np.int32([4, 0, 5])
    text = """
    func.func @f(%t: tensor<6x3xf32>, %i: tensor<3xi32>) -> tensor<3x3xf32> {
      %e = tensor.empty() : tensor<3x3xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>,
                                            affine_map<(i, j) -> (i, j)>],
                           iterator_types = ["parallel", "parallel"]}
          ins(%i : tensor<3xi32>) outs(%e : tensor<3x3xf32>) {
      ^bb0(%id: i32, %out: f32):
        %row = arith.index_cast %id : i32 to index
        %column = linalg.index 1 : index
        %0 = tensor.extract %t[%row, %column] : tensor<6x3xf32>
        linalg.yield %0 : f32
      } -> tensor<3x3xf32>
      return %r : tensor<3x3xf32>
    }"""
    np.testing.assert_array_equal(execute(text, table, ids)[0], table[ids])


def test_an_index_outside_a_captured_tensor(execute_error: Any) -> None:
    text = """
    func.func @f(%t: tensor<6xf32>, %i: tensor<2xi32>) -> tensor<2xf32> {
      %e = tensor.empty() : tensor<2xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                           iterator_types = ["parallel"]}
          ins(%i : tensor<2xi32>) outs(%e : tensor<2xf32>) {
      ^bb0(%id: i32, %out: f32):
        %row = arith.index_cast %id : i32 to index
        %0 = tensor.extract %t[%row] : tensor<6xf32>
        linalg.yield %0 : f32
      } -> tensor<2xf32>
      return %r : tensor<2xf32>
    }"""
    error = execute_error(text, _random((6,)), np.int32([0, 6]))
    assert error.operation.name == "tensor.extract"
    assert "index 6 in dimension 0, which has extent 6" in error.message


def test_extents_that_disagree(execute_error: Any) -> None:
    text = """
    func.func @f(%a: tensor<?x4xf32>, %b: tensor<?x5xf32>, %o: tensor<?x5xf32>) -> tensor<?x5xf32> {
      %r = linalg.matmul ins(%a, %b : tensor<?x4xf32>, tensor<?x5xf32>)
                         outs(%o : tensor<?x5xf32>) -> tensor<?x5xf32>
      return %r : tensor<?x5xf32>
    }"""
    error = execute_error(text, _random((3, 4)), _random((6, 5)), _random((3, 5)))
    assert "the extents 4 and 6 of loop d2" in error.message


def test_empty_extents(execute: Any) -> None:
    a, b, o = _random((3, 0)), _random((0, 5)), _random((3, 5))
    np.testing.assert_array_equal(execute(_named("matmul", [a, b], o, "f32"), a, b, o)[0], o)
    a, b, o = _random((0, 4)), _random((4, 5)), _random((0, 5))
    assert execute(_named("matmul", [a, b], o, "f32"), a, b, o)[0].shape == (0, 5)


def test_large_reductions_go_piece_by_piece(execute: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from mesh_opt.interpreter.nests import reductions

    monkeypatch.setattr(reductions, "_MAXIMAL_PIECE", 7)
    x = _random((5, 6))
    text = """
    func.func @f(%x: tensor<5x6xf32>, %o: tensor<f32>) -> tensor<f32> {
      %r = linalg.reduce { arith.addf } ins(%x : tensor<5x6xf32>) outs(%o : tensor<f32>)
          dimensions = [0, 1]
      return %r : tensor<f32>
    }"""
    np.testing.assert_allclose(execute(text, x, np.float32(1))[0], 1 + x.sum(), rtol=1e-5)


# Random loop nests: the quick ways against one point after the other.

_COMBINERS = ["addf", "mulf", "maximumf", "minimumf", "subf"]
_TERMS = [
    "%0 = arith.mulf %a, %b : f32",
    "%0 = arith.addf %a, %b : f32",
    "%0 = arith.maximumf %a, %b : f32",
    "%n = arith.negf %a : f32\n%0 = arith.mulf %n, %b : f32",
    "%i = linalg.index 0 : index\n%c = arith.index_cast %i : index to i32\n"
    "%d = arith.sitofp %c : i32 to f32\n%0 = arith.mulf %d, %a : f32",
]


@st.composite
def _nests(draw: st.DrawFn) -> tuple[str, list[tuple[int, ...]]]:
    loops_count = draw(st.integers(1, 4))
    extents = [draw(st.integers(1, 4)) for _ in range(loops_count)]
    names = [f"d{loop}" for loop in range(loops_count)]

    def operand(window: bool) -> tuple[str, tuple[int, ...]]:
        order = draw(st.permutations(range(loops_count)))
        chosen = order[: draw(st.integers(0, loops_count))]
        results = [names[loop] for loop in chosen]
        shape = [extents[loop] for loop in chosen]
        if window and len(order) > len(chosen) + 1 and draw(st.booleans()):
            first, second = order[-2:]
            stride = draw(st.integers(1, 2))
            results.append(f"{names[first]} * {stride} + {names[second]}")
            shape.append((extents[first] - 1) * stride + extents[second])
        if draw(st.booleans()):
            results.append("0")
            shape.append(1)
        return f"affine_map<({', '.join(names)}) -> ({', '.join(results)})>", tuple(shape)

    # One operand that names every loop, so that all have extents.
    full = f"affine_map<({', '.join(names)}) -> ({', '.join(names)})>"
    (a, a_shape), (o, o_shape) = operand(True), operand(False)
    shapes = [a_shape, tuple(extents), o_shape]
    used = set(re.findall(r"d\d+", o.partition("->")[2]))
    iterators = ", ".join(f'"{"parallel" if n in used else "reduction"}"' for n in names)
    types = ["tensor<" + "".join(f"{n}x" for n in shape) + "f32>" for shape in shapes]
    term, combiner = draw(st.sampled_from(_TERMS)), draw(st.sampled_from(_COMBINERS))
    text = f"""
    func.func @f(%x: {types[0]}, %y: {types[1]}, %z: {types[2]}) -> {types[2]} {{
      %r = linalg.generic {{indexing_maps = [{a}, {full}, {o}], iterator_types = [{iterators}]}}
          ins(%x, %y : {types[0]}, {types[1]}) outs(%z : {types[2]}) {{
      ^bb0(%a: f32, %b: f32, %out: f32):
        {term}
        %s = arith.{combiner} %out, %0 : f32
        linalg.yield %s : f32
      }} -> {types[2]}
      return %r : {types[2]}
    }}"""
    return text, shapes


@settings(max_examples=breadth(40, 500))
@given(_nests(), st.integers(0, 1000))
def test_random_loop_nests(nest: tuple[str, list[tuple[int, ...]]], seed: int) -> None:
    text, shapes = nest
    module = parse_module(new_context(), Source(text, "test"))
    inputs = [_random(shape, seed=seed + i) for i, shape in enumerate(shapes)]
    (quick,) = run(module, "f", inputs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(structured, "is_pointwise", lambda plan: False)
        (slow,) = run(module, "f", inputs)
    np.testing.assert_allclose(quick, slow, rtol=2e-4, atol=2e-5)


def test_linear_maps_are_views() -> None:
    from xdsl.ir.affine import AffineMap

    array = np.arange(10.0)
    windows = AffineMap.from_callable(lambda i, j: (i * 2 + j,))
    seen = loops.view(None, array, windows, (4, 3))  # type: ignore[arg-type]
    assert np.shares_memory(seen, array)
    assert seen.tolist() == [[i * 2 + j for j in range(3)] for i in range(4)]


def test_outputs_that_are_yielded_for_each_other() -> None:
    text = """
    #m = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<3xi32>, %y: tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi32>) {
      %r:2 = linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel"]}
          outs(%x, %y : tensor<3xi32>, tensor<3xi32>) {
        ^bb0(%a: i32, %b: i32):
          linalg.yield %b, %a : i32, i32
      } -> (tensor<3xi32>, tensor<3xi32>)
      return %r#0, %r#1 : tensor<3xi32>, tensor<3xi32>
    }"""
    x, y = np.int32([1, 2, 3]), np.int32([4, 5, 6])
    first, second = run(parse_module(new_context(), Source(text, "swap")), "f", [x, y])
    np.testing.assert_array_equal(first, y)
    np.testing.assert_array_equal(second, x)

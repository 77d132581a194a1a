"""The tensor dialect, packed layouts and softmax against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from breadth import breadth
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mesh_opt.runtime.abi.arrays import count_undefined


def _array(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


_SLICES = """
func.func @f(%x: tensor<?x?xf32>, %o0: index, %o1: index, %s0: index, %s1: index, %t0: index,
             %t1: index, %y: tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %0 = tensor.extract_slice %x[%o0, %o1] [%s0, %s1] [%t0, %t1]
      : tensor<?x?xf32> to tensor<?x?xf32>
  %1 = tensor.insert_slice %y into %x[%o0, %o1] [%s0, %s1] [%t0, %t1]
      : tensor<?x?xf32> into tensor<?x?xf32>
  return %0, %1 : tensor<?x?xf32>, tensor<?x?xf32>
}"""


@settings(max_examples=breadth(30, 300), suppress_health_check=list(HealthCheck))
@given(st.data())
def test_slices(execute: Any, data: st.DataObject) -> None:
    extents = [data.draw(st.integers(1, 7)) for _ in range(2)]
    offsets, sizes, strides = [], [], []
    for extent in extents:
        stride = data.draw(st.integers(1, 3))
        size = data.draw(st.integers(0, (extent - 1) // stride + 1))
        reach = (size - 1) * stride if size else 0
        offsets.append(data.draw(st.integers(0, extent - 1 - reach)))
        sizes.append(size)
        strides.append(stride)
    x, y = _array(*extents), -1 - _array(*sizes)
    part = tuple(slice(o, o + n * t, t) for o, n, t in zip(offsets, sizes, strides, strict=True))
    expected = x.copy()
    expected[part] = y
    taken, inserted = execute(_SLICES, x, *map(np.int64, [*offsets, *sizes, *strides]), y)
    np.testing.assert_array_equal(taken, x[part])
    np.testing.assert_array_equal(inserted, expected)


@pytest.mark.parametrize(
    ("offset", "size", "stride"), [(4, 2, 1), (-1, 2, 1), (0, 4, 2), (0, 6, 1), (0, -1, 1)]
)
def test_slices_outside(execute_error: Any, offset: int, size: int, stride: int) -> None:
    text = """
    func.func @f(%x: tensor<5xf32>, %o: index, %n: index, %s: index) -> tensor<?xf32> {
      %0 = tensor.extract_slice %x[%o] [%n] [%s] : tensor<5xf32> to tensor<?xf32>
      return %0 : tensor<?xf32>
    }"""
    error = execute_error(text, _array(5), np.int64(offset), np.int64(size), np.int64(stride))
    assert "dimension 0, which has extent 5" in error.message


def test_rank_reducing_slices(execute: Any) -> None:
    text = """
    func.func @f(%x: tensor<4x1x5xf32>, %n: index)
        -> (tensor<5xf32>, tensor<?x1xf32>, tensor<4x1x5xf32>) {
      %0 = tensor.extract_slice %x[2, 0, 0] [1, 1, 5] [1, 1, 1] : tensor<4x1x5xf32> to tensor<5xf32>
      %1 = tensor.extract_slice %x[0, 0, 1] [%n, 1, 1] [1, 1, 1]
          : tensor<4x1x5xf32> to tensor<?x1xf32>
      %2 = tensor.insert_slice %0 into %x[0, 0, 0] [1, 1, 5] [1, 1, 1]
          : tensor<5xf32> into tensor<4x1x5xf32>
      return %0, %1, %2 : tensor<5xf32>, tensor<?x1xf32>, tensor<4x1x5xf32>
    }"""
    x = _array(4, 1, 5)
    row, column, moved = execute(text, x, np.int64(3))
    np.testing.assert_array_equal(row, x[2, 0])
    np.testing.assert_array_equal(column, x[:3, 0, 1:2])
    np.testing.assert_array_equal(moved[0, 0], x[2, 0])


def test_shapes(execute: Any) -> None:
    text = """
    func.func @f(%x: tensor<?x6xf32>)
        -> (tensor<?xf32>, tensor<?x2x3xf32>, tensor<3x4xf32>, tensor<?x6xf32>, index, index) {
      %c0 = arith.constant 0 : index
      %0 = tensor.collapse_shape %x [[0, 1]] : tensor<?x6xf32> into tensor<?xf32>
      %n = tensor.dim %x, %c0 : tensor<?x6xf32>
      %1 = tensor.expand_shape %x [[0], [1, 2]] output_shape [%n, 2, 3]
          : tensor<?x6xf32> into tensor<?x2x3xf32>
      %shape = arith.constant dense<[3, 4]> : tensor<2xindex>
      %s = tensor.cast %x : tensor<?x6xf32> to tensor<2x6xf32>
      %2 = tensor.reshape %s(%shape) : (tensor<2x6xf32>, tensor<2xindex>) -> tensor<3x4xf32>
      %3 = tensor.concat dim(0) %x, %x : (tensor<?x6xf32>, tensor<?x6xf32>) -> tensor<?x6xf32>
      %r = tensor.rank %x : tensor<?x6xf32>
      return %0, %1, %2, %3, %n, %r : tensor<?xf32>, tensor<?x2x3xf32>, tensor<3x4xf32>,
          tensor<?x6xf32>, index, index
    }"""
    x = _array(2, 6)
    flat, deep, reshaped, twice, extent, rank = execute(text, x)
    np.testing.assert_array_equal(flat, x.reshape(-1))
    np.testing.assert_array_equal(deep, x.reshape(2, 2, 3))
    np.testing.assert_array_equal(reshaped, x.reshape(3, 4))
    np.testing.assert_array_equal(twice, np.concatenate([x, x]))
    assert (extent, rank) == (2, 2)


def test_elements(execute: Any) -> None:
    text = """
    func.func @f(%x: tensor<2x3xf32>, %v: f32, %i: index)
        -> (f32, tensor<2x3xf32>, tensor<2xf32>, tensor<2x?xf32>, tensor<3xindex>) {
      %c1 = arith.constant 1 : index
      %0 = tensor.extract %x[%c1, %i] : tensor<2x3xf32>
      %1 = tensor.insert %v into %x[%c1, %i] : tensor<2x3xf32>
      %2 = tensor.from_elements %v, %0 : tensor<2xf32>
      %3 = tensor.splat %v[%i] : tensor<2x?xf32>
      %4 = tensor.generate {
      ^bb0(%j: index):
        %k = arith.muli %j, %j : index
        tensor.yield %k : index
      } : tensor<3xindex>
      return %0, %1, %2, %3, %4
          : f32, tensor<2x3xf32>, tensor<2xf32>, tensor<2x?xf32>, tensor<3xindex>
    }"""
    x = _array(2, 3)
    element, changed, pair, splat, squares = execute(text, x, np.float32(9), np.int64(2))
    assert element == x[1, 2]
    assert changed[1, 2] == 9
    assert x[1, 2] == 5
    assert pair.tolist() == [9, 5]
    assert splat.tolist() == [[9, 9], [9, 9]]
    assert squares.tolist() == [0, 1, 4]


@pytest.mark.parametrize(
    ("low", "high"), [((1, 0), (2, 3)), ((0, 0), (0, 0)), ((-1, 1), (1, -2)), ((-1, -1), (-1, -1))]
)
def test_pad(execute: Any, low: tuple[int, int], high: tuple[int, int]) -> None:
    text = """
    func.func @f(%x: tensor<3x4xf32>, %a: index, %b: index, %c: index, %d: index)
        -> tensor<?x?xf32> {
      %0 = tensor.pad %x low[%a, %b] high[%c, %d] {
      ^bb0(%i: index, %j: index):
        %v = arith.constant 7.0 : f32
        tensor.yield %v : f32
      } : tensor<3x4xf32> to tensor<?x?xf32>
      return %0 : tensor<?x?xf32>
    }"""
    x = _array(3, 4)
    widths = [(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)]
    expected = np.pad(x, widths, constant_values=7)
    expected = expected[
        tuple(
            slice(max(-a, 0), n - max(-b, 0))
            for a, b, n in zip(low, high, expected.shape, strict=True)
        )
    ]
    (result,) = execute(text, x, *map(np.int64, [*low, *high]))
    np.testing.assert_array_equal(result, expected)


def test_gather_and_scatter(execute: Any) -> None:
    text = """
    func.func @f(%x: tensor<3x4x5xf32>, %i: tensor<2x2xindex>, %y: tensor<2x4xf32>)
        -> (tensor<2x4xf32>, tensor<2x1x4x1xf32>, tensor<3x4x5xf32>) {
      %0 = "tensor.gather"(%x, %i) <{gather_dims = array<i64: 0, 2>}>
          : (tensor<3x4x5xf32>, tensor<2x2xindex>) -> tensor<2x4xf32>
      %1 = "tensor.gather"(%x, %i) <{gather_dims = array<i64: 0, 2>}>
          : (tensor<3x4x5xf32>, tensor<2x2xindex>) -> tensor<2x1x4x1xf32>
      %2 = "tensor.scatter"(%y, %x, %i) <{scatter_dims = array<i64: 0, 2>, unique}>
          : (tensor<2x4xf32>, tensor<3x4x5xf32>, tensor<2x2xindex>) -> tensor<3x4x5xf32>
      return %0, %1, %2 : tensor<2x4xf32>, tensor<2x1x4x1xf32>, tensor<3x4x5xf32>
    }"""
    x, i, y = _array(3, 4, 5), np.int64([[0, 4], [2, 1]]), -_array(2, 4)
    rows, full, changed = execute(text, x, i, y)
    expected = np.stack([x[0, :, 4], x[2, :, 1]])
    np.testing.assert_array_equal(rows, expected)
    np.testing.assert_array_equal(full, expected[:, None, :, None])
    np.testing.assert_array_equal(changed[0, :, 4], y[0])
    np.testing.assert_array_equal(changed[2, :, 1], y[1])
    assert (changed != x).sum() <= 8


def test_empty_tensors_are_undefined(execute: Any) -> None:
    text = """
    func.func @f() -> tensor<2xf32> {
      %0 = tensor.empty() : tensor<2xf32>
      return %0 : tensor<2xf32>
    }"""
    assert count_undefined(execute(text)[0]) == 2


def test_a_cast_to_a_shape_that_it_is_not(execute_error: Any) -> None:
    text = """
    func.func @f(%x: tensor<?xf32>) -> tensor<4xf32> {
      %0 = tensor.cast %x : tensor<?xf32> to tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    assert "shape 3 to tensor<4xf32>" in execute_error(text, _array(3)).message


def test_a_cast_by_way_of_an_open_rank(execute: Any) -> None:
    text = """
    func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {
      %0 = tensor.cast %x : tensor<3xf32> to tensor<*xf32>
      %1 = tensor.cast %0 : tensor<*xf32> to tensor<3xf32>
      return %1 : tensor<3xf32>
    }"""
    np.testing.assert_array_equal(execute(text, _array(3))[0], _array(3))


@pytest.mark.parametrize("outer", [(), (0, 1), (1, 0)])
@pytest.mark.parametrize("inner", [((0, 1), (2, 3)), ((1, 0), (3, 2)), ((1,), (4,))])
@pytest.mark.parametrize("shape", [(4, 6), (5, 7), (1, 1)])
def test_pack_and_unpack(
    execute: Any, shape: tuple[int, int], inner: tuple[Any, Any], outer: tuple[int, ...]
) -> None:
    positions, tiles = inner
    counts = list(shape)
    for axis, tile in zip(positions, tiles, strict=True):
        counts[axis] = -(-shape[axis] // tile)
    order = outer or (0, 1)
    packed = [*(counts[axis] for axis in order), *tiles]
    packed_type = f"tensor<{'x'.join(map(str, packed))}xf32>"
    source_type = f"tensor<{shape[0]}x{shape[1]}xf32>"
    permutation = f"outer_dims_perm = {list(outer)}" if outer else ""
    spelled = f"{permutation} inner_dims_pos = {list(positions)} inner_tiles = {list(tiles)}"
    text = f"""
    func.func @f(%x: {source_type}, %v: f32) -> ({packed_type}, {source_type}) {{
      %0 = tensor.empty() : {packed_type}
      %1 = linalg.pack %x padding_value(%v : f32) {spelled} into %0
          : {source_type} -> {packed_type}
      %2 = tensor.empty() : {source_type}
      %3 = linalg.unpack %1 {spelled} into %2 : {packed_type} -> {source_type}
      return %1, %3 : {packed_type}, {source_type}
    }}"""
    x = _array(*shape)
    tiled, back = execute(text, x, np.float32(-1))
    np.testing.assert_array_equal(back, x)
    for point in np.ndindex(*packed):
        index = [0, 0]
        for place, axis in enumerate(order):
            index[axis] = point[place]
        for place, axis in enumerate(positions):
            index[axis] = index[axis] * tiles[place] + point[2 + place]
        inside = index[0] < shape[0] and index[1] < shape[1]
        assert tiled[point] == (x[tuple(index)] if inside else -1)


def test_pack_indices_with_padding(execute: Any) -> None:
    text = """
    func.func @f(%x: tensor<3xindex>, %d: tensor<2x?xindex>) -> tensor<2x?xindex> {
      %c2 = arith.constant 2 : index
      %c7 = arith.constant 7 : index
      %0 = linalg.pack %x padding_value(%c7 : index) inner_dims_pos = [0] inner_tiles = [%c2]
          into %d : tensor<3xindex> -> tensor<2x?xindex>
      return %0 : tensor<2x?xindex>
    }"""
    (packed,) = execute(text, np.array([1, 2, 3]), np.zeros((2, 2), np.int64))
    np.testing.assert_array_equal(packed, [[1, 2], [3, 7]])


def test_softmax(execute: Any) -> None:
    text = """
    func.func @f(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
      %0 = tensor.empty() : tensor<3x5xf32>
      %1 = linalg.softmax dimension(1) ins(%x : tensor<3x5xf32>) outs(%0 : tensor<3x5xf32>)
          -> tensor<3x5xf32>
      return %1 : tensor<3x5xf32>
    }"""
    x = _array(3, 5) * 50
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(execute(text, x)[0], expected, rtol=1e-6)

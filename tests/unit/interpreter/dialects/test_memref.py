"""Memory: writes in place, views, and what must not be touched any more."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest


def test_writing_and_views(execute: Any) -> None:
    text = """
    func.func @f(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, f32, tensor<16xf32>) {
      %c1 = arith.constant 1 : index
      %v = arith.constant 9.0 : f32
      %m = bufferization.to_buffer %x : tensor<4x4xf32> to memref<4x4xf32>
      %s = memref.subview %m[1, 0] [1, 4] [1, 1]
          : memref<4x4xf32> to memref<4xf32, strided<[1], offset: 4>>
      memref.store %v, %s[%c1] : memref<4xf32, strided<[1], offset: 4>>
      %e = memref.load %m[%c1, %c1] : memref<4x4xf32>
      %t = bufferization.to_tensor %m : memref<4x4xf32> to tensor<4x4xf32>
      memref.store %v, %m[%c1, %c1] : memref<4x4xf32>
      %a = memref.alloc() : memref<4x4xf32>
      "memref.copy"(%m, %a) : (memref<4x4xf32>, memref<4x4xf32>) -> ()
      linalg.add ins(%a, %m : memref<4x4xf32>, memref<4x4xf32>) outs(%a : memref<4x4xf32>)
      %c = memref.collapse_shape %a [[0, 1]] : memref<4x4xf32> into memref<16xf32>
      %u = bufferization.to_tensor %c : memref<16xf32> to tensor<16xf32>
      memref.dealloc %a : memref<4x4xf32>
      return %t, %e, %u : tensor<4x4xf32>, f32, tensor<16xf32>
    }"""
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    changed = x.copy()
    changed[1, 1] = 9
    tensor, element, doubled = execute(text, x)
    assert x[1, 1] == 5
    assert element == 9
    np.testing.assert_array_equal(tensor, changed)
    np.testing.assert_array_equal(doubled, 2 * changed.reshape(-1))


def test_freed_memory(execute_error: Any) -> None:
    text = """
    func.func @f() -> f32 {
      %c0 = arith.constant 0 : index
      %a = memref.alloc() : memref<4xf32>
      %s = memref.subview %a[1] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1], offset: 1>>
      memref.dealloc %a : memref<4xf32>
      %e = memref.load %s[%c0] : memref<2xf32, strided<[1], offset: 1>>
      return %e : f32
    }"""
    error = execute_error(text)
    assert error.operation.name == "memref.load"
    assert "has been freed" in error.message


def test_clone_of_freed_memory(execute_error: Any) -> None:
    text = """
    func.func @f() -> f32 {
      %c0 = arith.constant 0 : index
      %v = arith.constant 9.0 : f32
      %a = memref.alloc() : memref<4xf32>
      memref.store %v, %a[%c0] : memref<4xf32>
      memref.dealloc %a : memref<4xf32>
      %b = bufferization.clone %a : memref<4xf32> to memref<4xf32>
      %e = memref.load %b[%c0] : memref<4xf32>
      return %e : f32
    }"""
    error = execute_error(text)
    assert error.operation.name == "bufferization.clone"
    assert "has been freed" in error.message


def test_globals(execute: Any) -> None:
    text = """
    "memref.global"() <{sym_name = "table", type = memref<2xf32>,
        initial_value = dense<[1.0, 2.0]> : tensor<2xf32>, sym_visibility = "private"}> : () -> ()
    func.func @f() -> f32 {
      %c1 = arith.constant 1 : index
      %t = memref.get_global @table : memref<2xf32>
      %e = memref.load %t[%c1] : memref<2xf32>
      return %e : f32
    }"""
    assert execute(text)[0] == 2


def test_bounds(execute_error: Any) -> None:
    text = """
    func.func @f(%i: index) {
      %v = arith.constant 9.0 : f32
      %a = memref.alloc(%i) : memref<?xf32>
      memref.store %v, %a[%i] : memref<?xf32>
      return
    }"""
    assert "index 3 in dimension 0" in execute_error(text, np.int64(3)).message


def test_collectives_on_memory(execute_spmd: Any) -> None:
    text = """
    shard.grid @g(shape = 2)
    func.func @f(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
      %m = bufferization.to_buffer %x : tensor<2xf32> to memref<2xf32>
      %r = shard.all_reduce %m on @g grid_axes = [0] : memref<2xf32> -> memref<2xf32>
      %0 = bufferization.to_tensor %m : memref<2xf32> to tensor<2xf32>
      %1 = bufferization.to_tensor %r : memref<2xf32> to tensor<2xf32>
      return %0, %1 : tensor<2xf32>, tensor<2xf32>
    }"""
    inputs = [[np.float32([1, 2])], [np.float32([3, 4])]]
    for device, (before, after) in enumerate(execute_spmd(text, (2,), inputs)):
        assert before.tolist() == inputs[device][0].tolist()
        assert after.tolist() == [4, 6]


FREED = """
    shard.grid @g(shape = 1)
    func.func @f(%x: tensor<4xf32>) -> f32 {{
      %c = arith.constant 1.0 : f32
      %a = memref.alloc() : memref<4xf32>
      memref.dealloc %a : memref<4xf32>
      {use}
      return %c : f32
    }}"""


@pytest.mark.parametrize(
    "use",
    [
        "%e = affine.load %a[1] : memref<4xf32>",
        "affine.store %c, %a[1] : memref<4xf32>",
        "linalg.fill ins(%c : f32) outs(%a : memref<4xf32>)",
        "linalg.softmax dimension(0) ins(%a : memref<4xf32>) outs(%a : memref<4xf32>)",
        "bufferization.materialize_in_destination %x in writable %a"
        " : (tensor<4xf32>, memref<4xf32>) -> ()",
        "%e = shard.all_reduce %a on @g grid_axes = [0] : memref<4xf32> -> memref<4xf32>",
    ],
)
def test_freed_memory_of_other_dialects(execute_error: Any, use: str) -> None:
    error = execute_error(FREED.format(use=use), np.zeros(4, np.float32))
    assert error.operation.name == re.sub("%e = ", "", use).split()[0]
    assert "has been freed" in error.message


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (
            "linalg.softmax dimension(0) ins(%m : memref<2xf32>) outs(%a : memref<2xf32>)",
            [0.25, 0.75],
        ),
        (
            "bufferization.materialize_in_destination %x in writable %a"
            " : (tensor<2xf32>, memref<2xf32>) -> ()",
            [0, np.log(3)],
        ),
    ],
)
def test_results_are_written_to_memory(execute: Any, write: str, expected: list[float]) -> None:
    text = f"""
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {{
      %m = bufferization.to_buffer %x : tensor<2xf32> to memref<2xf32>
      %a = memref.alloc() : memref<2xf32>
      {write}
      %r = bufferization.to_tensor %a : memref<2xf32> to tensor<2xf32>
      return %r : tensor<2xf32>
    }}"""
    (found,) = execute(text, np.array([0, np.log(3)], np.float32))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_memory_that_is_viewed_anew(execute: Any) -> None:
    text = """
    func.func @f(%x: tensor<8x6xf32>) -> (tensor<4x3xf32>, tensor<6x8xf32>, index, index) {
      %c1 = arith.constant 1 : index
      %m = bufferization.to_buffer %x : tensor<8x6xf32> to memref<8x6xf32>
      %s = memref.subview %m[1, 2] [3, 2] [2, 2]
          : memref<8x6xf32> to memref<3x2xf32, strided<[12, 2], offset: 8>>
      %base, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %s
          : memref<3x2xf32, strided<[12, 2], offset: 8>>
          -> memref<f32>, index, index, index, index, index
      %r = memref.reinterpret_cast %base to offset: [%offset], sizes: [4, 3], strides: [8, %c1]
          : memref<f32> to memref<4x3xf32, strided<[8, ?], offset: ?>>
      %t = memref.transpose %m (i, j) -> (j, i)
          : memref<8x6xf32> to memref<6x8xf32, strided<[1, 6]>>
      %a = bufferization.to_tensor %r
          : memref<4x3xf32, strided<[8, ?], offset: ?>> to tensor<4x3xf32>
      %b = bufferization.to_tensor %t
          : memref<6x8xf32, strided<[1, 6]>> to tensor<6x8xf32>
      return %a, %b, %offset, %strides#0 : tensor<4x3xf32>, tensor<6x8xf32>, index, index
    }"""
    x = np.arange(48, dtype=np.float32).reshape(8, 6)
    viewed, transposed, offset, stride = execute(text, x)
    rows, columns = np.mgrid[:4, :3]
    np.testing.assert_array_equal(viewed, 8 + 8 * rows + columns)
    np.testing.assert_array_equal(transposed, x.T)
    assert (offset, stride) == (8, 12)


def test_views_past_the_end(execute_error: Any) -> None:
    text = """
    func.func @f() -> memref<4x3xf32, strided<[8, 1]>> {
      %m = memref.alloc() : memref<24xf32>
      %r = memref.reinterpret_cast %m to offset: [0], sizes: [4, 3], strides: [8, 1]
          : memref<24xf32> to memref<4x3xf32, strided<[8, 1]>>
      return %r : memref<4x3xf32, strided<[8, 1]>>
    }"""
    error = execute_error(text)
    assert error.message == "views the elements 0 to 26 of memory that has 24"


def test_the_start_of_a_view(execute_error: Any) -> None:
    """Offsets would count from the first byte of the view, not of the allocation."""
    text = """
    func.func @f() -> memref<2xi8, strided<[1], offset: 1>> {
      %c4 = arith.constant 4 : index
      %m = memref.alloc() : memref<24xi8>
      %v = memref.view %m[%c4][] : memref<24xi8> to memref<8xi8>
      %r = memref.reinterpret_cast %v to offset: [1], sizes: [2], strides: [1]
          : memref<8xi8> to memref<2xi8, strided<[1], offset: 1>>
      return %r : memref<2xi8, strided<[1], offset: 1>>
    }"""
    error = execute_error(text)
    assert error.message == "needs the start of what memref.view returns, which is not known"


def test_bytes_as_numbers(execute: Any) -> None:
    text = """
    func.func @f(%x: tensor<4xf32>) -> tensor<2x3xf32> {
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %half = arith.constant 0.5 : f32
      %bytes = memref.alloc() : memref<24xi8>
      %m = bufferization.to_buffer %x : tensor<4xf32> to memref<4xf32>
      %v = memref.view %bytes[%c4][] : memref<24xi8> to memref<4xf32>
      memref.copy %m, %v : memref<4xf32> to memref<4xf32>
      %w = memref.view %bytes[%c0][%c2] : memref<24xi8> to memref<?x3xf32>
      memref.store %half, %w[%c0, %c0] : memref<?x3xf32>
      %c1 = arith.constant 1 : index
      memref.store %half, %w[%c1, %c2] : memref<?x3xf32>
      %c = memref.cast %w : memref<?x3xf32> to memref<2x3xf32>
      %t = bufferization.to_tensor %c : memref<2x3xf32> to tensor<2x3xf32>
      return %t : tensor<2x3xf32>
    }"""
    (result,) = execute(text, np.arange(1, 5, dtype=np.float32))
    np.testing.assert_array_equal(result, np.array([[0.5, 1, 2], [3, 4, 0.5]], np.float32))


def test_elements_that_are_combined(execute: Any) -> None:
    text = """
    func.func @f(%x: tensor<3xi32>, %v: i32) -> (tensor<6xi32>, i32, i32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c6 = arith.constant 6 : index
      %m = bufferization.to_buffer %x : tensor<3xi32> to memref<3xi32>
      %a = memref.atomic_rmw addi %v, %m[%c0] : (i32, memref<3xi32>) -> i32
      %b = memref.atomic_rmw maxu %v, %m[%c1] : (i32, memref<3xi32>) -> i32
      %g = memref.generic_atomic_rmw %m[%c2] : memref<3xi32> {
      ^bb0(%old: i32):
        %new = arith.muli %old, %old : i32
        memref.atomic_yield %new : i32
      }
      %r = memref.realloc %m(%c6) : memref<3xi32> to memref<?xi32>
      affine.for %i = 3 to 6 {
        memref.store %v, %r[%i] : memref<?xi32>
      }
      %s = memref.cast %r : memref<?xi32> to memref<6xi32>
      %t = bufferization.to_tensor %s : memref<6xi32> to tensor<6xi32>
      return %t, %a, %g : tensor<6xi32>, i32, i32
    }"""
    values, added, squared = execute(text, np.array([1, 2, 3], np.int32), np.int32(-4))
    np.testing.assert_array_equal(values, np.array([-3, -4, 9, -4, -4, -4]))
    assert (added, squared) == (1, 3)


def test_parallel_reductions(execute: Any) -> None:
    text = """
    func.func @f(%x: tensor<6x7xf32>, %n: index) -> (f32, f32, f32) {
      %m = bufferization.to_buffer %x : tensor<6x7xf32> to memref<6x7xf32>
      %r:2 = affine.parallel (%i, %j) = (max(0, %n - 5), 1) to (min(%n, 6), 7) step (2, 3)
          reduce ("addf", "maximumf") -> (f32, f32) {
        %e = affine.load %m[%i, %j - symbol(%n) + 6] : memref<6x7xf32>
        affine.yield %e, %e : f32, f32
      }
      %none = affine.parallel (%i) = (0) to (0) reduce ("mulf") -> f32 {
        %e = affine.load %m[%i, %i] : memref<6x7xf32>
        affine.yield %e : f32
      }
      return %r#0, %r#1, %none : f32, f32, f32
    }"""
    x = np.random.default_rng(0).integers(-9, 9, (6, 7)).astype(np.float32)
    total, largest, nothing = execute(text, x, np.int64(6))
    assert total == x[1::2, 1::3].sum()
    assert largest == x[1::2, 1::3].max()
    assert nothing == 1

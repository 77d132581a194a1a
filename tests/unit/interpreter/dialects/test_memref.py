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

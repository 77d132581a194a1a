"""Devices that diverge, exchange messages, and wait for each other in vain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mesh_opt.ir.diagnostics import OperationError


def _ones(count: int) -> list[list[Any]]:
    return [[np.full(2, device + 1, np.float32)] for device in range(count)]


def test_local_work_may_differ(execute_spmd: Any) -> None:
    text = """
    shard.grid @g(shape = 3)
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %p = shard.process_linear_index on @g : index
      %first = arith.cmpi eq, %p, %c0 : index
      %y = scf.if %first -> (tensor<2xf32>) {
        scf.yield %x : tensor<2xf32>
      } else {
        %z = scf.for %i = %c0 to %p step %c1 iter_args(%v = %x) -> (tensor<2xf32>) {
          %w = arith.addf %v, %v : tensor<2xf32>
          scf.yield %w : tensor<2xf32>
        }
        scf.yield %z : tensor<2xf32>
      }
      %r = shard.all_reduce %y on @g grid_axes = [0] : tensor<2xf32> -> tensor<2xf32>
      return %r : tensor<2xf32>
    }"""
    for (result,) in execute_spmd(text, (3,), _ones(3)):
        assert result.tolist() == [1 + 2 * 2 + 3 * 4] * 2


def test_collectives_in_loops_and_calls(execute_spmd: Any) -> None:
    text = """
    shard.grid @g(shape = 2)
    func.func private @double(%x: tensor<2xf32>) -> tensor<2xf32> {
      %r = shard.all_reduce %x on @g grid_axes = [0] : tensor<2xf32> -> tensor<2xf32>
      return %r : tensor<2xf32>
    }
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%v = %x) -> (tensor<2xf32>) {
        %w = func.call @double(%v) : (tensor<2xf32>) -> tensor<2xf32>
        scf.yield %w : tensor<2xf32>
      }
      return %r : tensor<2xf32>
    }"""
    for (result,) in execute_spmd(text, (2,), _ones(2)):
        assert result.tolist() == [12, 12]


def test_equal_collectives_in_two_branches_meet(execute_spmd: Any) -> None:
    text = """
    shard.grid @g(shape = 2)
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %c0 = arith.constant 0 : index
      %p = shard.process_linear_index on @g : index
      %first = arith.cmpi eq, %p, %c0 : index
      %r = scf.if %first -> (tensor<2xf32>) {
        %0 = shard.all_reduce %x on @g grid_axes = [0] : tensor<2xf32> -> tensor<2xf32>
        scf.yield %0 : tensor<2xf32>
      } else {
        %0 = shard.all_reduce %x on @g grid_axes = [0] : tensor<2xf32> -> tensor<2xf32>
        scf.yield %0 : tensor<2xf32>
      }
      return %r : tensor<2xf32>
    }"""
    for (result,) in execute_spmd(text, (2,), _ones(2)):
        assert result.tolist() == [3, 3]


_ONE_SIDED = """
shard.grid @g(shape = 2)
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %c0 = arith.constant 0 : index
  %p = shard.process_linear_index on @g : index
  %first = arith.cmpi eq, %p, %c0 : index
  %r = scf.if %first -> (tensor<2xf32>) {{
    %0 = shard.all_reduce %x on @g grid_axes = [0] : tensor<2xf32> -> tensor<2xf32>
    scf.yield %0 : tensor<2xf32>
  }} else {{
    {other}
  }}
  return %r : tensor<2xf32>
}}"""


@pytest.mark.parametrize(
    ("other", "note"),
    [
        ("scf.yield %x : tensor<2xf32>", "device 1 has ended"),
        (
            "%0 = shard.all_reduce %x on @g grid_axes = [0] reduction = max"
            " : tensor<2xf32> -> tensor<2xf32>\n scf.yield %0 : tensor<2xf32>",
            "device 1 has all_reduce max of tensor<2xf32> here",
        ),
        (
            "%0 = shard.recv %x on @g grid_axes = [0] source = [0]"
            " : (tensor<2xf32>) -> tensor<2xf32>\n scf.yield %0 : tensor<2xf32>",
            "device 1 has recv of tensor<2xf32> from device 0 here",
        ),
    ],
)
def test_a_mismatch_names_both_devices_and_places(execute_spmd: Any, other: str, note: str) -> None:
    with pytest.raises(OperationError) as caught:
        execute_spmd(_ONE_SIDED.format(other=other), (2,), _ones(2))
    assert caught.value.operation.name == "shard.all_reduce"
    assert "device 0 has all_reduce sum of tensor<2xf32> here" in caught.value.message
    assert [each.message for each in caught.value.notes] == [note]
    assert caught.value.notes[0].operation not in (None, caught.value.operation)


def test_messages(execute_spmd: Any) -> None:
    # Everybody sends to device 0, and device 0 receives twice: from 2, then from anybody.
    text = """
    shard.grid @g(shape = 3)
    func.func @f(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
      %c0 = arith.constant 0 : index
      %p = shard.process_linear_index on @g : index
      %first = arith.cmpi eq, %p, %c0 : index
      %r:2 = scf.if %first -> (tensor<2xf32>, tensor<2xf32>) {
        %0 = shard.recv %x on @g grid_axes = [0] source = [2] : (tensor<2xf32>) -> tensor<2xf32>
        %1 = shard.recv %x on @g grid_axes = [0] : (tensor<2xf32>) -> tensor<2xf32>
        scf.yield %0, %1 : tensor<2xf32>, tensor<2xf32>
      } else {
        %0 = shard.send %x on @g grid_axes = [0] destination = [0]
            : (tensor<2xf32>) -> tensor<2xf32>
        scf.yield %0, %x : tensor<2xf32>, tensor<2xf32>
      }
      return %r#0, %r#1 : tensor<2xf32>, tensor<2xf32>
    }"""
    results = execute_spmd(text, (3,), _ones(3))
    assert results[0][0].tolist() == [3, 3]
    assert results[0][1].tolist() == [2, 2]


def test_shapes_that_do_not_fit_together(execute_spmd: Any) -> None:
    text = """
    shard.grid @g(shape = 2)
    func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
      %r = shard.all_reduce %x on @g grid_axes = [0] : tensor<?xf32> -> tensor<?xf32>
      return %r : tensor<?xf32>
    }"""
    inputs = [[np.zeros(2, np.float32)], [np.zeros(3, np.float32)]]
    message = r"device 0 has .* with shape 2 here; device 1 has .* with shape 3 here"
    with pytest.raises(OperationError, match=message):
        execute_spmd(text, (2,), inputs)


def test_collectives_need_devices(execute_error: Any) -> None:
    text = """
    shard.grid @g(shape = 2)
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %r = shard.all_reduce %x on @g grid_axes = [0] : tensor<2xf32> -> tensor<2xf32>
      return %r : tensor<2xf32>
    }"""
    assert "needs the devices of a grid" in execute_error(text, np.zeros(2, np.float32)).message


def test_a_result_of_another_shape_than_its_type(execute_spmd: Any) -> None:
    text = """
    shard.grid @g(shape = 2)
    func.func @f(%x: tensor<2xf32>) -> tensor<3xf32> {
      %r = "shard.all_gather"(%x) <{grid = @g, grid_axes = array<i16: 0>, gather_axis = 0 : index}>
          : (tensor<2xf32>) -> tensor<3xf32>
      return %r : tensor<3xf32>
    }"""
    with pytest.raises(OperationError, match="result #0 of shape 4, but its type is tensor<3xf32>"):
        execute_spmd(text, (2,), _ones(2))

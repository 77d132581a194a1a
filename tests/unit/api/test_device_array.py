"""Tensors that stay on devices between calls."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_opt import api
from mesh_opt.api import DeviceArray, InputError

STEP = """
shard.grid @g(shape = 2x2)
func.func @step(%x: tensor<4x6xf32>, %w: tensor<6x6xf32>) -> (tensor<4x6xf32>, tensor<4xf32>) {
  %rows = shard.sharding @g split_axes = [[0], []] : !shard.sharding
  %columns = shard.sharding @g split_axes = [[], [1]] : !shard.sharding
  %xs = shard.shard %x to %rows : tensor<4x6xf32>
  %ws = shard.shard %w to %columns : tensor<6x6xf32>
  %zero = arith.constant dense<0.0> : tensor<4x6xf32>
  %y = linalg.matmul ins(%xs, %ws : tensor<4x6xf32>, tensor<6x6xf32>)
    outs(%zero : tensor<4x6xf32>) -> tensor<4x6xf32>
  %ys = shard.shard %y to %rows : tensor<4x6xf32>
  %none = arith.constant dense<0.0> : tensor<4xf32>
  %sums = linalg.reduce { arith.addf } ins(%ys : tensor<4x6xf32>) outs(%none : tensor<4xf32>)
    dimensions = [1]
  return %ys, %sums : tensor<4x6xf32>, tensor<4xf32>
}
"""


@pytest.fixture(scope="module")
def step() -> api.Function:
    return api.compile(STEP, "spmd")["step"]


def inputs() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.integers(-3, 4, shape).astype(np.float32) for shape in ((4, 6), (6, 6))]


def test_put_arrays_are_not_scattered_again(step: api.Function) -> None:
    x, w = inputs()
    put = step.put(w, 1)
    assert isinstance(put, DeviceArray)
    assert [shard.shape for shard in put.shards] == [(6, 3)] * 4
    assert put.shards[0] is put.shards[2]
    w_before = w.copy()
    w[:] = 0
    for _ in range(2):
        for found, wanted in zip(step.run([x, put]), step.run([x, w_before]), strict=True):
            np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(put, w_before)


def test_results_stay_and_are_inputs_again(step: api.Function) -> None:
    x, w = inputs()
    weights, state, expected = step.put(w, 1), step.put(x, 0), x
    for _ in range(3):
        state, sums = step.run_on_devices(state, weights)
        expected = expected @ w
        np.testing.assert_array_equal(state, expected)
        np.testing.assert_array_equal(np.asarray(sums), expected.sum(1))
    assert (state.shape, state.dtype, state.ndim) == ((4, 6), np.dtype(np.float32), 2)
    assert "4x6 of float32, by" in repr(state)
    np.testing.assert_array_equal(np.from_dlpack(state), expected)


def test_another_sharding_is_cut_anew(step: api.Function) -> None:
    x, w = inputs()
    wrong = DeviceArray.put(w, step.argument_types[1], step.put(x, 0).sharding)
    np.testing.assert_array_equal(step.run([x, wrong])[0], x @ w)


def test_the_interpreter_takes_them_too(step: api.Function) -> None:
    x, w = inputs()
    found = step.run([x, step.put(w, 1)], backend="interpreter")
    np.testing.assert_array_equal(found[0], x @ w)
    np.testing.assert_array_equal(step.reference([step.put(x, 0), w])[0], x @ w)


def test_one_device() -> None:
    double = api.compile("""
func.func @double(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.addf %x, %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}""")["double"]
    once = double.run_on_devices(double.put([1.0, 2.0], 0))
    (twice,) = double.run_on_devices(*once)
    np.testing.assert_array_equal(twice, [4.0, 8.0])
    assert twice.sharding is None and "on one device" in repr(twice)


def test_mismatched_arrays(step: api.Function) -> None:
    x, _ = inputs()
    with pytest.raises(InputError, match="has no input 2"):
        step.put(x, 2)
    with pytest.raises(InputError, match="input 1 has shape 4x6, expected"):
        step.put(x, 1)
    with pytest.raises(InputError, match="input 1 has shape 4x6, expected"):
        step.run([x, step.put(x, 0)])

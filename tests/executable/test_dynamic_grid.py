"""A program for a grid whose extent is known only at run time, on several numbers of devices."""

from __future__ import annotations

import numpy as np
import pytest
from mesh_opt.dialects.registry import register_dialects
from mesh_opt.interpreter.run import run, run_partitioned
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.registry import all_passes
from mesh_opt.sharding.grid import Grid
from xdsl.context import Context

TEXT = """
shard.grid @g(shape = ?x2)
func.func @f(%x: tensor<7x8xf32>, %w: tensor<8x6xf32>, %c: tensor<10xf32>, %k: tensor<3xf32>)
    -> (tensor<7x6xf32>, tensor<8xf32>, tensor<3xf32>) {
  %a = shard.sharding @g split_axes = [[0]] : !shard.sharding
  %b = shard.sharding @g split_axes = [[], [0]] : !shard.sharding
  %d = shard.sharding @g split_axes = [[1], [0]] : !shard.sharding
  %e0 = shard.sharding @g split_axes = [[0, 1]] : !shard.sharding
  %xs = shard.shard %x to %b annotate_for_users : tensor<7x8xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<7x6xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<7x6xf32>) -> tensor<7x6xf32>
  %m = linalg.matmul ins(%xs, %w : tensor<7x8xf32>, tensor<8x6xf32>)
    outs(%f : tensor<7x6xf32>) -> tensor<7x6xf32>
  %ms = shard.shard %m to %a : tensor<7x6xf32>
  %t = math.tanh %ms : tensor<7x6xf32>
  %ts = shard.shard %t to %d : tensor<7x6xf32>
  %cs = shard.shard %c to %e0 annotate_for_users : tensor<10xf32>
  %e1 = tensor.empty() : tensor<8xf32>
  %f1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %r = linalg.conv_1d ins(%cs, %k : tensor<10xf32>, tensor<3xf32>)
    outs(%f1 : tensor<8xf32>) -> tensor<8xf32>
  %p = tensor.extract_slice %c[2] [3] [2] : tensor<10xf32> to tensor<3xf32>
  %ps = shard.shard %p to %a : tensor<3xf32>
  return %ts, %r, %ps : tensor<7x6xf32>, tensor<8xf32>, tensor<3xf32>
}
"""


@pytest.mark.parametrize("devices", [1, 2, 3, 5])
@pytest.mark.parametrize("name", ["shard-partition", "spmd"])
def test_number_of_devices_at_run_time(name: str, devices: int) -> None:
    context = Context()
    register_dialects(context)
    module = parse_module(context, Source(TEXT, "dynamic_grid"))
    generator = np.random.default_rng(0)
    shapes = [(7, 8), (8, 6), (10,), (3,)]
    inputs = [generator.standard_normal(shape).astype(np.float32) for shape in shapes]
    expected = run(module, "f", inputs)
    all_passes()[name]()().apply(context, module)
    module.verify()
    results = run_partitioned(module, "f", inputs, Grid("g", (devices, 2)))
    for got, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)

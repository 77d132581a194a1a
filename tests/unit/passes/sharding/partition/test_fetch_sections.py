"""A chain of slices and padding is partitioned into a program proportional to its length."""

from __future__ import annotations

from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.sharding.shard_partition import ShardPartitionPass
from mesh_opt.passes.sharding.sharding_propagation import ShardingPropagationPass
from mesh_opt.tools.driver import new_context

ROWS = "tensor<64xf32>"


def partitioned_size(length: int) -> int:
    """The number of operations for as many pairs of a slice and padding."""
    pairs = "\n".join(
        f"""%y{i} = tensor.extract_slice %x{i}[{i % 9}] [50] [1] : {ROWS} to tensor<50xf32>
        %x{i + 1} = tensor.pad %y{i} low[{i % 3}] high[{14 - i % 3}] {{
        ^bb0(%at: index):
          tensor.yield %zero : f32
        }} : tensor<50xf32> to {ROWS}"""
        for i in range(length)
    )
    text = f"""shard.grid @g(shape = 4)
    func.func @f(%x: {ROWS}) -> {ROWS} {{
      %rows = shard.sharding @g split_axes = [[0]] : !shard.sharding
      %x0 = shard.shard %x to %rows : {ROWS}
      %zero = arith.constant 0.0 : f32
      {pairs}
      return %x{length} : {ROWS}
    }}"""
    context = new_context()
    module = parse_module(context, Source(text, "chain"))
    ShardingPropagationPass().apply(context, module)
    ShardPartitionPass().apply(context, module)
    return sum(1 for _ in module.walk())


def test_size_of_a_long_chain() -> None:
    assert partitioned_size(48) < 2.5 * partitioned_size(24)

"""What a private function computes for results that its only call does not use is dropped."""

from __future__ import annotations

from mesh_opt.passes.sharding.spmd import SpmdPass
from parsing import parse_verified

CHAIN = "\n".join(
    f"  %{number + 1} = stablehlo.sine %{number} : tensor<8x4xf32>" for number in range(1, 40)
)
PROGRAM = f"""
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x4xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"y"}}]>}})
    -> tensor<8x4xf32> {{
  %0:2 = call @fitted(%a) : (tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x8xf32>)
  return %0#0 : tensor<8x4xf32>
}}
func.func private @fitted(%a: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x8xf32>) {{
  %1 = stablehlo.exponential %a : tensor<8x4xf32>
{CHAIN}
  %m = stablehlo.dot_general %40, %a, contracting_dims = [1] x [1]
    : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  return %1, %m : tensor<8x4xf32>, tensor<8x8xf32>
}}
"""


def test_unused_results_send_nothing() -> None:
    context, module = parse_verified(PROGRAM)
    SpmdPass().apply(context, module)
    found = str(module)
    assert "@fitted" not in found
    assert "math.sin" not in found
    assert "shard.all_reduce" not in found

"""Annotations survive `cse`, `canonicalize` and `dce` before and after propagation.

Every sharding case is partitioned with these passes in between, and computes what it did before.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from breadth import sampled
from case_checks import check_passes

CASES = Path(__file__).parents[1] / "cases" / "shard"
CLEAN = ("cse", "canonicalize", "cse", "dce")
PIPELINE = (*CLEAN, "sharding-propagation", *CLEAN, "shard-partition", *CLEAN)

TWO_PLACES = """
shard.grid @g(shape = 2x2)
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %rows = shard.sharding @g split_axes = [[0, 1]] : !shard.sharding
  %columns = shard.sharding @g split_axes = [[], [1]] : !shard.sharding
  %a = arith.constant dense<2.0> : tensor<4x8xf32>
  %a_rows = shard.shard %a to %rows : tensor<4x8xf32>
  %b = arith.constant dense<2.0> : tensor<4x8xf32>
  %b_columns = shard.shard %b to %columns : tensor<4x8xf32>
  %x_rows = shard.shard %x to %rows : tensor<4x8xf32>
  %p = arith.mulf %x_rows, %a_rows : tensor<4x8xf32>
  %y_columns = shard.shard %y to %columns : tensor<4x8xf32>
  %q = arith.mulf %y_columns, %b_columns : tensor<4x8xf32>
  %p_again = arith.mulf %x_rows, %a_rows : tensor<4x8xf32>
  %p_columns = shard.shard %p_again to %columns : tensor<4x8xf32>
  %s = arith.addf %q, %p_columns : tensor<4x8xf32>
  return %p, %s : tensor<4x8xf32>, tensor<4x8xf32>
}
"""
"""Equal constants, and equal products, that are annotated differently."""


def programs() -> list[pytest.ParameterSet]:
    cases = {"two_places": TWO_PLACES}
    cases |= {path.stem: path.read_text() for path in sorted(CASES.glob("*.mlir"))}
    del cases["70_axis_out_of_range"]
    return [pytest.param(text, id=name) for name, text in cases.items()]


@pytest.mark.parametrize("text", sampled(programs(), 6))
def test_means_the_same(text: str) -> None:
    check_passes(text, *PIPELINE)

"""Every sharding case: partitioned, and run on all its devices, it computes what it did before."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from breadth import cases, sampled
from case_checks import check_passes
from parsing import parse_verified
from xdsl.utils.exceptions import VerifyException

FOLDER = Path(__file__).parents[1] / "cases"
CASES = sorted(FOLDER.glob("shard/*.mlir")) + sorted(FOLDER.glob("partition/*.mlir"))
MEANINGLESS = {"70_axis_out_of_range": "grid axis index 5 is out of bounds"}
"""Cases that no program can mean, with a part of the message."""
MEANT = [case for case in CASES if case.stem not in MEANINGLESS]


@pytest.mark.usefixtures("nothing_left_to_choose")
@pytest.mark.parametrize("case", MEANT, ids=lambda path: path.stem)
def test_case(case: Path) -> None:
    check_passes(case.read_text(), "spmd")


@pytest.mark.parametrize("case", sampled(MEANT, 8), ids=lambda path: path.stem)
def test_partition_alone(case: Path) -> None:
    check_passes(case.read_text(), "shard-partition")


@pytest.mark.parametrize("case", MEANINGLESS)
def test_meaningless(case: str) -> None:
    with pytest.raises(VerifyException, match=MEANINGLESS[case]):
        parse_verified((FOLDER / "shard" / f"{case}.mlir").read_text())


MLP = """
shard.grid @g(shape = {grid})
func.func @f(%x: tensor<8x12xf32>, %w1: tensor<12x16xf32>, %w2: tensor<16x12xf32>)
    -> tensor<8x12xf32> {{
  %s0 = shard.sharding @g split_axes = {0} : !shard.sharding
  %s1 = shard.sharding @g split_axes = {1} : !shard.sharding
  %s2 = shard.sharding @g split_axes = {2} : !shard.sharding
  %s3 = shard.sharding @g split_axes = {3} : !shard.sharding
  %xs = shard.shard %x to %s0 annotate_for_users : tensor<8x12xf32>
  %w1s = shard.shard %w1 to %s1 annotate_for_users : tensor<12x16xf32>
  %w2s = shard.shard %w2 to %s2 annotate_for_users : tensor<16x12xf32>
  %c0 = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<8x16xf32>
  %f1 = linalg.fill ins(%c0 : f32) outs(%e1 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %h = linalg.matmul ins(%xs, %w1s : tensor<8x12xf32>, tensor<12x16xf32>)
    outs(%f1 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %a = tosa.sigmoid %h : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %e2 = tensor.empty() : tensor<8x12xf32>
  %f2 = linalg.fill ins(%c0 : f32) outs(%e2 : tensor<8x12xf32>) -> tensor<8x12xf32>
  %o = linalg.matmul ins(%a, %w2s : tensor<8x16xf32>, tensor<16x12xf32>)
    outs(%f2 : tensor<8x12xf32>) -> tensor<8x12xf32>
  %r = shard.shard %o to %s3 annotate_for_users : tensor<8x12xf32>
  return %r : tensor<8x12xf32>
}}
"""

GRIDS = {"2": 1, "4": 1, "2x2": 2, "2x4": 2}


def matrix_splits(rank: int) -> list[str]:
    """Every way to split a matrix over a grid of a rank, as text."""
    if rank == 1:
        return ["[[]]", "[[0]]", "[[], [0]]"]
    one = ["[[]]", *(f"[[{a}]]" for a in (0, 1)), *(f"[[], [{a}]]" for a in (0, 1))]
    both = [f"[[{a}], [{1 - a}]]" for a in (0, 1)]
    return [*one, *both, "[[0, 1]]", "[[1, 0]]", "[[], [0, 1]]", "[[], [1, 0]]"]


@pytest.mark.parametrize("seed", cases(8, 200))
def test_mlp_with_random_shardings(seed: int) -> None:
    generator = np.random.default_rng(seed)
    grid = list(GRIDS)[seed % len(GRIDS)]
    ways = matrix_splits(GRIDS[grid])
    chosen = [str(generator.choice(ways)) for _ in range(4)]
    check_passes(MLP.format(*chosen, grid=grid), "spmd")


RESHARD = """
shard.grid @g(shape = {grid})
func.func @f(%x: tensor<{shape}xf32>) -> tensor<{shape}xf32> {{
  %s = shard.sharding @g split_axes = {source} : !shard.sharding
  %t = shard.sharding @g split_axes = {target} : !shard.sharding
  %0 = shard.shard %x to %s : tensor<{shape}xf32>
  %1 = shard.shard %0 to %t annotate_for_users : tensor<{shape}xf32>
  return %1 : tensor<{shape}xf32>
}}
"""


@pytest.mark.parametrize("shape", ["12x12", "7x5"])
@pytest.mark.parametrize("grid", ["2", "2x2", "2x3"])
def test_all_reshards_of_matrices(grid: str, shape: str) -> None:
    ways = matrix_splits(1 if grid == "2" else 2)
    for source, target in sampled(list(product(ways, ways)), 6, len(grid) % 6):
        text = RESHARD.format(grid=grid, shape=shape, source=source, target=target)
        check_passes(text, "shard-partition")

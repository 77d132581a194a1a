"""Intervals hold all values, indices that leave a dimension are found, proofs are right."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from mesh_opt.codegen.kernels.elements.bounds import first_outside
from mesh_opt.codegen.kernels.elements.index_ranges import unproven
from mesh_opt.ir.intervals import Interval, affine_interval
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.tools.driver import new_context
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineExpr

KINDS = list(AffineBinaryOpKind)
LOOPS = 2


def random_expression(random: Random, depth: int = 3) -> AffineExpr:
    if depth == 0 or random.random() < 0.2:
        if random.random() < 0.6:
            return AffineExpr.dimension(random.randrange(LOOPS))
        return AffineExpr.constant(random.randint(-4, 6))
    kind = random.choice(KINDS)
    left = random_expression(random, depth - 1)
    right = random_expression(random, depth - 1)
    if kind not in (AffineBinaryOpKind.Add, AffineBinaryOpKind.Mul):
        right = AffineExpr.constant(random.randint(1, 5))
    return AffineBinaryOpExpr(kind, left, right)


@pytest.mark.parametrize("seed", range(60))
def test_intervals_and_first_index(seed: int) -> None:
    random = Random(seed)
    expression = random_expression(random)
    lows = [random.randint(-5, 5) for _ in range(LOOPS)]
    ranges = [Interval(low, low + random.randint(0, 8)) for low in lows]
    found = affine_interval(expression, ranges)
    assert found is not None
    values = [
        expression.eval(list(point), [])
        for point in product(*(range(each.low, each.high + 1) for each in ranges))
    ]
    assert found.low <= min(values) and max(values) <= found.high

    extents = [random.randint(1, 20) for _ in range(LOOPS)]
    size = random.randint(1, 60)
    indices = (expression.eval(list(point), []) for point in product(*map(range, extents)))
    expected = next((index for index in indices if not 0 <= index < size), None)
    assert first_outside(expression, extents, size) == expected


def test_large_loops_are_cut() -> None:
    """More points than can be looked at one by one; intervals alone are too wide."""
    i = AffineExpr.dimension(0)
    same = (i // 4) * 4 + i % 4
    assert first_outside(same, [10**12], 10**12) is None
    assert first_outside(same, [10**12], 10**12 - 1) == 10**12 - 1
    j = AffineExpr.dimension(1)
    row = (j // 4) * 4 + j % 4 + i * 10**12
    assert first_outside(row, [3, 10**12], 3 * 10**12) is None
    assert first_outside(row, [3, 10**12], 3 * 10**12 - 1) == 3 * 10**12 - 1
    assert first_outside(same + AffineExpr.dimension(1), [10**9, 7], 10**9) == 10**9
    # Only the point at which the loop is cut first is outside.
    only = (i - (10**12 - 1) // 2) % 10**12 * -1 + 10**12
    assert first_outside(only, [10**12], 10**12) == 10**12


def test_wrapping_arithmetic_has_no_interval() -> None:
    i = AffineExpr.dimension(0)
    wraps = (i * (1 << 62)) // (1 << 62)
    assert affine_interval(wraps, [Interval(0, 8)]) is None
    assert affine_interval(i // AffineExpr.constant(0), [Interval(0, 8)]) is None


PROVEN = [
    "%j = arith.addi %i, %c1 : index",
    "%j = arith.remui %x, %c9 : index",
    "%j = arith.remsi %i, %c9 : index",
    "%w = arith.maxsi %x, %c0 : index\n    %j = arith.minsi %w, %c9m : index",
    "%j = arith.minui %x, %c9m : index",
    "%j = arith.andi %x, %c7 : index",
    "%j = affine.apply affine_map<(d0) -> (8 - d0)>(%i)",
    "%j = affine.apply affine_map<(d0) -> ((d0 mod 4) * 2 + d0 floordiv 4)>(%i)",
    "%w = arith.muli %i, %c9 : index\n    %j = arith.divui %w, %c9 : index",
    "%p = arith.cmpi slt, %i, %c1 : index\n    %j = arith.select %p, %i, %c7 : index",
]
UNPROVEN = [
    "%j = arith.addi %i, %c9 : index",
    "%j = arith.remsi %x, %c9 : index",
    "%j = arith.subi %i, %c1 : index",
    "%w = arith.muli %i, %c62 : index\n    %j = arith.divui %w, %c62 : index",
    "%j = arith.divsi %i, %x : index",
    "%j = affine.apply affine_map<(d0) -> (d0 * 2)>(%i)",
    "%w = arith.index_cast %x : index to i8\n    %j = arith.index_castui %w : i8 to index",
    "%w = arith.trunci %y : i32 to i1\n    %j = arith.index_cast %w : i1 to index",
]


def unproven_names(line: str, size: str) -> list[str]:
    text = f"""
func.func @main(%t: tensor<{size}xf32>, %k: tensor<8xindex>, %m: tensor<8xi32>) -> tensor<8xf32> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c9m = arith.constant 8 : index
  %c9 = arith.constant 9 : index
  %c62 = arith.constant 4611686018427387904 : index
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>,
      affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}}
      ins(%k, %m : tensor<8xindex>, tensor<8xi32>) outs(%e : tensor<8xf32>) {{
  ^bb0(%x: index, %y: i32, %o: f32):
    %i = linalg.index 0 : index
    {line}
    %v = tensor.extract %t[%j] : tensor<{size}xf32>
    linalg.yield %v : f32
  }} -> tensor<8xf32>
  return %0 : tensor<8xf32>
}}"""
    module = parse_module(new_context(), Source(text, "<test>"))
    module.verify()
    (generic,) = (op for op in module.walk() if op.name == "linalg.generic")
    return [op.name for op in unproven(generic)]


@pytest.mark.parametrize("line", PROVEN)
def test_indices_that_are_inside(line: str) -> None:
    assert unproven_names(line, "9") == []
    assert unproven_names(line, "?") == ["tensor.extract"]


@pytest.mark.parametrize("line", UNPROVEN)
def test_indices_that_may_be_outside(line: str) -> None:
    assert unproven_names(line, "9") == ["tensor.extract"]


@pytest.mark.parametrize(("last", "names"), [(5, []), (6, ["tensor.extract_slice"])])
def test_slices_that_end_where_the_tensor_does(last: int, names: list[str]) -> None:
    slice_ = (
        f"%last = arith.constant {last} : index\n    %at = arith.minui %x, %last : index\n"
        "    %s = tensor.extract_slice %t[%at] [4] [1] : tensor<9xf32> to tensor<4xf32>\n"
        "    %j = arith.addi %i, %c0 : index"
    )
    assert unproven_names(slice_, "9") == names

"""Derive the rule of a reshape from its shapes.

Both shapes are traversed from the major end, and a common factor is split off as long as it
exhausts one of the two extents: `[8] -> [2, 4]` has the factors 2 and 4. Where it does not, as in
`[6, 4] -> [4, 6]`, blocks of one side straddle those of the other, and all remaining dimensions
need replication.
"""

from __future__ import annotations

from math import gcd

from xdsl.ir import Operation

from ....ir.tensor_types import Shape, tensor_shape
from ....sharding.factors import DimensionFactors, FactorKind, FactorRule, ShardRequirement
from .builder import RuleBuilder
from .registry import sharding_rule


def common_factors(
    before: tuple[int, ...], after: tuple[int, ...]
) -> tuple[list[int], list[DimensionFactors], list[DimensionFactors], set[int]]:
    """Return the sizes of the factors, the factors of both shapes, and the misaligned factors.

    A misaligned factor is the rest of a dimension from which no common divisor can be split off.
    """
    sizes: list[int] = []
    left: list[list[int]] = [[] for _ in before]
    right: list[list[int]] = [[] for _ in after]
    misaligned: set[int] = set()
    i = j = 0
    left_over = right_over = 1
    while i < len(before) or j < len(after):
        if left_over == 1:
            if i == len(before):
                break
            left_over = before[i]
            if left_over == 1:
                i += 1
                continue
        if right_over == 1:
            if j == len(after):
                break
            right_over = after[j]
            if right_over == 1:
                j += 1
                continue
        common = gcd(left_over, right_over)
        if common == 1 or (common not in (left_over, right_over)):
            # From here on, blocks of one side would straddle those of the other.
            misaligned |= _close(before, after, i, j, left_over, right_over, sizes, left, right)
            break
        left[i].append(len(sizes))
        right[j].append(len(sizes))
        sizes.append(common)
        left_over //= common
        right_over //= common
        i += left_over == 1
        j += right_over == 1
    return sizes, [tuple(each) for each in left], [tuple(each) for each in right], misaligned


def _close(
    before: tuple[int, ...],
    after: tuple[int, ...],
    i: int,
    j: int,
    left_over: int,
    right_over: int,
    sizes: list[int],
    left: list[list[int]],
    right: list[list[int]],
) -> set[int]:
    """Give every dimension from here on its own factor, and return these factors as misaligned."""
    added: set[int] = set()
    for shape, sides, start, rest in ((before, left, i, left_over), (after, right, j, right_over)):
        for dimension in range(start, len(shape)):
            size = rest if dimension == start else shape[dimension]
            if size > 1:
                added.add(len(sizes))
                sides[dimension].append(len(sizes))
                sizes.append(size)
    return added


@sharding_rule("tensor.reshape", "tosa.reshape")
def reshape_rule(operation: Operation) -> FactorRule | None:
    """Return the rule of an operation that reshapes its first operand into its first result.

    With dynamic extents, equal static leading dimensions pass through, and the others need
    replication. Returns `None` for unranked tensors.
    """
    before, after = tensor_shape(operation.operands[0]), tensor_shape(operation.results[0])
    if before is None or after is None:
        return None
    builder = RuleBuilder(operation)
    if None in before or None in after:
        _dynamic(builder, before, after)
        return builder.build()
    known_before = tuple(extent or 0 for extent in before)
    known_after = tuple(extent or 0 for extent in after)
    sizes, left, right, misaligned = common_factors(known_before, known_after)
    for index, size in enumerate(sizes):
        whole = index in misaligned
        kind = FactorKind.NEED_REPLICATION if whole else FactorKind.PASS_THROUGH
        builder.factor(size, kind, shards=ShardRequirement.EVEN)
    builder.operand_dimensions(0, left)
    builder.result_dimensions(0, right)
    return builder.build()


def _dynamic(builder: RuleBuilder, before: Shape, after: Shape) -> None:
    """Let equal static leading extents pass through; the rest needs replication."""
    passing = True
    for dimension in range(max(len(before), len(after))):
        old = before[dimension] if dimension < len(before) else None
        new = after[dimension] if dimension < len(after) else None
        passing = passing and old is not None and old == new
        if passing:
            builder.shared(dimension, old, shards=ShardRequirement.EVEN)
            continue
        whole = FactorKind.NEED_REPLICATION
        if dimension < len(before):
            builder.operand(0, dimension, builder.factor(old, whole))
        if dimension < len(after):
            builder.result(0, dimension, builder.factor(new, whole))

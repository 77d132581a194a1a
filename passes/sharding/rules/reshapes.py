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
    Extents must not be 0.
    """
    sizes: list[int] = []
    sides: list[list[list[int]]] = [[[] for _ in shape] for shape in (before, after)]
    # The dimensions that are left with what is left of their extents, the next one last.
    rests = [
        [(dimension, size) for dimension, size in enumerate(shape) if size != 1][::-1]
        for shape in (before, after)
    ]

    def add(side: int, dimension: int) -> None:
        sides[side][dimension].append(len(sizes))

    misaligned: set[int] = set()
    while all(rests) and not misaligned:
        nearest = [rest.pop() for rest in rests]
        common = gcd(*(size for _, size in nearest))
        if common > 1 and any(size == common for _, size in nearest):
            for side, (dimension, size) in enumerate(nearest):
                add(side, dimension)
                if size > common:
                    rests[side].append((dimension, size // common))
            sizes.append(common)
            continue
        # From here on, blocks of one side would straddle those of the other.
        for side, rest in enumerate(rests):
            for dimension, size in (nearest[side], *reversed(rest)):
                misaligned.add(len(sizes))
                add(side, dimension)
                sizes.append(size)
    left, right = ([tuple(factors) for factors in side] for side in sides)
    return sizes, left, right, misaligned


@sharding_rule("tensor.reshape", "tosa.reshape")
def reshape_rule(operation: Operation) -> FactorRule | None:
    """Return the rule of an operation that reshapes its first operand into its first result.

    With dynamic extents, or without elements, equal static leading dimensions pass through, and the
    others need replication. Returns `None` for unranked tensors.
    """
    before, after = tensor_shape(operation.operands[0]), tensor_shape(operation.results[0])
    if before is None or after is None:
        return None
    builder = RuleBuilder(operation)
    if not {None, 0}.isdisjoint((*before, *after)):
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

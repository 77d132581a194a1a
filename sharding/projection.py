"""Convert between the axes of dimensions and the axes of factors.

A dimension of one factor gives it all its axes. A dimension of several factors distributes its axes
major to minor: a factor takes axes while they divide its remaining size, and the next factor
follows when it is completely split. Sub-axes are whole axes of a refined grid (see
`sharding.refinement`), so axes are never divided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from .factors import FactorRule, TensorFactors
from .sharding import Axes, DimensionAxes


@dataclass(frozen=True, slots=True)
class Projection:
    """The split of one tensor, by factors.

    - `axes[f]`: the axes along factor `f`; `None` if the tensor does not have the factor;
    - `overflow`: axes that lie along no factor, because their dimension has none or because they do
      not divide the remaining size of the next factor. They are in use, and no axes may follow
      them.
    """

    axes: tuple[Axes | None, ...]
    overflow: Axes = ()


def project(
    tensor: TensorFactors, dimension_axes: DimensionAxes, rule: FactorRule, extents: Sequence[int]
) -> Projection:
    """Return the axes of a tensor's factors, given the axes of its dimensions.

    `extents` are those of the grid.
    """
    by_factor: list[Axes | None] = [None] * len(rule.factors)
    overflow: list[int] = []
    for factors, axes in zip(tensor, dimension_axes, strict=True):
        remaining = list(axes)
        for position, factor in enumerate(factors):
            taken: list[int] = []
            if position == len(factors) - 1:
                taken, remaining = remaining, []
            else:
                left = rule.factors[factor].size
                while remaining and left is not None and left % extents[remaining[0]] == 0:
                    left //= extents[remaining[0]]
                    taken.append(remaining.pop(0))
                if left != 1:
                    overflow += remaining
                    remaining = []
            by_factor[factor] = tuple(taken)
        overflow += remaining
    return Projection(tuple(by_factor), tuple(overflow))


def unproject(
    tensor: TensorFactors,
    factor_axes: Sequence[Axes | None],
    rule: FactorRule,
    extents: Sequence[int],
) -> DimensionAxes:
    """Return the axes of a tensor's dimensions, given the axes of its factors.

    A factor that is minor to one that is not split completely cannot be split, since its blocks
    would not be contiguous. Its axes are left out.
    """
    result: list[Axes] = []
    for factors in tensor:
        axes: Axes = ()
        for factor in factors:
            own = factor_axes[factor] or ()
            axes += own
            if prod(extents[axis] for axis in own) != rule.factors[factor].size:
                break
        result.append(axes)
    return tuple(result)


def unproject_all(
    factor_axes: Sequence[Axes], rule: FactorRule, extents: Sequence[int]
) -> tuple[tuple[DimensionAxes, ...], tuple[DimensionAxes, ...]] | None:
    """Return the axes of all operands and of all results, given the axes of the factors.

    Returns `None` if one of the tensors cannot be split so.
    """
    found: list[DimensionAxes] = []
    for tensor in (*rule.operands, *rule.results):
        axes = unproject(tensor, factor_axes, rule, extents)
        present = {factor for dimension in tensor for factor in dimension}
        if sum(map(len, axes)) != sum(len(factor_axes[factor]) for factor in present):
            return None
        found.append(axes)
    count = len(rule.operands)
    return tuple(found[:count]), tuple(found[count:])


def operand_axes(
    rule: FactorRule, result_axes: DimensionAxes, extents: Sequence[int]
) -> list[DimensionAxes]:
    """Return how operands are split like the first result, given the axes of its dimensions."""
    factor_axes = project(rule.results[0], result_axes, rule, extents).axes
    return [unproject(operand, factor_axes, rule, extents) for operand in rule.operands]


def is_minor_most(tensor: TensorFactors, factor: int) -> bool:
    """Return whether a factor is the last of its dimension, where uneven shards are possible."""
    return all(factors[-1] == factor for factors in tensor if factor in factors)


def fits(size: int | None, parts: int, minor: bool) -> bool:
    """Return whether a factor can be split evenly or, if minor-most, with no shard empty."""
    return size is None or size % parts == 0 or (minor and parts <= size)

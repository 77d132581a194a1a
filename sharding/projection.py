"""From the axes of dimensions to the axes of factors, and back.

A dimension made of one factor hands over all its axes. A dimension made of several factors hands
its axes out major to minor: a factor takes axes as long as they divide what is left of it, and
the next factor's turn comes when it is full. Sub-axes are whole axes of a refined grid (see
`sharding.refinement`), so an axis is never cut here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from .factors import FactorRule, TensorFactors
from .sharding import Axes, DimensionAxes


@dataclass(frozen=True, slots=True)
class Projection:
    """How one tensor is split, by factors.

    - `axes[f]`: the axes along factor `f`, `None` where the tensor does not have it;
    - `overflow`: axes that lie along no factor: of a dimension that takes part in nothing, or
      that no longer fit the factor whose turn it was. They are used, and nothing follows them.
    """

    axes: tuple[Axes | None, ...]
    overflow: Axes = ()


def project(
    tensor: TensorFactors, dimension_axes: DimensionAxes, rule: FactorRule, extents: Sequence[int]
) -> Projection:
    """The axes of a tensor's factors, from the axes of its dimensions."""
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


def back(
    tensor: TensorFactors,
    factor_axes: Sequence[Axes | None],
    rule: FactorRule,
    extents: Sequence[int],
) -> DimensionAxes:
    """The axes of a tensor's dimensions, from the axes of its factors.

    A factor that is minor to one that is not split all the way cannot be split: what its blocks
    are would not be contiguous. Its axes are left out.
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


def minor_most(tensor: TensorFactors, factor: int) -> bool:
    """Whether a factor is the last of its dimension, where uneven blocks are possible."""
    return all(factors[-1] == factor for factors in tensor if factor in factors)


def fits(size: int | None, parts: int, minor: bool) -> bool:
    """Whether a factor can be split in parts: evenly, or, if minor-most, with no part empty."""
    return size is None or size % parts == 0 or (minor and parts <= size)

"""In which ways the factors of an operation can be split, given how its tensors are.

What an operation's local form asks of its shards is in its rule (`Factor.shards`); a dimension of
several factors and a window that is read backward ask for shards of one size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import prod

from .cost import known_extents
from .factors import FactorKind, FactorRule, Shards
from .grid import Grid
from .local_shape import divides
from .sharding import Axes, Borders, DimensionAxes, ReductionKind


@dataclass(frozen=True, slots=True)
class PlannedTensor:
    """An operand as it comes, or a result as it is wanted.

    - `axes` is `None` for a tensor that costs nothing to have in any placement;
    - `explicit`: the program says that the operation itself sees the tensor so;
    - `width`: bytes per element;
    - `copies`: other placements that the tensor has been brought to already;
    - `sharers`: how many operations like this one have the operand, and would share a copy;
    - `offsets`: explicit borders of the shards, as `Sharding` has them.
    """

    axes: DimensionAxes | None
    explicit: bool = False
    width: float = 4.0
    copies: tuple[DimensionAxes, ...] = ()
    sharers: int = 1
    offsets: tuple[Borders, ...] = ()


class FactorSplits:
    """Along which axes, with which borders, each factor of a rule can be split on a grid."""

    def __init__(
        self,
        rule: FactorRule,
        operands: Sequence[PlannedTensor],
        results: Sequence[PlannedTensor],
        grid: Grid,
    ) -> None:
        self._rule = rule
        self.grid = grid
        self.extents = known_extents(grid.shape)
        self._evenly = _even_factors(rule)
        self._borders = _given_borders(rule, (*operands, *results))

    def borders(self, factor: int, axes: Axes) -> Borders:
        """The explicit borders that a tensor brings for a factor split along axes."""
        return self._borders.get((factor, axes))

    def allow(self, factor: int, axes: Axes) -> bool:
        """Whether the operation can be split so; also where shards are empty, if they may be."""
        if not axes:
            return True
        row, parts = self._rule.factors[factor], self.grid.size(axes)
        borders = self.borders(factor, axes)
        if row.kind is FactorKind.NEED_REPLICATION or row.size == 1:
            return False
        if row.kind is FactorKind.REDUCTION and None in row.reductions:
            return False
        if factor in self._evenly:
            return borders is None and divides(row.size, parts)
        if row.shards is Shards.FILLED:
            if borders is not None:
                return all(start < end for start, end in pairwise(borders))
            return row.size is not None and parts is not None and 0 < parts <= row.size
        return True

    def fit(self, factor: int, axes: Axes) -> bool:
        """Whether the operation can be split so with something for every process to do."""
        size = self._rule.factors[factor].size
        parts = prod(self.extents[axis] for axis in axes)
        return self.allow(factor, axes) and (
            size is None or parts <= size or self.borders(factor, axes) is not None
        )


@lru_cache(maxsize=4096)
def _even_factors(rule: FactorRule) -> frozenset[int]:
    """The factors whose shards must be of one size.

    A part of a dimension of several factors is a block only then, what is read backward begins at
    another place in each shard otherwise, and averages of unequal shards do not count alike.
    """
    chained = {
        factor
        for tensor in (*rule.operands, *rule.results)
        for dimension in tensor
        if len(dimension) > 1
        for factor in dimension
    }
    backward = {
        factor
        for window in rule.windows
        if window.stride < 0
        for factor in rule.operands[window.operand][window.dimension]
    }
    even = {
        index
        for index, row in enumerate(rule.factors)
        if row.shards is Shards.EVEN or ReductionKind.AVERAGE in row.reductions
    }
    return frozenset(chained | backward | even)


def _given_borders(
    rule: FactorRule, tensors: Sequence[PlannedTensor]
) -> Mapping[tuple[int, Axes], Borders]:
    """Explicit borders that tensors bring along, by factor and axes; the first tensor's count.

    A dimension that is read by windows has other borders than the factor that reads it.
    """
    found: dict[tuple[int, Axes], Borders] = {}
    for factors, known in zip((*rule.operands, *rule.results), tensors, strict=True):
        if known.axes is None or not known.offsets:
            continue
        for dimension, axes, borders in zip(factors, known.axes, known.offsets, strict=True):
            if borders is None or len(dimension) != 1:
                continue
            row = rule.factors[dimension[0]]
            if row.kind is not FactorKind.PERMUTATION or borders[-1] == row.size:
                found.setdefault((dimension[0], axes), borders)
    return found

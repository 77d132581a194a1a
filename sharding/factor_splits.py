"""Determine along which axes the factors of an operation can be split, given its tensors.

The requirements of the operation itself are in its rule (`Factor.shards`). In addition, dimensions
of several factors and windows with a negative stride need shards of equal size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import prod

from .cost import known_extents
from .factors import FactorKind, FactorRule, ShardRequirement, TensorFactors
from .grid import Grid
from .local_shape import divides
from .sharding import Axes, DimensionAxes, Offsets, ReductionKind


@dataclass(frozen=True, slots=True)
class TensorState:
    """The sharding in which an operand is available, or in which a result is wanted.

    - `axes` is `None` for a tensor that is available in any sharding at no cost;
    - `explicit`: the program prescribes this sharding at the operation itself;
    - `width`: bytes per element;
    - `copies`: other shardings in which the tensor is already available;
    - `sharers`: number of similar operations that read the operand and would share a resharded
      copy;
    - `offsets`: explicit offsets of the shards, as in `Sharding`.
    """

    axes: DimensionAxes | None
    explicit: bool = False
    width: float = 4.0
    copies: tuple[DimensionAxes, ...] = ()
    sharers: int = 1
    offsets: tuple[Offsets, ...] = ()


class FactorSplits:
    """The axes, and offsets, along which each factor of a rule can be split on a grid.

    `tensors` has the factors and the state of each operand, then of each result.
    """

    def __init__(
        self,
        rule: FactorRule,
        operands: Sequence[TensorState],
        results: Sequence[TensorState],
        grid: Grid,
    ) -> None:
        self.rule, self.grid = rule, grid
        self.operands, self.results = operands, results
        self.tensors = tuple(
            zip((*rule.operands, *rule.results), (*operands, *results), strict=True)
        )
        self.extents = known_extents(grid.shape)
        self._evenly = _even_factors(rule)
        self._offsets = _given_offsets(rule, self.tensors)

    def offsets(self, factor: int, axes: Axes) -> Offsets:
        """Return the explicit offsets that a tensor has for a factor split along `axes`."""
        return self._offsets.get((factor, axes))

    def can_split(self, factor: int, axes: Axes) -> bool:
        """Return whether the operation can be split so, with empty shards where allowed."""
        if not axes:
            return True
        row, parts = self.rule.factors[factor], self.grid.size(axes)
        offsets = self.offsets(factor, axes)
        if row.kind is FactorKind.NEED_REPLICATION or row.size == 1:
            return False
        if row.kind is FactorKind.REDUCTION and None in row.reductions:
            return False
        if factor in self._evenly:
            return offsets is None and divides(row.size, parts)
        if row.kind is FactorKind.PERMUTATION and parts is None:
            return False  # What each process reads depends on how many there are.
        if row.shards is ShardRequirement.FILLED:
            if offsets is not None:
                return all(start < end for start, end in pairwise(offsets))
            return row.size is not None and parts is not None and 0 < parts <= row.size
        return True

    def can_split_nonempty(self, factor: int, axes: Axes) -> bool:
        """Return whether the operation can be split so with a nonempty shard for every process.

        Splits with explicit offsets, and those of dynamic factors, are accepted without this check.
        """
        size = self.rule.factors[factor].size
        parts = prod(self.extents[axis] for axis in axes)
        return self.can_split(factor, axes) and (
            size is None or parts <= size or self.offsets(factor, axes) is not None
        )


@lru_cache(maxsize=4096)
def _even_factors(rule: FactorRule) -> frozenset[int]:
    """Return the factors whose shards must have equal sizes.

    With unequal shards, a part of a dimension of several factors is not a block, backward reads
    begin at a different place in each shard, and averages of shards have unequal weights.
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
        if row.shards is ShardRequirement.EVEN or ReductionKind.AVERAGE in row.reductions
    }
    return frozenset(chained | backward | even)


def _given_offsets(
    rule: FactorRule, tensors: Sequence[tuple[TensorFactors, TensorState]]
) -> Mapping[tuple[int, Axes], Offsets]:
    """Return the explicit offsets of the tensors, by factor and axes.

    The first tensor takes precedence. Offsets that do not end at the factor's extent are ignored,
    since those of a dimension that windows read are not the factor's.
    """
    found: dict[tuple[int, Axes], Offsets] = {}
    for factors, known in tensors:
        if known.axes is None or not known.offsets:
            continue
        for dimension, axes, offsets in zip(factors, known.axes, known.offsets, strict=True):
            if offsets is None or len(dimension) != 1:
                continue
            row = rule.factors[dimension[0]]
            is_open = row.size is None and row.kind is not FactorKind.PERMUTATION
            if is_open or offsets[-1] == row.size:
                found.setdefault((dimension[0], axes), offsets)
    return found

"""Propagate shardings between the operands and results of one operation, through its factors.

There are two strategies, as in Shardy (openxla/shardy, docs/propagation.md). *Basic* propagates
only axes that conflict with no tensor of the operation. *Aggressive* gives each tensor the axes
that this tensor can take, starting with the axes of the largest tensors. Shardings only ever grow,
so repeated steps reach a fixpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Flag
from itertools import takewhile
from math import prod

from .cost import known_extents
from .factors import FactorKind, FactorRule, TensorFactors
from .projection import Projection, fits, is_minor_most, project, unproject
from .sharding import Axes, DimensionAxes, is_finer_split


class Direction(Flag):
    """Directions in which a factor's axes may be propagated: from operands to results, or back."""

    NONE = 0
    FORWARD = 1
    BACKWARD = 2
    BOTH = 3


@dataclass(frozen=True, slots=True)
class TensorSide:
    """One operand or result of an operation, as the input of a step.

    `open_dimensions[d]` says whether propagation may add axes to dimension `d`. The `replicated`
    axes split no dimension.
    """

    factors: TensorFactors
    axes: DimensionAxes
    open_dimensions: tuple[bool, ...]
    is_result: bool
    replicated: Axes = ()


@dataclass(frozen=True, slots=True)
class StepResult:
    """The new axes of each side, and whether all sides now agree on every factor."""

    axes: tuple[DimensionAxes, ...]
    agreed: bool


class _Side:
    """The mutable state of one tensor during a step."""

    def __init__(self, side: TensorSide, rule: FactorRule, extents: Sequence[int]) -> None:
        self.side, self._rule, self._extents = side, rule, extents
        self.projection: Projection = project(side.factors, side.axes, rule, extents)
        self.axes: list[Axes | None] = list(self.projection.axes)
        self.barred = {*side.replicated, *rule.reserved}
        self.open = {
            factor
            for factors, is_open in zip(side.factors, side.open_dimensions, strict=True)
            for factor in factors
            if is_open
        }
        sizes = known_extents(
            [rule.factors[factor].size for factors in side.factors for factor in factors]
        )
        self.elements = prod(sizes)

    def free_prefix(self, axes: Axes, factor: int) -> int:
        """Return how many of the axes a factor may take, from the first on.

        Others are used by the tensor along other factors, added ones included, or it is replicated
        along them.
        """
        used = {*self.projection.overflow, *self.barred}
        for other, own in enumerate(self.axes):
            if other != factor and own:
                used.update(own)
        return sum(1 for _ in takewhile(lambda axis: axis not in used, axes))

    def limit(self, axes: Axes, factor: int) -> int:
        """Return how many of the axes fit along a factor, apart from other factors."""
        own = self.axes[factor] or ()
        if axes[: len(own)] != own:
            return min(len(axes), len(own))
        if factor not in self.open:
            return len(own)
        minor = is_minor_most(self.side.factors, factor)
        size, count = self._rule.factors[factor].size, len(own)
        parts = prod(self._extents[axis] for axis in own)
        for axis in axes[count:]:
            parts *= self._extents[axis]
            if not fits(size, parts, minor):
                break
            count += 1
        return count


def common_axes(lists: Sequence[tuple[Axes, bool]]) -> Axes:
    """Return the longest list of axes that is compatible with all given lists.

    Two lists are compatible if one is a prefix of the other. Where two lists differ, the result
    ends before the difference and stops growing. Each list comes with a flag: whether it may extend
    the result, or only cut it.
    """
    result: Axes = ()
    may_grow = True
    for axes, adds in lists:
        shared = 0
        while shared < min(len(result), len(axes)) and result[shared] == axes[shared]:
            shared += 1
        if shared < len(result) and shared < len(axes):
            result, may_grow = result[:shared], False
        elif len(axes) > len(result) and may_grow and adds:
            result = axes
    return result


def _candidate(sides: Sequence[_Side], factor: int, direction: Direction) -> Axes:
    """Return the axes that the sides agree on; `direction` says which sides propose axes."""
    speaking: list[tuple[Axes, bool]] = []
    listening: list[tuple[Axes, bool]] = []
    for side in sides:
        axes = side.axes[factor]
        if axes is None:
            continue
        wanted = Direction.BACKWARD if side.side.is_result else Direction.FORWARD
        (speaking if direction & wanted else listening).append((axes, bool(direction & wanted)))
    return common_axes(speaking + listening)


def _basic(sides: Sequence[_Side], directions: Sequence[Direction]) -> None:
    for factor, direction in enumerate(directions):
        if not direction:
            continue
        axes = _candidate(sides, factor, direction)
        for side in sides:
            axes = axes[: side.free_prefix(axes, factor)]
            if side.axes[factor] is not None:
                axes = axes[: side.limit(axes, factor)]
        for side in sides:
            own = side.axes[factor]
            if own is not None and len(axes) > len(own):
                side.axes[factor] = axes


def _aggressive(sides: Sequence[_Side], directions: Sequence[Direction]) -> None:
    proposals: list[tuple[int, int, Axes]] = []
    for factor, direction in enumerate(directions):
        if not direction:
            continue
        axes = _candidate(sides, factor, direction)
        if axes:
            source = max(side.elements for side in sides if side.axes[factor])
            proposals.append((-source, factor, axes))
    for _, factor, axes in sorted(proposals):
        for side in sides:
            own = side.axes[factor]
            if own is None or axes[: len(own)] != own:
                continue
            count = min(side.limit(axes, factor), side.free_prefix(axes, factor))
            if count > len(own):
                side.axes[factor] = axes[:count]


def propagate_step(
    rule: FactorRule,
    sides: Sequence[TensorSide],
    directions: Sequence[Direction],
    extents: Sequence[int],
    *,
    aggressive: bool,
) -> StepResult:
    """Propagate axes once between the tensors of one operation.

    `directions` has one entry per factor; `extents` are those of the grid. The axes in the result
    extend those in `sides`.
    """
    working = [_Side(side, rule, extents) for side in sides]
    (_aggressive if aggressive else _basic)(working, directions)
    results: list[DimensionAxes] = []
    for side in working:
        if side.axes == list(side.projection.axes):
            results.append(side.side.axes)
            continue
        grown = unproject(side.side.factors, side.axes, rule, extents)
        # `unproject` leaves out minor factors that cannot be split; overflowing axes must be kept.
        grows = not side.projection.overflow and is_finer_split(grown, side.side.axes)
        results.append(grown if grows else side.side.axes)
    return StepResult(tuple(results), _agreed(working, rule))


def _agreed(sides: Sequence[_Side], rule: FactorRule) -> bool:
    for factor, known in enumerate(rule.factors):
        seen = {side.axes[factor] for side in sides if side.axes[factor] is not None}
        if len(seen) > 1 or (known.kind is FactorKind.NEED_REPLICATION and any(seen)):
            return False
    return not any(side.projection.overflow for side in sides)

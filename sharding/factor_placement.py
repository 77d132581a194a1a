"""How an operation is spread over a grid: for each factor of its rule, the axes that split it.

An assignment fixes the placement of every operand and result. Of the assignments that the
placements at hand suggest, the cheapest is chosen: the bytes that resharding operands, finishing
partial results and resharding results would send, and the work of one process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from .cost import BYTES_PER_POINT, broadcast_bytes
from .factors import DimensionFactors, FactorKind, FactorRule, TensorFactors, Window
from .grid import Grid
from .local_shape import divides, explicit_borders
from .reshard import plan_reshard
from .reshard_moves import Borders, Split
from .reshard_steps import gather_fraction, group_size, local_fraction
from .sections import window_bytes
from .sharding import Axes, Partial, ReductionKind, Sharding

Assignment = tuple[Split, ...]
"""For each factor its axes, and explicit borders if it has them."""

WHOLE: Split = ((), None)
"""A factor that is not split."""

UNKNOWN_SIZE = 128
"""What a dynamic dimension counts as in a comparison of costs."""


@dataclass(frozen=True, slots=True)
class Participant:
    """One operand or result of an operation.

    `sharding` is where an operand is, or where a result is wanted; `None` for an operand that
    every process has whole, or a result that nobody asked for. A `free` operand can be made
    anywhere at no cost, such as a constant.
    """

    factors: TensorFactors
    shape: tuple[int | None, ...]
    element_bytes: float
    sharding: Sharding | None
    free: bool = False

    @property
    def total_bytes(self) -> float:
        """The size of the whole tensor, with a stand-in for dynamic dimensions."""
        sizes = (UNKNOWN_SIZE if size is None else size for size in self.shape)
        return self.element_bytes * prod(sizes)


Restriction = Callable[[int, Split], bool]
"""Whether an operation can be split like this along a factor."""


class Spread:
    """The choice of an assignment for one operation on a grid."""

    def __init__(
        self,
        grid: Grid,
        rule: FactorRule,
        operands: Sequence[Participant | None],
        results: Sequence[Participant | None],
        restriction: Restriction,
    ) -> None:
        self._grid = grid
        self._rule = rule
        self._operands = operands
        self._results = results
        self._restriction = restriction
        self._sizes = tuple(factor.size for factor in rule.factors)
        self._chains = frozenset(
            dimension
            for tensor in (*rule.operands, *rule.results)
            for dimension in tensor
            if len(dimension) > 1
        )

    def choose(self) -> Assignment:
        """The cheapest assignment; of equally cheap ones that which results ask for."""
        best: tuple[float, Assignment] | None = None
        tried: set[Assignment] = set()
        for order in self._orders():
            for assignment in self._variants(self._collect(order)):
                if assignment in tried:
                    continue
                tried.add(assignment)
                sent = self._sent(assignment)
                cost = sent + self._work(assignment) * BYTES_PER_POINT
                if best is None or cost < best[0] * (1 - 1e-9):
                    best = cost, assignment
                if sent == 0.0 and len(tried) == 1 and self._uses_all(assignment):
                    return assignment
        return best[1] if best is not None else (WHOLE,) * len(self._sizes)

    def _uses_all(self, assignment: Assignment) -> bool:
        """Whether every axis that a participant is split along splits the work."""
        used = {axis for axes, _ in assignment for axis in axes}
        return all(
            axis in used
            for participant in (*self._operands, *self._results)
            if participant is not None and participant.sharding is not None
            for axes in participant.sharding.dimension_axes
            for axis in axes
        )

    def _orders(self) -> Iterator[list[Participant]]:
        results = [p for p in self._results if p is not None and p.sharding is not None]
        operands = [
            p
            for p in self._operands
            if p is not None and p.sharding is not None and p.sharding.grid == self._grid
        ]
        operands.sort(key=lambda p: -p.total_bytes)
        yield [*results, *operands]
        yield [*operands, *results]
        for operand in operands[1:]:
            yield [operand, *(p for p in operands if p is not operand), *results]
        yield results
        yield []

    def _variants(self, assignment: Assignment) -> Iterator[Assignment]:
        """The assignment, and the one that splits no reduction."""
        yield assignment
        if any(
            axes and factor.kind is FactorKind.REDUCTION
            for (axes, _), factor in zip(assignment, self._rule.factors, strict=True)
        ):
            yield self._legal(
                [
                    WHOLE if factor.kind is FactorKind.REDUCTION else split
                    for split, factor in zip(assignment, self._rule.factors, strict=True)
                ]
            )

    def _collect(self, order: Sequence[Participant]) -> Assignment:
        """Take each participant's axes for the factors that have none yet."""
        found: dict[int, Split] = {}
        used: set[int] = set()
        for participant in order:
            sharding = participant.sharding
            if sharding is None or sharding.grid != self._grid:
                continue
            for factor, suggested in self._project(participant, sharding):
                if factor in found:
                    continue
                split = _unused(suggested, used)
                if split[0] and self._allowed(factor, split):
                    found[factor] = split
                    used.update(split[0])
        return self._legal([found.get(f, WHOLE) for f in range(len(self._sizes))])

    def _allowed(self, factor: int, split: Split) -> bool:
        row = self._rule.factors[factor]
        if row.kind is FactorKind.NEED_REPLICATION or row.size == 1:
            return False
        if row.kind is FactorKind.REDUCTION and None in row.reductions:
            return False
        return self._restriction(factor, split)

    def _project(self, participant: Participant, sharding: Sharding) -> Iterator[tuple[int, Split]]:
        """The factors that a placement splits, in the order of the dimensions."""
        for dimension, factors in enumerate(participant.factors):
            axes = sharding.dimension_axes[dimension]
            if not axes or not factors:
                continue
            if len(factors) == 1:
                limits = explicit_borders(sharding, dimension)
                if limits is not None and limits[-1] != self._sizes[factors[0]]:
                    # A window: what is read has other borders than the loop that reads it.
                    limits = None
                yield factors[0], (axes, limits)
            elif explicit_borders(sharding, dimension) is None:
                yield from self._distribute(factors, axes)

    def _distribute(self, factors: DimensionFactors, axes: Axes) -> Iterator[tuple[int, Split]]:
        """Axes of a dimension over its factors, major to minor: each must be used up in turn."""
        rest = list(axes)
        for factor in factors:
            size = self._sizes[factor]
            taken: list[int] = []
            while rest and size is not None and size > 1:
                extent = self._grid.shape[rest[0]]
                if extent is None or size % extent:
                    break
                taken.append(rest.pop(0))
                size //= extent
            if taken:
                yield factor, (tuple(taken), None)
            if size != 1:
                return

    def _legal(self, splits: Sequence[Split]) -> Assignment:
        """Without the splits that a dimension of several factors cannot express.

        In such a dimension every split factor must be cut evenly, and only the first that is not
        cut into single elements may be followed by whole ones.
        """
        legal = list(splits)
        changed = True
        while changed:
            changed = False
            for chain in self._chains:
                open_ = True
                for factor in chain:
                    axes, borders = legal[factor]
                    size, parts = self._sizes[factor], self._grid.size(axes)
                    if axes and (not open_ or borders or not divides(size, parts)):
                        legal[factor] = WHOLE
                        changed = True
                        parts = 1
                    open_ = open_ and size is not None and size == parts
        return tuple(legal)

    def _work(self, assignment: Assignment) -> float:
        points = 1.0
        for factor, (axes, _) in zip(self._rule.factors, assignment, strict=True):
            size = 1 if factor.kind is FactorKind.SELECTION else factor.size
            if size == 1:
                continue
            points *= UNKNOWN_SIZE if size is None else size
            points /= max(1, self._group(axes))
        return points

    def _group(self, axes: Axes) -> int:
        return group_size(Sharding.replicated(self._grid, 0), axes)

    def _sent(self, assignment: Assignment) -> float:
        """The bytes that each process sends before and after the operation."""
        total = 0.0
        for participant in self._operands:
            if participant is not None and not participant.free:
                needed = placement(self._grid, participant.factors, assignment)
                total += self._between(participant, participant.sharding, needed)
        for window in self._rule.windows:
            total += self._fetched(window, assignment)
        for index, participant in enumerate(self._results):
            if participant is None:
                continue
            made = placement(self._grid, participant.factors, assignment)
            partials, gathered = self._pending(index, assignment)
            for row, (axes, _) in zip(self._rule.factors, assignment, strict=True):
                if row.kind is FactorKind.SELECTION:
                    local = participant.total_bytes * local_fraction(made)
                    total += broadcast_bytes(local, self._group(axes))
            if gathered:
                total += participant.total_bytes * local_fraction(made) * gather_fraction(gathered)
            if partials:
                made = Sharding(made.grid, made.dimension_axes, partials, offsets=made.offsets)
            wanted = participant.sharding
            total += self._between(
                participant, made, made.without_partials() if wanted is None else wanted
            )
        return total

    def _fetched(self, window: Window, assignment: Assignment) -> float:
        """The bytes that each process sends for what others read of its part of an operand."""
        participant = self._operands[window.operand]
        (factor,) = self._rule.operands[window.operand][window.dimension]
        size, axes = self._sizes[factor], assignment[factor][0]
        if participant is None or participant.free or size is None or not axes:
            return 0.0
        held = local_fraction(placement(self._grid, participant.factors, assignment))
        parts = self._group(axes)
        return window_bytes(window, size, parts, parts * held * participant.total_bytes)

    def _between(
        self, participant: Participant, source: Sharding | None, target: Sharding
    ) -> float:
        """The bytes from one placement to another; `None` is on each process."""
        if source is None:
            source = Sharding.replicated(target.grid, target.rank)
        if source.grid != target.grid:
            # Between grids a value is whole on every process.
            local = participant.total_bytes * local_fraction(source)
            return local * gather_fraction(round(1 / local_fraction(source)))
        target = without_new_partials(source, target)
        if source == target:
            return 0.0
        plan = plan_reshard(participant.shape, source, target)
        return participant.total_bytes * plan.sent_fraction(participant.shape)

    def _pending(self, result: int, assignment: Assignment) -> tuple[tuple[Partial, ...], int]:
        """The collectives that finish a result, and over how many it is gathered for others."""
        return pending_reductions(self._grid, self._rule, assignment, result)


def _unused(split: Split, used: set[int]) -> Split:
    """The split as far as its axes are not yet used."""
    axes, borders = split
    for position, axis in enumerate(axes):
        if axis in used:
            return axes[:position], None
    return axes, borders


def without_new_partials(source: Sharding, target: Sharding) -> Sharding:
    """The target without the pending reductions that the source does not have."""
    held = {(p.kind, axis) for p in source.partials for axis in p.axes}
    kept = tuple(
        Partial(p.kind, (axis,))
        for p in target.partials
        for axis in p.axes
        if (p.kind, axis) in held
    )
    return Sharding(target.grid, target.dimension_axes, kept, target.halos, target.offsets)


def placement(grid: Grid, factors: TensorFactors, assignment: Assignment) -> Sharding:
    """The placement of a tensor that an assignment of its factors makes, without reductions."""
    axes: list[Axes] = []
    offsets: list[Borders] = []
    for dimension in factors:
        axes.append(tuple(axis for factor in dimension for axis in assignment[factor][0]))
        offsets.append(assignment[dimension[0]][1] if len(dimension) == 1 else None)
    return Sharding(grid, tuple(axes), offsets=tuple(offsets))


def pending_reductions(
    grid: Grid, rule: FactorRule, assignment: Assignment, result: int
) -> tuple[tuple[Partial, ...], int]:
    """What is left to do for a result: collectives, and the size of a group that gathers.

    Reductions of the generic kind have no collective: partial values are gathered and combined.
    The size is 0 where there is none.
    """
    partials: list[Partial] = []
    generic: Axes = ()
    for factor, (axes, _) in zip(rule.factors, assignment, strict=True):
        if not axes or factor.kind is not FactorKind.REDUCTION:
            continue
        kind = factor.reductions[result]
        if kind is None or kind is ReductionKind.GENERIC:
            generic += axes
        else:
            partials.append(Partial(kind, axes))
    group = group_size(Sharding.replicated(grid, 0), generic) if generic else 0
    return tuple(partials), group

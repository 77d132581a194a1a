"""The planner of resharding: from any state of a tensor on a grid to any other.

A state changes by collectives, each of which moves the last axes of one dimension: away
(all-gather), from nowhere (a local slice), or to another dimension (all-to-all); or relabels the
processes (permute); or finishes a pending reduction. The planner is Dijkstra's search over the
shardings of one tensor, which are few, under the bytes that a process sends. No state on
the way holds more than the larger of the two ends does, unless there is no other way. The
setting is that of "Memory-efficient array redistribution through portable collective
communication" (Rink et al., arXiv 2112.01075).

Axes of different extents share parts of them on a finer grid of the same processes, which is tried
where the way on the grid itself takes more than one collective.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import heappop, heappush
from itertools import count
from math import gcd, inf, prod

from .cost import known_extents
from .local_shape import explicit_offsets
from .refinement import Refinement, divisor_chain
from .reshard_moves import Moves, Pending, State, is_even, moves_of_kind
from .reshard_steps import (
    AllGather,
    AllSlice,
    ExchangeHalo,
    PlannedStep,
    Step,
    TrimHalo,
    sent_fraction,
)
from .sharding import Axes, Partial, Sharding

STEP_COST = 1e-6
"""What a collective costs beside its bytes, so that of equal sequences the shorter wins.

In units of the whole tensor; small enough never to outweigh a byte."""

MOST_PARTS = 5
"""How many axes a finer grid may have for the search; states grow as their factorial."""

MOVABLE_AXES = 3
"""With more axes than this, those that are in place at both ends stay where they are."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A sequence of collectives, in order; empty where nothing is to be done."""

    steps: tuple[PlannedStep, ...]

    def sent_fraction(self) -> float:
        """The bytes that each process sends, halos apart, as a part of the whole tensor's bytes."""
        return sum(map(sent_fraction, self.steps))


def plan_reshard(shape: Sequence[int | None], source: Sharding, target: Sharding) -> Plan:
    """The cheapest sequence of collectives from one state of a tensor to another.

    `shape` is the whole tensor's, `None` for dynamic dimensions. Reductions that are pending at
    the source are done unless the target has them pending too; the target cannot have others.
    Raises ValueError if the grids or ranks differ, or the target is partial where the source is
    not.
    """
    if source == target:
        return Plan(())
    if source.grid != target.grid:
        raise ValueError(f"{source} and {target} are shardings on different grids")
    if not source.rank == target.rank == len(shape):
        raise ValueError(f"{source}, {target} and shape {tuple(shape)} differ in rank")
    if not set(_pending(target)) <= set(_pending(source)):
        raise ValueError(f"{target} awaits a reduction that {source} does not")
    return _plan(tuple(shape), source, target)


@lru_cache(maxsize=4096)
def _plan(shape: tuple[int | None, ...], source: Sharding, target: Sharding) -> Plan:
    steps: list[PlannedStep] = []
    at = source
    if source.halos:
        at = replace(source, halos=())
        steps.append(PlannedStep(TrimHalo(), source, at))
    core = replace(target, halos=())
    if at != core:
        steps += _cheapest(shape, at, core)
    if target.halos:
        steps.append(PlannedStep(ExchangeHalo(), core, target))
    return Plan(tuple(steps))


def _cheapest(
    shape: tuple[int | None, ...], source: Sharding, target: Sharding
) -> Sequence[PlannedStep]:
    """The cheapest steps between shardings without halos, on their grid or on a finer one.

    A single collective is no cheaper in parts, so that finer grids are tried for two or more.
    """
    plain = _planned(shape, source, target)
    if sum(not isinstance(planned.step, AllSlice) for planned in plain) < 2:
        return plain
    finer = _common_parts(source, target)
    if finer is None:
        return plain
    cut = _planned(shape, finer.refine_sharding(source), finer.refine_sharding(target))
    saved = Plan(tuple(plain)).sent_fraction() - Plan(tuple(cut)).sent_fraction()
    return cut if saved > STEP_COST else plain


def _planned(
    shape: tuple[int | None, ...], source: Sharding, target: Sharding
) -> Sequence[PlannedStep]:
    """The cheapest steps between shardings without halos, on their own grid."""
    steps: list[PlannedStep] = []
    at = source
    for step, state in _search(shape, at, target):
        after = _sharding(at, state)
        steps.append(PlannedStep(step, at, after))
        at = after
    return list(_merged(steps))


def _common_parts(source: Sharding, target: Sharding) -> Refinement | None:
    """The finer grid on which axes that differ in extent have parts that do not.

    A tensor split along an axis of 4 and another of 2 can change the two for each other on a
    grid where the 4 are 2 x 2: a permutation swaps 2 for 2, and an all-to-all moves the rest.
    `None` if there is nothing to cut, or there would be too many parts to try them all.
    """
    involved = source.used_axes | target.used_axes
    if not source.grid.is_static or source.offsets or target.offsets:
        return None
    extents = {axis: source.grid.size((axis,)) or 1 for axis in involved}
    cuts = [
        divisor_chain(
            common
            for other in involved - {axis}
            if axis in involved and (common := gcd(extents[axis], extents[other])) > 1
        )
        for axis in range(source.grid.rank)
    ]
    finer = Refinement.cut(source.grid, cuts)
    parts = sum(len(finer.parts[axis]) for axis in involved)
    return None if finer.is_trivial or parts > MOST_PARTS else finer


def _merged(steps: Sequence[PlannedStep]) -> Iterator[PlannedStep]:
    """Runs of slices, or of gathers, of one dimension as one collective each."""
    previous: PlannedStep | None = None
    for planned in steps:
        joined = None if previous is None else _joined(previous, planned)
        if previous is not None and joined is None:
            yield previous
        previous = joined or planned
    if previous is not None:
        yield previous


def _joined(first: PlannedStep, second: PlannedStep) -> PlannedStep | None:
    match first.step, second.step:
        case AllSlice(dimension, axes), AllSlice(other, more) if dimension == other:
            return PlannedStep(AllSlice(dimension, axes + more), first.before, second.after)
        case AllGather(dimension, axes), AllGather(other, more) if dimension == other:
            return PlannedStep(AllGather(dimension, more + axes), first.before, second.after)
        case _:
            return None


def _pending(sharding: Sharding) -> Pending:
    return tuple(
        sorted((partial.kind, axis) for partial in sharding.partials for axis in partial.axes)
    )


def _state(sharding: Sharding) -> State:
    splits = tuple(
        (axes, explicit_offsets(sharding, dimension))
        for dimension, axes in enumerate(sharding.dimension_axes)
    )
    return splits, _pending(sharding)


def _sharding(like: Sharding, state: State) -> Sharding:
    splits, pending = state
    return Sharding(
        like.grid,
        tuple(axes for axes, _ in splits),
        tuple(Partial(kind, (axis,)) for kind, axis in pending),
        offsets=tuple(offsets for _, offsets in splits),
    )


def _search(
    shape: tuple[int | None, ...], source: Sharding, target: Sharding
) -> list[tuple[Step, State]]:
    """The cheapest way between shardings without halos."""
    start, goal = _state(source), _state(target)
    if start == goal:
        return []
    involved = source.used_axes | target.used_axes
    in_place = _in_place(source, target) if len(involved) > MOVABLE_AXES else frozenset[int]()
    for fixed in (in_place, frozenset[int]()):
        moves = _moves(shape, source, goal, involved, fixed)
        ends = max(moves.local(start), moves.local(goal))
        for most in (ends, inf):
            found = _dijkstra(moves, start, goal, most)
            if found is not None:
                return found
    raise ValueError(f"no way from {source} to {target}")


def _dijkstra(
    moves: Moves, start: State, goal: State, most: float
) -> list[tuple[Step, State]] | None:
    """The cheapest way through shardings that hold at most `most` of the tensor each."""
    cost: dict[State, float] = {start: 0.0}
    came: dict[State, tuple[State, Step]] = {}
    order = count()
    queue: list[tuple[float, int, State]] = [(0.0, 0, start)]
    done: set[State] = set()
    while queue:
        so_far, _, at = heappop(queue)
        if at == goal:
            path: list[tuple[Step, State]] = []
            while at != start:
                before, step = came[at]
                path.append((step, at))
                at = before
            return path[::-1]
        if at in done:
            continue
        done.add(at)
        for step, after, price in moves.of(at):
            total = so_far + price + STEP_COST
            if total < cost.get(after, inf) and moves.local(after) <= most:
                cost[after] = total
                came[after] = (at, step)
                heappush(queue, (total, next(order), after))
    return None


def _in_place(source: Sharding, target: Sharding) -> frozenset[int]:
    """The axes that begin the lists of a dimension at both ends."""
    fixed: set[int] = set()
    for dimension, (left, right) in enumerate(
        zip(source.dimension_axes, target.dimension_axes, strict=True)
    ):
        if explicit_offsets(source, dimension) == explicit_offsets(target, dimension):
            for a, b in zip(left, right, strict=False):
                if a != b:
                    break
                fixed.add(a)
    return frozenset(fixed)


def _moves(
    shape: tuple[int | None, ...],
    source: Sharding,
    goal: State,
    involved: frozenset[int],
    fixed: frozenset[int],
) -> Moves:
    """The moves of a search; `fixed` axes stay where they are at the source."""
    extents = known_extents(source.grid.shape)
    whole = prod(extents)
    # Only what sizes have in common with numbers of processes matters.
    sizes = tuple(None if size is None else gcd(size, whole) for size in shape)
    kept = tuple(sum(axis in fixed for axis in axes) for axes in source.dimension_axes)
    movable = tuple(sorted(involved - fixed))
    known = source.grid.is_static
    uneven = tuple(
        None if is_even(split, size, extents, known) else split
        for split, size in zip(goal[0], sizes, strict=True)
    )
    return moves_of_kind(extents, known, sizes, kept, movable, uneven)


def permuted_axes(before: Sharding, after: Sharding) -> tuple[tuple[Axes, Axes], ...]:
    """Pairs (axes before, axes after) along which the linear position of a shard is the same.

    One pair for each dimension, and one for the axes that split nothing.
    """
    waiting = {axis for partial in before.partials for axis in partial.axes}

    def unused(sharding: Sharding) -> Axes:
        return tuple(
            axis
            for axis in range(sharding.grid.rank)
            if axis not in sharding.used_axes and axis not in waiting
        )

    pairs = zip(before.dimension_axes, after.dimension_axes, strict=True)
    return (*pairs, (unused(before), unused(after)))

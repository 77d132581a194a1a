"""Plan resharding: find the cheapest sequence of collectives between two shardings of a tensor.

A collective moves the last axes of one dimension: it removes them (all-gather), adds unused ones
(local slice), or transfers them to another dimension (all-to-all). Others relabel the processes
(permute), or finish a pending reduction. The planner runs Dijkstra's algorithm over the shardings
of one tensor, which are few; edges cost the bytes that a process sends. No intermediate state holds
more than the larger of the two ends, unless there is no other way. The setting is that of
"Memory-efficient array redistribution through portable collective communication" (Rink et al.,
arXiv 2112.01075).

If the plan needs more than one collective, a finer grid of the same processes is tried as well, on
which axes of different extents have equal sub-axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from heapq import heappop, heappush
from itertools import count
from math import gcd, inf, prod

from .cost import known_extents
from .local_shape import explicit_offsets
from .refinement import Refinement, divisor_chain
from .reshard_moves import Moves, Pending, State, is_even, moves_of_kind
from .reshard_steps import AllSlice, ExchangeHalo, PlannedStep, Step, TrimHalo, sent_fraction
from .sharding import Axes, Partial, Sharding

STEP_COST = 1e-6
"""Cost of a collective in addition to its bytes, so that the shorter of equal sequences wins.

In units of the whole tensor; too small to outweigh a byte.
"""

MAX_REFINED_AXES = 5
"""Maximum number of axes of a finer grid; the number of states grows as their factorial."""

MOVABLE_AXES = 3
"""If more axes than this are involved, those in place at both ends are kept fixed."""


def plan_reshard(
    shape: Sequence[int | None], source: Sharding, target: Sharding
) -> tuple[PlannedStep, ...]:
    """Return the cheapest sequence of collectives from one sharding of a tensor to another.

    It is empty if there is nothing to do. `shape` is that of the whole tensor, with `None` for
    dynamic dimensions. Pending reductions of the source are finished unless the target has them,
    too.

    Raises ValueError if the grids or ranks differ, or if the target has a pending reduction that
    the source does not have.
    """
    if source == target:
        return ()
    if source.grid != target.grid:
        raise ValueError(f"{source} and {target} are shardings on different grids")
    if not source.rank == target.rank == len(shape):
        raise ValueError(f"{source}, {target} and shape {tuple(shape)} differ in rank")
    if not set(_pending(target)) <= set(_pending(source)):
        raise ValueError(f"{target} is partial along axes along which {source} is not")
    return _plan(tuple(shape), source, target)


@lru_cache(maxsize=4096)
def _plan(
    shape: tuple[int | None, ...], source: Sharding, target: Sharding
) -> tuple[PlannedStep, ...]:
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
    return tuple(steps)


def _cheapest(
    shape: tuple[int | None, ...], source: Sharding, target: Sharding
) -> Sequence[PlannedStep]:
    """Return the cheapest steps between shardings without halos, on their grid or a finer one.

    A single collective is no cheaper in parts, so finer grids are tried only for two or more.
    """
    plain = _cheapest_on_grid(shape, source, target)
    if sum(not isinstance(planned.step, AllSlice) for planned in plain) < 2:
        return plain
    finer = _common_refinement(source, target)
    if finer is None:
        return plain
    refined = _cheapest_on_grid(shape, finer.refine_sharding(source), finer.refine_sharding(target))
    saved = sum(map(sent_fraction, plain)) - sum(map(sent_fraction, refined))
    return refined if saved > STEP_COST else plain


def _cheapest_on_grid(
    shape: tuple[int | None, ...], source: Sharding, target: Sharding
) -> Sequence[PlannedStep]:
    """Return the cheapest steps between shardings without halos, on their own grid."""
    steps: list[PlannedStep] = []
    at = source
    for step, state in _search(shape, at, target):
        after = _sharding(at, state)
        steps.append(PlannedStep(step, at, after))
        at = after
    return _merged(steps)


def _common_refinement(source: Sharding, target: Sharding) -> Refinement | None:
    """Return the finer grid on which axes of different extents have sub-axes of equal extent.

    Exchanging an axis of 4 for an axis of 2 is possible on a grid where the axis of 4 is 2 x 2: a
    permutation swaps 2 for 2, and an all-to-all moves the rest. Returns `None` if there is nothing
    to divide, or there would be more than `MAX_REFINED_AXES` axes to search over.
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
    return None if finer.is_trivial or parts > MAX_REFINED_AXES else finer


def _merged(steps: Sequence[PlannedStep]) -> Sequence[PlannedStep]:
    """Merge consecutive slices of one dimension into one step.

    Gathers need no merging: one of several axes is a move of its own, and cheaper than several.
    """
    found: list[PlannedStep] = []
    for planned in steps:
        match [*found[-1:], planned]:
            case [
                PlannedStep(AllSlice(dimension, axes), before),
                PlannedStep(AllSlice(other, more), _, after),
            ] if dimension == other:
                found[-1] = PlannedStep(AllSlice(dimension, axes + more), before, after)
            case _:
                found.append(planned)
    return found


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
    """Return the cheapest path between shardings without halos."""
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
    raise ValueError(f"cannot reshard from {source} to {target}")


def _dijkstra(
    moves: Moves, start: State, goal: State, most: float
) -> list[tuple[Step, State]] | None:
    """Return the cheapest path through states that hold at most a fraction `most`."""
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
    """Return the axes in the common prefix of a dimension's axes at both ends."""
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
    """Return the moves of a search; `fixed` axes stay where they are at the source."""
    extents = known_extents(source.grid.shape)
    whole = prod(extents)
    # Only the common divisors of sizes and process counts matter; reducing to them shares searches.
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
    """Return pairs (axes before, axes after) along which the linear index of a shard is the same.

    There is one pair for each dimension, and one for the unused axes.
    """

    def unused(sharding: Sharding) -> Axes:
        return tuple(axis for axis in range(sharding.grid.rank) if axis not in sharding.used_axes)

    pairs = zip(before.dimension_axes, after.dimension_axes, strict=True)
    return (*pairs, (unused(before), unused(after)))

"""The planner of resharding: from any placement of a tensor on a grid to any other.

A placement changes by collectives, each of which moves the last axes of one dimension: away
(all-gather), from nowhere (a local slice), or to another dimension (all-to-all); or relabels the
processes (permute); or finishes a pending reduction. The planner is Dijkstra's search over the
placements of one tensor, which are few, under the bytes that a process sends. No placement on
the way holds more than the larger of the two ends does, unless there is no other way. The
setting is that of "Memory-efficient array redistribution through portable collective
communication" (Rink et al., arXiv 2112.01075).

Axes of different extents share parts of them on a finer grid of the same processes, which is tried
where the way on the grid itself takes more than one collective.

A dimension that is not cut into equal parts only moves as a whole: the shards of 6 elements over
2x2 processes are 1, 1, 2, 2, and no two of them together are a half.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from heapq import heappop, heappush
from itertools import count, permutations
from math import gcd, inf, prod

from .local_shape import divides, explicit_borders
from .refinement import Refinement, divisor_chain
from .reshard_steps import (
    UNKNOWN_EXTENT,
    AllGather,
    AllReduce,
    AllSlice,
    AllToAll,
    ExchangeHalo,
    Permute,
    PlannedStep,
    ReduceScatter,
    Step,
    TrimHalo,
    all_reduce_fraction,
    exchange_fraction,
    gather_fraction,
    sent_fraction,
)
from .sharding import Axes, Partial, ReductionKind, Sharding

Borders = tuple[int, ...] | None
Split = tuple[Axes, Borders]
"""How one dimension is split: its axes and, where it has them, its explicit borders."""
Pending = tuple[tuple[ReductionKind, int], ...]
"""Pending reductions as (kind, axis), sorted."""
Placement = tuple[tuple[Split, ...], Pending]
"""What the search walks over: a sharding without its grid and halos."""

Move = tuple[Step, Placement, float]
"""A step, the placement after it, and the part of the whole tensor that each process sends."""

STEP_COST = 1e-6
"""What a collective costs beside its bytes, so that of equal sequences the shorter wins.

In units of the whole tensor; small enough never to outweigh a byte."""

MOST_PARTS = 5
"""How many axes a finer grid may have for the search; placements grow as their factorial."""

MOVABLE_AXES = 3
"""With more axes than this, those that are in place at both ends stay where they are."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A sequence of collectives, in order; empty where nothing is to be done."""

    steps: tuple[PlannedStep, ...]

    def sent_fraction(self, shape: Sequence[int | None] = ()) -> float:
        """The bytes that each process sends, as a part of the whole tensor's bytes."""
        return sum(sent_fraction(step, tuple(shape)) for step in self.steps)


def plan_reshard(shape: Sequence[int | None], source: Sharding, target: Sharding) -> Plan:
    """The cheapest sequence of collectives from one placement of a tensor to another.

    `shape` is the whole tensor's, `None` for dynamic dimensions. Reductions that are pending at
    the source are done unless the target has them pending too; the target cannot have others.
    Raises ValueError if the grids or ranks differ, or the target is partial where the source is
    not.
    """
    if source == target:
        return Plan(())
    if source.grid != target.grid:
        raise ValueError(f"{source} and {target} are placements on different grids")
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
    """The cheapest steps between placements without halos, on their grid or on a finer one.

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
    """The cheapest steps between placements without halos, on their own grid."""
    steps: list[PlannedStep] = []
    at = source
    for step, placement in _search(shape, at, target):
        after = _sharding(at, placement)
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


def _placement(sharding: Sharding) -> Placement:
    splits = tuple(
        (axes, explicit_borders(sharding, dimension))
        for dimension, axes in enumerate(sharding.dimension_axes)
    )
    return splits, _pending(sharding)


def _sharding(like: Sharding, placement: Placement) -> Sharding:
    splits, pending = placement
    return Sharding(
        like.grid,
        tuple(axes for axes, _ in splits),
        tuple(Partial(kind, (axis,)) for kind, axis in pending),
        offsets=tuple(borders for _, borders in splits),
    )


def _search(
    shape: tuple[int | None, ...], source: Sharding, target: Sharding
) -> list[tuple[Step, Placement]]:
    """The cheapest way between placements without halos."""
    start, goal = _placement(source), _placement(target)
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
    moves: _Moves, start: Placement, goal: Placement, most: float
) -> list[tuple[Step, Placement]] | None:
    """The cheapest way through placements that hold at most `most` of the tensor each."""
    cost: dict[Placement, float] = {start: 0.0}
    came: dict[Placement, tuple[Placement, Step]] = {}
    order = count()
    queue: list[tuple[float, int, Placement]] = [(0.0, 0, start)]
    done: set[Placement] = set()
    while queue:
        so_far, _, at = heappop(queue)
        if at == goal:
            path: list[tuple[Step, Placement]] = []
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
        if explicit_borders(source, dimension) == explicit_borders(target, dimension):
            for a, b in zip(left, right, strict=False):
                if a != b:
                    break
                fixed.add(a)
    return frozenset(fixed)


def _moves(
    shape: tuple[int | None, ...],
    source: Sharding,
    goal: Placement,
    involved: frozenset[int],
    fixed: frozenset[int],
) -> _Moves:
    """The moves of a search; `fixed` axes stay where they are at the source."""
    extents = tuple(UNKNOWN_EXTENT if e is None else e for e in source.grid.shape)
    whole = prod(extents)
    # Only what sizes have in common with numbers of processes matters.
    sizes = tuple(None if size is None else gcd(size, whole) for size in shape)
    kept = tuple(sum(axis in fixed for axis in axes) for axes in source.dimension_axes)
    movable = tuple(sorted(involved - fixed))
    known = source.grid.is_static
    uneven = tuple(
        None if _is_even(split, size, extents, known) else split
        for split, size in zip(goal[0], sizes, strict=True)
    )
    return _Moves.of_kind(extents, known, sizes, kept, movable, uneven)


def _is_even(split: Split, size: int | None, extents: Sequence[int], known: bool) -> bool:
    """Whether the shards of a dimension are of one size, and so can be cut and joined."""
    axes, borders = split
    if borders is not None:
        return False
    return not axes or (known and divides(size, prod(extents[axis] for axis in axes)))


class _Moves:
    """The steps that can be taken from each placement of tensors of one kind.

    They are worked out once, when a search first comes by.
    """

    def __init__(
        self,
        extents: tuple[int, ...],
        known: bool,
        sizes: tuple[int | None, ...],
        kept: tuple[int, ...],
        axes: Axes,
        uneven: tuple[Split | None, ...],
    ) -> None:
        """`kept` first axes of each dimension stay; `uneven` splits are to be reached at once."""
        self._extents = extents
        self._known = known
        self._sizes = sizes
        self._kept = kept
        self._axes = axes
        self._uneven = uneven
        self._equal: dict[tuple[int, Axes], bool] = {}
        self._locals: dict[Placement, float] = {}
        self._steps: dict[Placement, list[Move]] = {}

    @staticmethod
    @lru_cache(maxsize=256)
    def of_kind(
        extents: tuple[int, ...],
        known: bool,
        sizes: tuple[int | None, ...],
        kept: tuple[int, ...],
        axes: Axes,
        uneven: tuple[Split | None, ...],
    ) -> _Moves:
        """The one object for a kind of tensors."""
        return _Moves(extents, known, sizes, kept, axes, uneven)

    def size(self, axes: Axes) -> int:
        """The number of processes along `axes`."""
        total = 1
        for axis in axes:
            total *= self._extents[axis]
        return total

    def local(self, placement: Placement) -> float:
        """The part of the tensor that one process holds."""
        found = self._locals.get(placement)
        if found is None:
            parts = 1
            for axes, _ in placement[0]:
                parts *= self.size(axes)
            found = self._locals[placement] = 1 / max(parts, 1)
        return found

    def even(self, dimension: int, split: Split) -> bool:
        """Whether the shards of a dimension are of one size, and so can be cut and joined."""
        axes, borders = split
        if borders is not None:
            return False
        known = self._equal.get((dimension, axes))
        if known is None:
            known = _is_even(split, self._sizes[dimension], self._extents, self._known)
            self._equal[dimension, axes] = known
        return known

    def of(self, placement: Placement) -> list[Move]:
        """Every step from a placement."""
        found = self._steps.get(placement)
        if found is None:
            found = self._steps[placement] = list(self._all(placement))
        return found

    def _all(self, placement: Placement) -> Iterator[Move]:
        splits, pending = placement
        local = self.local(placement)
        used = {axis for axes, _ in splits for axis in axes} | {axis for _, axis in pending}
        free = tuple(axis for axis in self._axes if axis not in used)
        for dimension in range(len(splits)):
            yield from self._slices(placement, dimension, free)
            yield from self._gathers(placement, dimension, local)
        yield from self._reductions(placement, local)
        if self._known:
            yield from self._permutations(placement, local)

    def _with(self, placement: Placement, changes: dict[int, Split]) -> Placement:
        splits = tuple(changes.get(d, split) for d, split in enumerate(placement[0]))
        return splits, placement[1]

    def _splittable(self, dimension: int, split: Split, axes: Axes) -> bool:
        """Whether a collective can cut a dimension further, into equal parts."""
        return self.even(dimension, split) and self.even(dimension, (split[0] + axes, None))

    def _slices(self, placement: Placement, dimension: int, free: Axes) -> Iterator[Move]:
        split = placement[0][dimension]
        for axis in free:
            if self._splittable(dimension, split, (axis,)):
                after: Split = (*split[0], axis), None
                yield AllSlice(dimension, (axis,)), self._with(placement, {dimension: after}), 0.0
        goal = self._uneven[dimension]
        if goal is not None and not split[0] and set(goal[0]) <= set(free):
            yield AllSlice(dimension, goal[0]), self._with(placement, {dimension: goal}), 0.0

    def _gathers(self, placement: Placement, dimension: int, local: float) -> Iterator[Move]:
        """Last axes that leave a dimension, for nowhere or for another dimension."""
        split = placement[0][dimension]
        axes = split[0]
        for length in range(1, len(axes) - self._kept[dimension] + 1):
            rest, moved = axes[:-length], axes[-length:]
            if rest and not (self.even(dimension, split) and self.even(dimension, (rest, None))):
                continue
            group = self.size(moved)
            left: Split = rest, None
            gathered = self._with(placement, {dimension: left})
            yield AllGather(dimension, moved), gathered, local * gather_fraction(group)
            for other, target in enumerate(placement[0]):
                if other != dimension and self._splittable(other, target, moved):
                    right: Split = target[0] + moved, None
                    yield (
                        AllToAll(other, dimension, moved),
                        self._with(placement, {dimension: left, other: right}),
                        local * exchange_fraction(group),
                    )

    def _reductions(self, placement: Placement, local: float) -> Iterator[Move]:
        splits, pending = placement
        kinds: dict[ReductionKind, list[int]] = {}
        for kind, axis in pending:
            kinds.setdefault(kind, []).append(axis)
        for kind, all_axes in kinds.items():
            for length in range(1, len(all_axes) + 1):
                for axes in permutations(all_axes, length):
                    left = tuple(p for p in pending if not (p[0] == kind and p[1] in axes))
                    group = self.size(axes)
                    if list(axes) == sorted(axes):
                        price = local * all_reduce_fraction(group)
                        yield AllReduce(kind, axes), (splits, left), price
                    for dimension, split in enumerate(splits):
                        if self._splittable(dimension, split, axes):
                            after: Split = split[0] + axes, None
                            yield (
                                ReduceScatter(kind, dimension, axes),
                                self._with((splits, left), {dimension: after}),
                                local * exchange_fraction(group),
                            )

    def _permutations(self, placement: Placement, local: float) -> Iterator[Move]:
        """Placements whose shards are the same, held by other processes."""
        splits, pending = placement
        waiting = {axis for _, axis in pending}
        pool = tuple(axis for axis in self._axes if axis not in waiting)
        heads = [axes[:kept] for (axes, _), kept in zip(splits, self._kept, strict=True)]
        sizes = [self.size(axes) for axes, _ in splits]
        movable = [self.even(d, split) for d, split in enumerate(splits)]
        taken = {
            axis
            for (axes, _), moves in zip(splits, movable, strict=True)
            if not moves
            for axis in axes
        }

        def fill(
            dimension: int, chosen: tuple[Split, ...], used: frozenset[int]
        ) -> Iterator[tuple[Split, ...]]:
            if dimension == len(splits):
                yield chosen
                return
            if not movable[dimension]:
                yield from fill(dimension + 1, (*chosen, splits[dimension]), used)
                return
            head = heads[dimension]
            wanted = sizes[dimension] // max(self.size(head), 1)
            rest = [axis for axis in pool if axis not in used]
            for axes in self._of_size(rest, wanted):
                split: Split = head + axes, None
                yield from fill(dimension + 1, (*chosen, split), used | set(axes))

        for found in fill(0, (), frozenset(taken)):
            if found != splits:
                yield Permute(), (found, pending), local

    def _of_size(self, axes: Sequence[int], size: int) -> Iterator[Axes]:
        """Ordered choices of axes along which there are `size` processes."""
        if size == 1:
            yield ()
        for axis in axes:
            extent = self._extents[axis]
            if extent > 1 and size % extent == 0:
                rest = [other for other in axes if other != axis]
                for more in self._of_size(rest, size // extent):
                    yield (axis, *more)


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

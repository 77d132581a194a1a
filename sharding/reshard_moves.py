"""Enumerate the steps that a reshard can take from each state of a tensor.

A dimension with unequal shards moves only as a whole: the shards of 6 elements over 2x2 processes
have 1, 1, 2, 2 elements, and no two neighbours form a half of 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import permutations
from math import prod

from .local_shape import divides
from .reshard_steps import AllGather, AllReduce, AllSlice, AllToAll, Permute, ReduceScatter, Step
from .sharding import Axes, ReductionKind, Split

Pending = tuple[tuple[ReductionKind, int], ...]
"""Pending reductions as (kind, axis), sorted."""
State = tuple[tuple[Split, ...], Pending]
"""A node of the search: a sharding without its grid and halos."""

Move = tuple[Step, State]
"""A step, and the state after it."""

PricedMove = tuple[Step, State, float]
"""A move, and the fraction of the whole tensor that each process sends."""


def is_even(split: Split, size: int | None, extents: Sequence[int], known: bool) -> bool:
    """Return whether a dimension's shards have equal sizes, and so can be divided and joined."""
    axes, offsets = split
    if offsets is not None:
        return False
    return not axes or (known and divides(size, prod(extents[axis] for axis in axes)))


class Moves:
    """The steps from each state, for tensors of one kind; see `moves_of_kind`.

    They are computed when a search first reaches the state, and cached.
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
        """Set up the moves of one kind of tensors.

        The first `kept[d]` axes of dimension `d` stay in place. A split in `uneven` is reached only
        by one slice from the unsplit dimension.
        """
        self._extents = extents
        self._known = known
        self._sizes = sizes
        self._kept = kept
        self._axes = axes
        self._uneven = uneven
        self._evenness: dict[tuple[int, Split], bool] = {}
        self._locals: dict[State, float] = {}
        self._steps: dict[State, list[PricedMove]] = {}

    def size(self, axes: Axes) -> int:
        """Return the number of processes along `axes`."""
        total = 1
        for axis in axes:
            total *= self._extents[axis]
        return total

    def local(self, state: State) -> float:
        """Return the fraction of the tensor that one process holds."""
        found = self._locals.get(state)
        if found is None:
            parts = 1
            for axes, _ in state[0]:
                parts *= self.size(axes)
            found = self._locals[state] = 1 / max(parts, 1)
        return found

    def even(self, dimension: int, split: Split) -> bool:
        """Return whether the shards of a dimension have equal sizes; a cached `is_even`."""
        found = self._evenness.get((dimension, split))
        if found is None:
            found = is_even(split, self._sizes[dimension], self._extents, self._known)
            self._evenness[dimension, split] = found
        return found

    def of(self, state: State) -> list[PricedMove]:
        """Return every move from a state."""
        found = self._steps.get(state)
        if found is None:
            local = self.local(state)
            found = self._steps[state] = [
                (step, after, local * step.ROW.sent(self.size(step.axes)))
                for step, after in self._all(state)
            ]
        return found

    def _all(self, state: State) -> Iterator[Move]:
        splits, pending = state
        used = {axis for axes, _ in splits for axis in axes} | {axis for _, axis in pending}
        free = tuple(axis for axis in self._axes if axis not in used)
        for dimension in range(len(splits)):
            yield from self._slices(state, dimension, free)
            yield from self._gathers(state, dimension)
        yield from self._reductions(state)
        if self._known:
            yield from self._permutations(state)

    def _with(self, state: State, changes: dict[int, Split]) -> State:
        splits = tuple(changes.get(d, split) for d, split in enumerate(state[0]))
        return splits, state[1]

    def _splittable(self, dimension: int, split: Split, axes: Axes) -> bool:
        """Return whether a collective can split a dimension further, into equal shards."""
        return self.even(dimension, split) and self.even(dimension, (split[0] + axes, None))

    def _slices(self, state: State, dimension: int, free: Axes) -> Iterator[Move]:
        split = state[0][dimension]
        for axis in free:
            if self._splittable(dimension, split, (axis,)):
                after: Split = (*split[0], axis), None
                yield AllSlice(dimension, (axis,)), self._with(state, {dimension: after})
        goal = self._uneven[dimension]
        if goal is not None and not split[0] and set(goal[0]) <= set(free):
            yield AllSlice(dimension, goal[0]), self._with(state, {dimension: goal})

    def _gathers(self, state: State, dimension: int) -> Iterator[Move]:
        """Yield moves that remove the last axes of a dimension, or transfer them to another one."""
        split = state[0][dimension]
        axes = split[0]
        for length in range(1, len(axes) - self._kept[dimension] + 1):
            rest, moved = axes[:-length], axes[-length:]
            if rest and not (self.even(dimension, split) and self.even(dimension, (rest, None))):
                continue
            left: Split = rest, None
            yield AllGather(dimension, moved), self._with(state, {dimension: left})
            for other, target in enumerate(state[0]):
                if other != dimension and self._splittable(other, target, moved):
                    right: Split = target[0] + moved, None
                    after = self._with(state, {dimension: left, other: right})
                    yield AllToAll(other, dimension, moved), after

    def _reductions(self, state: State) -> Iterator[Move]:
        splits, pending = state
        kinds: dict[ReductionKind, list[int]] = {}
        for kind, axis in pending:
            kinds.setdefault(kind, []).append(axis)
        for kind, all_axes in kinds.items():
            for length in range(1, len(all_axes) + 1):
                for axes in permutations(all_axes, length):
                    left = tuple(p for p in pending if not (p[0] == kind and p[1] in axes))
                    if list(axes) == sorted(axes):
                        yield AllReduce(kind, axes), (splits, left)
                    for dimension, split in enumerate(splits):
                        if self._splittable(dimension, split, axes):
                            scattered: Split = split[0] + axes, None
                            after = self._with((splits, left), {dimension: scattered})
                            yield ReduceScatter(kind, dimension, axes), after

    def _permutations(self, state: State) -> Iterator[Move]:
        """Yield moves to states with the same shards on other processes."""
        splits, pending = state
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
                yield Permute(), (found, pending)

    def _of_size(self, axes: Sequence[int], size: int) -> Iterator[Axes]:
        """Yield ordered choices of axes along which there are `size` processes."""
        if size == 1:
            yield ()
        for axis in axes:
            extent = self._extents[axis]
            if extent > 1 and size % extent == 0:
                rest = [other for other in axes if other != axis]
                for more in self._of_size(rest, size // extent):
                    yield (axis, *more)


moves_of_kind = lru_cache(maxsize=256)(Moves)
"""Return the shared `Moves` object for these arguments, which are those of `Moves`."""

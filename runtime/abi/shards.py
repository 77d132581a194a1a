"""Split global arrays into the shards of a grid's processes, and join them again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from ...sharding.local_shape import halo, offset_errors, shard_intervals
from ...sharding.sharding import Sharding
from .arrays import Array, shape_text
from .compare import first_difference

Intervals = tuple[tuple[int, int], ...]
"""The (start, end) of a part along each dimension."""

MAX_DEVICES = 4096
"""The largest number of grid devices that can run on one machine."""


def cut(array: Array, sharding: Sharding) -> list[Array]:
    """Return the shard of each process, in process order; contiguous shards are views.

    A program does not write to its arguments, so replicas share one array. Raises ValueError for a
    sharding that does not fit the shape, or that has halos or partial sums.
    """
    check_fits(array.shape, sharding)
    if sharding.halos or sharding.partials:
        raise ValueError(
            f"{sharding} has halos or partial sums, expected a plain part of the array"
        )
    return parts_of(array, sharding, lambda _, intervals: array[slices(intervals)])


def parts_of(
    array: Array,
    sharding: Sharding,
    part: Callable[[int, Intervals], Array],
    is_shared: bool = True,
) -> list[Array]:
    """Return `part(process, intervals)` of each process as a C-contiguous array.

    If `is_shared`, processes with the same part share one array, which may be a view of the global
    array; otherwise each has a copy.
    """
    found: dict[Intervals, Array] = {}
    shards: list[Array] = []
    for process, intervals in enumerate(all_intervals(array.shape, sharding)):
        shard = found.get(intervals) if is_shared else None
        if shard is None:
            own = part(process, intervals)
            shard = found[intervals] = np.array(own, order="C", copy=None if is_shared else True)
        shards.append(shard)
    return shards


def check_fits(shape: Sequence[int], sharding: Sharding) -> None:
    """Raise ValueError if a sharding does not fit a shape."""
    error = offset_errors(shape, sharding)
    if error is not None:
        raise ValueError(error)


@lru_cache(maxsize=4096)
def all_intervals(shape: tuple[int, ...], sharding: Sharding) -> tuple[Intervals, ...]:
    """Return the intervals of each process's shard, without halos."""
    return tuple(
        shard_intervals(shape, sharding, process) for process in range(sharding.grid.device_count())
    )


def slices(intervals: Intervals) -> tuple[slice, ...]:
    """Return the intervals as slices."""
    return tuple(slice(start, end) for start, end in intervals)


def joined(shards: Sequence[Array], sharding: Sharding, shape: Sequence[int]) -> Array:
    """Return the global array of a shape, without the shards' halos.

    An extent of -1 is computed from the shards. Raises ValueError if a shard has a wrong shape, or
    if replicas of a shard differ by more than rounding.
    """
    whole = whole_shape(shards, sharding, shape)
    check_fits(whole, sharding)
    result = np.empty(whole, shards[0].dtype)
    owners: dict[Intervals, int] = {}
    for process, intervals in enumerate(all_intervals(tuple(whole), sharding)):
        shard = shards[process]
        expected = tuple(
            end - start + sum(halo(sharding, dimension))
            for dimension, (start, end) in enumerate(intervals)
        )
        if shard.shape != expected:
            raise ValueError(
                f"device {process} holds a shard of {shape_text(shard.shape)}, but its part of"
                f" {shape_text(whole)} by {sharding} is {shape_text(expected)}"
            )
        core = shard[
            tuple(
                slice(halo(sharding, dimension)[0], halo(sharding, dimension)[0] + end - start)
                for dimension, (start, end) in enumerate(intervals)
            )
        ]
        part = slices(intervals)
        owner = owners.setdefault(intervals, process)
        if owner == process:
            result[part] = core
            continue
        difference = first_difference(core, result[part])
        if difference is not None:
            raise ValueError(
                f"devices {owner} and {process} hold copies of one shard that differ: {difference}"
            )
    return result


def whole_shape(
    shards: Sequence[Array], sharding: Sharding, shape: Sequence[int]
) -> tuple[int, ...]:
    """Return the global shape, with dynamic extents computed from the shards."""
    whole: list[int] = []
    for dimension, extent in enumerate(shape):
        if extent >= 0:
            whole.append(extent)
            continue
        # Sum over the blocks along the dimension: processes at coordinate 0 of all other axes.
        axes = sharding.dimension_axes[dimension]
        total = 0
        for process, shard in enumerate(shards):
            coordinates = sharding.grid.coordinates(process)
            if not any(
                coordinate for axis, coordinate in enumerate(coordinates) if axis not in axes
            ):
                total += shard.shape[dimension] - sum(halo(sharding, dimension))
        whole.append(total)
    return tuple(whole)

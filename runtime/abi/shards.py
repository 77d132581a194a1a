"""Shards of whole arrays on the processes of a grid: cut, and put together again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from ...sharding.local_shape import halo, offset_errors, shard_intervals
from ...sharding.sharding import Sharding
from .arrays import Array, shape_text
from .compare import first_difference

Intervals = tuple[tuple[int, int], ...]
"""Where a part begins and ends along each dimension."""

MAXIMAL_DEVICES = 4096
"""Devices beyond which a grid is too large to be run on one machine."""


def cut(array: Array, sharding: Sharding) -> list[Array]:
    """The shard of every process, in the order of the processes; rows that lie together stay where
    they are.

    A program does not write to tensors that it is given, so copies of a part are one array.
    Raises ValueError for a sharding that does not fit the shape, or asks for more than parts.
    """
    check_fits(array.shape, sharding)
    if sharding.halos or sharding.partials:
        raise ValueError(f"{sharding} is more than a part of the array")
    return parts_of(array, sharding, lambda _, intervals: array[slices(intervals)])


def parts_of(
    array: Array,
    sharding: Sharding,
    part: Callable[[int, Intervals], Array],
    is_shared: bool = True,
) -> list[Array]:
    """What `part` gives for every process and its part, contiguous; if `is_shared`, processes with
    the same part have one array, which may be rows of the whole."""
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
    """Raise ValueError for a sharding that does not fit a shape."""
    error = offset_errors(shape, sharding)
    if error is not None:
        raise ValueError(error)


@lru_cache(maxsize=4096)
def all_intervals(shape: tuple[int, ...], sharding: Sharding) -> tuple[Intervals, ...]:
    """What each process holds of a tensor, without halos."""
    return tuple(
        shard_intervals(shape, sharding, process) for process in range(sharding.grid.device_count())
    )


def slices(intervals: Intervals) -> tuple[slice, ...]:
    """The part of an array."""
    return tuple(slice(start, end) for start, end in intervals)


def joined(shards: Sequence[Array], sharding: Sharding, shape: Sequence[int]) -> Array:
    """The whole array of a shape, of which -1 is taken from the shards, without their halos.

    Raises ValueError where shards have the wrong shape, or where two processes that hold the
    same part do not agree about it.
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
    """The shape of a tensor, of which open sizes are taken from the shards."""
    whole: list[int] = []
    for dimension, extent in enumerate(shape):
        if extent >= 0:
            whole.append(extent)
            continue
        # One process for each block along the dimension: all others at coordinate 0.
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

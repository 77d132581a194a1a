"""Split global arrays into the shards of a grid's processes, and join them again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
    layout = layout_of(array.shape, sharding)
    if sharding.halos or sharding.partials:
        raise ValueError(
            f"{sharding} has halos or partial sums, expected a plain part of the array"
        )
    return layout.parts_of(lambda process: array[layout.parts[process]])


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


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the shards of global arrays of one shape are: what is the same for all calls.

    For each process:
    - `parts`: its part of the global array, without halos;
    - `owners`: the first process with the same part;
    - `shapes`: the shape of its shard, with halos;
    - `cores`: its part in its shard.
    """

    shape: tuple[int, ...]
    sharding: Sharding
    parts: tuple[tuple[slice, ...], ...]
    owners: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    cores: tuple[tuple[slice, ...], ...]

    def parts_of(self, part: Callable[[int], Array], is_shared: bool = True) -> list[Array]:
        """Return `part(process)` of each process as a C-contiguous array.

        If `is_shared`, processes with the same part share one array, which may be a view of the
        global array; otherwise each has a copy.
        """
        shards: list[Array] = []
        for process, owner in enumerate(self.owners):
            if is_shared and owner < process:
                shards.append(shards[owner])
            else:
                shards.append(np.array(part(process), order="C", copy=None if is_shared else True))
        return shards

    def joined(self, shards: Sequence[Array]) -> Array:
        """Return the global array, without the shards' halos.

        Raises ValueError if a shard has a wrong shape, or if replicas of a shard differ by more
        than rounding.
        """
        result = np.empty(self.shape, shards[0].dtype)
        for process, owner in enumerate(self.owners):
            shard = shards[process]
            if shard.shape != self.shapes[process]:
                raise ValueError(
                    f"device {process} holds a shard of {shape_text(shard.shape)}, but its part of"
                    f" {shape_text(self.shape)} by {self.sharding} is"
                    f" {shape_text(self.shapes[process])}"
                )
            core = shard[self.cores[process]]
            if owner == process:
                result[self.parts[process]] = core
                continue
            difference = first_difference(core, result[self.parts[process]])
            if difference is not None:
                raise ValueError(
                    f"devices {owner} and {process} hold copies of one shard that differ:"
                    f" {difference}"
                )
        return result


@lru_cache(maxsize=1024)
def layout_of(shape: tuple[int, ...], sharding: Sharding) -> Layout:
    """Return the layout of arrays of a shape. Raises ValueError if the sharding does not fit it."""
    check_fits(shape, sharding)
    intervals = all_intervals(shape, sharding)
    owners: dict[Intervals, int] = {}
    halos = [halo(sharding, dimension) for dimension in range(len(shape))]
    sizes = [tuple(end - start for start, end in each) for each in intervals]
    return Layout(
        shape,
        sharding,
        parts=tuple(slices(each) for each in intervals),
        owners=tuple(owners.setdefault(each, process) for process, each in enumerate(intervals)),
        shapes=tuple(
            tuple(size + low + high for size, (low, high) in zip(each, halos, strict=True))
            for each in sizes
        ),
        cores=tuple(
            tuple(slice(low, low + size) for size, (low, _) in zip(each, halos, strict=True))
            for each in sizes
        ),
    )


def joined(shards: Sequence[Array], sharding: Sharding, shape: Sequence[int]) -> Array:
    """Return the global array of a shape, without the shards' halos.

    An extent of -1 is computed from the shards. Raises ValueError as `Layout.joined`, and if the
    sharding does not fit.
    """
    return layout_of(whole_shape(shards, sharding, shape), sharding).joined(shards)


def whole_shape(
    shards: Sequence[Array], sharding: Sharding, shape: Sequence[int]
) -> tuple[int, ...]:
    """Return the global shape, with dynamic extents computed from the shards."""
    if min(shape, default=0) >= 0:
        return tuple(shape)
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

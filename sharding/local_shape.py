"""The shard that one process holds: its size and where it lies in the whole tensor.

A dimension of `size` elements split into `parts` shards without explicit offsets gives the first
`parts - size % parts` shards `size // parts` elements and the others one more: the rule of MLIR's
`shard.shard_shape`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .sharding import Sharding


def default_offsets(size: int, parts: int) -> tuple[int, ...]:
    """The `parts + 1` offsets of the shards of a dimension that has no explicit offsets."""
    small, larger = divmod(size, parts)
    first_larger = parts - larger
    return tuple(index * small + max(0, index - first_larger) for index in range(parts + 1))


def interval(size: int, parts: int, index: int) -> tuple[int, int]:
    """[start, end) of shard `index` of a dimension that has no explicit offsets."""
    small, larger = divmod(size, parts)
    first_larger = parts - larger
    start = index * small + max(0, index - first_larger)
    return start, start + small + (index >= first_larger)


def shard_offsets(size: int, sharding: Sharding, dimension: int) -> tuple[int, ...]:
    """The offsets of the shards of a dimension, explicit or default.

    Raises ValueError where the grid's extents are not all known.
    """
    explicit = explicit_offsets(sharding, dimension)
    if explicit is not None:
        return explicit
    parts = sharding.parts(dimension)
    if parts is None:
        raise ValueError(f"the number of shards of dimension {dimension} of {sharding} is unknown")
    return default_offsets(size, parts)


def explicit_offsets(sharding: Sharding, dimension: int) -> tuple[int, ...] | None:
    """The explicit offsets of a dimension, `None` where it is split by the default rule."""
    return sharding.offsets[dimension] if dimension < len(sharding.offsets) else None


def halo(sharding: Sharding, dimension: int) -> tuple[int, int]:
    """The (low, high) border elements that each shard of a dimension holds of its neighbours."""
    return sharding.halos[dimension] if dimension < len(sharding.halos) else (0, 0)


def core_size(size: int | None, sharding: Sharding, dimension: int) -> int | None:
    """The size of every shard of a dimension without its halo, `None` if it varies or is unknown.

    `size` is the whole dimension's, `None` if dynamic.
    """
    if not sharding.dimension_axes[dimension]:
        return size
    explicit = explicit_offsets(sharding, dimension)
    if explicit is not None:
        sizes = {end - start for start, end in pairwise(explicit)}
        return sizes.pop() if len(sizes) == 1 else None
    parts = sharding.parts(dimension)
    if size is None or parts is None or parts == 0 or size % parts:
        return None
    return size // parts


def local_size(size: int | None, sharding: Sharding, dimension: int) -> int | None:
    """The size of every shard of a dimension with its halo, `None` if it varies or is unknown."""
    core = core_size(size, sharding, dimension)
    return None if core is None else core + sum(halo(sharding, dimension))


def local_shape(shape: Sequence[int | None], sharding: Sharding) -> tuple[int | None, ...]:
    """The shape of every shard of a tensor; `None` for dimensions that vary or are dynamic."""
    return tuple(local_size(size, sharding, index) for index, size in enumerate(shape))


def shard_intervals(
    shape: Sequence[int], sharding: Sharding, process: int
) -> tuple[tuple[int, int], ...]:
    """For each dimension the [start, end) that a process holds, without halos.

    Raises ValueError where the grid's extents are not all known.
    """
    coordinates = sharding.grid.coordinates(process)
    result: list[tuple[int, int]] = []
    for dimension, size in enumerate(shape):
        limits = shard_offsets(size, sharding, dimension)
        index = sharding.grid.linear_index(coordinates, sharding.dimension_axes[dimension])
        result.append((limits[index], limits[index + 1]))
    return tuple(result)


def divides(size: int | None, parts: int | None) -> bool:
    """Whether a dimension is known to be cut into shards of one size."""
    return parts == 1 or (
        size is not None and parts is not None and parts > 0 and size % parts == 0
    )


def offset_errors(shape: Sequence[int | None], sharding: Sharding) -> str | None:
    """What is wrong with the sharding of a tensor of this shape, `None` if nothing is."""
    if sharding.rank != len(shape):
        return f"{sharding} has {sharding.rank} dimensions, but the tensor has {len(shape)}"
    for dimension, size in enumerate(shape):
        limits = explicit_offsets(sharding, dimension)
        if limits is None:
            continue
        parts = sharding.parts(dimension)
        if parts is not None and len(limits) != parts + 1:
            return (
                f"dimension {dimension} has {parts} shards, so {parts + 1} offsets,"
                f" but {len(limits)} are given: {list(limits)}"
            )
        if limits[0] != 0 or (size is not None and limits[-1] != size):
            return (
                f"the offsets of dimension {dimension} must go from 0 to its size {size},"
                f" but are {list(limits)}"
            )
        if any(end < start for start, end in pairwise(limits)):
            return f"the offsets of dimension {dimension} decrease: {list(limits)}"
    for dimension in range(len(shape)):
        low, high = halo(sharding, dimension)
        if min(low, high) < 0:
            return f"the halo of dimension {dimension} is negative: {[low, high]}"
    return None

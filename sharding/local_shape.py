"""Compute the shard of one process: its size and its position in the whole tensor.

Without explicit offsets, a dimension of `size` elements in `parts` shards gives the first `parts -
size % parts` shards `size // parts` elements, and the others one more. This is the rule of MLIR's
`shard.shard_shape`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from .sharding import Sharding


def default_offsets(size: int, parts: int) -> tuple[int, ...]:
    """Return the `parts + 1` offsets of the shards of a dimension without explicit offsets."""
    return tuple(_default_start(size, parts, index) for index in range(parts + 1))


def interval(size: int, parts: int, index: int) -> tuple[int, int]:
    """Return [start, end) of shard `index` of a dimension without explicit offsets."""
    return _default_start(size, parts, index), _default_start(size, parts, index + 1)


def _default_start(size: int, parts: int, index: int) -> int:
    small, larger = divmod(size, parts)
    return index * small + max(0, index - (parts - larger))


def shard_offsets(size: int, sharding: Sharding, dimension: int) -> tuple[int, ...]:
    """Return the offsets of the shards of a dimension, explicit or default.

    Raises ValueError if offsets are not explicit and the number of shards is unknown.
    """
    explicit = explicit_offsets(sharding, dimension)
    if explicit is not None:
        return explicit
    parts = sharding.parts(dimension)
    if parts is None:
        raise ValueError(f"the number of shards of dimension {dimension} of {sharding} is unknown")
    return default_offsets(size, parts)


def explicit_offsets(sharding: Sharding, dimension: int) -> tuple[int, ...] | None:
    """Return the explicit offsets of a dimension; `None` if it has the default split."""
    return sharding.offsets[dimension] if dimension < len(sharding.offsets) else None


def halo(sharding: Sharding, dimension: int) -> tuple[int, int]:
    """Return the (low, high) widths of the halo that each shard of a dimension holds."""
    return sharding.halos[dimension] if dimension < len(sharding.halos) else (0, 0)


def common_size(sizes: Iterable[int | None]) -> int | None:
    """Return the size that all shards have; `None` if they differ."""
    found = set(sizes)
    return found.pop() if len(found) == 1 else None


def core_size(size: int | None, sharding: Sharding, dimension: int) -> int | None:
    """Return the size of every shard without its halo; `None` if it varies or is unknown.

    `size` is that of the whole dimension, `None` if dynamic.
    """
    if not sharding.dimension_axes[dimension]:
        return size
    explicit = explicit_offsets(sharding, dimension)
    if explicit is not None:
        return common_size(end - start for start, end in pairwise(explicit))
    parts = sharding.parts(dimension)
    if size is None or parts is None or parts == 0 or size % parts:
        return None
    return size // parts


def local_extent(size: int | None, sharding: Sharding, dimension: int) -> int | None:
    """Return the size of every shard with its halo; `None` if it varies or is unknown."""
    core = core_size(size, sharding, dimension)
    return None if core is None else core + sum(halo(sharding, dimension))


def local_shape(shape: Sequence[int | None], sharding: Sharding) -> tuple[int | None, ...]:
    """Return the shape of every shard of a tensor; `None` for sizes that vary or are unknown."""
    return tuple(local_extent(size, sharding, index) for index, size in enumerate(shape))


def shard_intervals(
    shape: Sequence[int], sharding: Sharding, process: int
) -> tuple[tuple[int, int], ...]:
    """Return for each dimension the [start, end) that a process holds, without halos.

    Raises ValueError if an extent of the grid is unknown.
    """
    coordinates = sharding.grid.coordinates(process)
    result: list[tuple[int, int]] = []
    for dimension, size in enumerate(shape):
        limits = shard_offsets(size, sharding, dimension)
        index = sharding.grid.linear_index(coordinates, sharding.dimension_axes[dimension])
        result.append((limits[index], limits[index + 1]))
    return tuple(result)


def divides(size: int | None, parts: int | None) -> bool:
    """Return whether a dimension is known to be split into shards of equal size."""
    return parts == 1 or (
        size is not None and parts is not None and parts > 0 and size % parts == 0
    )


def offset_errors(shape: Sequence[int | None], sharding: Sharding) -> str | None:
    """Return the error in the sharding of a tensor of this shape; `None` if it is valid.

    It checks the rank, explicit offsets and halos.
    """
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

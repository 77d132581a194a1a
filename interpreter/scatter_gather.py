"""Scatter a global tensor to the devices of a grid by its sharding, and gather it back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ..runtime.abi.arrays import Array
from ..runtime.abi.shards import Layout, all_intervals, layout_of, whole_shape
from ..runtime.abi.values import element_type, from_integer, integer_width, undefined
from ..sharding.local_shape import halo
from ..sharding.sharding import ReductionKind, Sharding
from .collectives import reduced


def scatter(array: Array, sharding: Sharding, value_type: Attribute) -> list[Array]:
    """Return the shard of every process, in the order of the processes.

    Halos hold the neighbours' elements; outer halos are undefined. For a pending reduction the
    first process of a group holds the value and the others a neutral term. Raises ValueError for a
    sharding that does not fit the shape.
    """
    layout = layout_of(array.shape, sharding)
    # A program does not write to its tensor arguments: replicas can share one array, and contiguous
    # rows need not be copied.
    is_shared = value_type.name == TensorType.name and not sharding.partials

    return layout.parts_of(lambda process: _part(array, layout, process, value_type), is_shared)


def _part(array: Array, layout: Layout, process: int, value_type: Attribute) -> Array:
    """Return the shard of a process: a view of the array if there are no halos and no partials."""
    shard, sharding = array[layout.parts[process]], layout.sharding
    if sharding.halos:
        intervals = all_intervals(layout.shape, sharding)[process]
        shard = _with_halos(array, sharding, intervals, value_type)
    if not sharding.partials:
        return shard
    coordinates = sharding.grid.coordinates(process)
    for partial in sharding.partials:
        if any(coordinates[axis] for axis in partial.axes):
            shard = _neutral(shard, partial.kind, value_type)
    return shard


def _with_halos(
    array: Array,
    sharding: Sharding,
    intervals: Sequence[tuple[int, int]],
    value_type: Attribute,
) -> Array:
    source: list[slice] = []
    target: list[slice] = []
    shape: list[int] = []
    for dimension, (start, end) in enumerate(intervals):
        low, high = halo(sharding, dimension)
        first, last = max(start - low, 0), min(end + high, array.shape[dimension])
        source.append(slice(first, last))
        target.append(slice(first - (start - low), last - (start - low)))
        shape.append(end - start + low + high)
    result = undefined(tuple(shape), value_type)
    result[tuple(target)] = array[tuple(source)]
    return result


def _neutral(shard: Array, kind: ReductionKind, value_type: Attribute) -> Array:
    """Return a term that does not change a reduction: `shard` for a maximum, -0.0 for a sum.

    Raises ValueError if there is none.
    """
    if kind in (ReductionKind.SUM, ReductionKind.BITWISE_OR, ReductionKind.BITWISE_XOR):
        zeros = np.zeros_like(shard)
        return zeros if integer_width(value_type) is not None else np.negative(zeros)
    if kind is ReductionKind.PRODUCT:
        return np.ones_like(shard)
    if kind in (ReductionKind.AVERAGE, ReductionKind.MAX, ReductionKind.MIN):
        return shard
    if kind is ReductionKind.BITWISE_AND and integer_width(value_type) is not None:
        return np.full_like(shard, from_integer(-1, element_type(value_type)))
    raise ValueError(f"there is no neutral element of the reduction '{kind}'")


def gather(
    shards: Sequence[Array], sharding: Sharding, shape: Sequence[int], value_type: Attribute
) -> Array:
    """Return the global tensor. Extents of -1 in `shape` are taken from the shards.

    Raises ValueError if a shard has the wrong shape, or two processes hold different copies of the
    same part.
    """
    layout = layout_of(whole_shape(shards, sharding, shape), sharding)
    return layout.joined(_without_partials(shards, sharding, value_type))


def _without_partials(
    shards: Sequence[Array], sharding: Sharding, value_type: Attribute
) -> Sequence[Array]:
    if not sharding.partials:
        return shards
    result = list(shards)
    for partial in sharding.partials:
        groups: dict[tuple[int, ...], list[int]] = {}
        for process in range(len(result)):
            coordinates = sharding.grid.coordinates(process)
            rest = tuple(
                -1 if axis in partial.axes else coordinate
                for axis, coordinate in enumerate(coordinates)
            )
            groups.setdefault(rest, []).append(process)
        for members in groups.values():
            total = reduced([result[member] for member in members], partial.kind, value_type)
            for member in members:
                result[member] = total
    return result

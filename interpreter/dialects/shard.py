"""Execute the `shard` dialect: positions of processes on the grid, and collectives.

Annotations (`shard.shard`) are identities: they determine where a value is placed, not its
elements. Undefined results (of a gather off its root, of a shift without a source) are filled with
`values.undefined`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation

from ...ir.attribute_access import (
    attribute,
    integer,
    integer_lists,
    mixed,
    operand_groups,
    operation_name,
)
from ...ir.diagnostics import OperationError
from ...runtime.abi.arrays import Array, Value
from ...runtime.abi.values import undefined
from ...sharding.collective_matching import RECEIVE, SEND
from ...sharding.collective_rows import COLLECTIVES, SHIFT, UPDATE_HALO
from ...sharding.grid import Grid
from ...sharding.local_shape import interval
from ...sharding.sharding import Axes
from .. import collectives
from ..collective_signatures import collective_signature, message_signature, reduction_kind
from ..frames import Frame
from ..process_groups import GridGroup, axes_on, halo_exchanges, resolve_grid, running_grid
from ..registry import Results, Routine, impl, impl_with_regions
from ..spmd import Combine, Receive, Rendezvous, Send


@dataclass(frozen=True, slots=True)
class ShardingValue:
    """The runtime value of `!shard.sharding`.

    Halos and offsets are flat lists, as in the operation.
    """

    grid: Grid
    split_axes: tuple[Axes, ...]
    halos: tuple[int, ...]
    offsets: tuple[int, ...]


# --------------------------------------------------------------------------------------------
# The grid and the process


@impl("shard.grid_shape")
def _grid_shape(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    grid = resolve_grid(op, frame.process)
    axes = axes_on(op, grid, "axes") or tuple(range(grid.rank))
    extents = [grid.shape[axis] for axis in axes]
    if None in extents:
        raise OperationError(op, f"queries an extent of @{grid.name}, which is unknown in this run")
    return [np.int64(extent or 0) for extent in extents]


@impl("shard.process_multi_index")
def _process_multi_index(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    grid = running_grid(op, frame.process)
    coordinates = grid.coordinates(frame.process.index)
    axes = axes_on(op, grid, "axes") or tuple(range(grid.rank))
    return [np.int64(coordinates[axis]) for axis in axes]


@impl("shard.process_linear_index")
def _process_linear_index(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    running_grid(op, frame.process)
    return (np.int64(frame.process.index),)


@impl("shard.neighbors_linear_indices")
def _neighbors(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    grid = resolve_grid(op, frame.process)
    coordinates = [int(operand) for operand in operands]
    if len(coordinates) != grid.rank:
        raise OperationError(
            op, f"has {len(coordinates)} coordinates on a grid of rank {grid.rank}"
        )
    axes = axes_on(op, grid, "split_axes")
    here = grid.linear_index(coordinates, axes)
    numbers: list[int] = []
    for index in (here - 1, here + 1):
        if not 0 <= index < (grid.size(axes) or 0):
            numbers.append(-1)
            continue
        other = list(coordinates)
        for axis, coordinate in zip(axes, grid.coordinates_along(axes, index), strict=True):
            other[axis] = coordinate
        numbers.append(grid.linear_index(other, range(grid.rank)))
    return [np.int64(number) for number in numbers]


# --------------------------------------------------------------------------------------------
# Annotations


@impl("shard.get_sharding")
def _opaque_sharding(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    # The annotation that produces a value has its sharding as an operand.
    source = op.operands[0].owner if op.operands else None
    if isinstance(source, Operation) and source.name == "shard.shard":
        return (frame.values.get(source.operands[1]),)
    return (None,)


@impl("shard.sharding")
def _sharding(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    offsets, halos = operand_groups(op, operands)
    return (
        ShardingValue(
            resolve_grid(op, frame.process),
            integer_lists(op, "split_axes"),
            mixed(op, "static_halo_sizes", halos),
            mixed(op, "static_sharded_dims_offsets", offsets),
        ),
    )


@impl("shard.shard_shape")
def _shard_shape(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    sizes, (sharding,), coordinates = operand_groups(op, operands)
    dims, device = mixed(op, "dims", sizes), mixed(op, "device", coordinates)
    if not isinstance(sharding, ShardingValue):
        raise OperationError(op, "needs a sharding whose definition is known")
    grid = sharding.grid
    if len(device) != grid.rank:
        raise OperationError(op, f"has {len(device)} coordinates on a grid of rank {grid.rank}")
    results: list[int] = []
    offset = 0
    halo = 0
    for dimension, size in enumerate(dims):
        axes = sharding.split_axes[dimension] if dimension < len(sharding.split_axes) else ()
        if not axes:
            results.append(size)
            continue
        parts, index = grid.size(axes) or 1, grid.linear_index(device, axes)
        if sharding.offsets:
            start, end = sharding.offsets[offset + index : offset + index + 2]
            offset += parts + 1
        else:
            start, end = interval(size, parts, index)
        low, high = sharding.halos[halo : halo + 2] or (0, 0)
        halo += 2
        results.append(end - start + low + high)
    return [np.int64(extent) for extent in results]


# --------------------------------------------------------------------------------------------
# Collectives

_MEETINGS = tuple(
    name
    for name, row in COLLECTIVES.items()
    if not row.is_message and not row.is_local and row not in (SHIFT, UPDATE_HALO)
)
"""Collectives that are fully described by their table rows: the whole group meets once."""


def _meet(
    op: Operation,
    frame: Frame,
    payload: Value,
    combine: Combine,
    **numbers: Sequence[int],
) -> Routine:
    """Contribute a value to the group and return what `combine` gives this device.

    `numbers` are parameters of the signature.
    """
    processes = GridGroup.of(op, frame.process).processes
    signature = collective_signature(op, processes, np.shape(payload), **numbers)
    return (yield Rendezvous(op, signature, payload, _located(op, combine)))


def _located(op: Operation, combine: Combine) -> Combine:
    """Wrap `combine` to raise errors at the operation."""

    def combined(arrays: Sequence[Value]) -> Sequence[Value]:
        try:
            return combine(arrays)
        except ValueError as error:
            raise OperationError(op, str(error)) from error

    return combined


def _reduced(op: Operation, arrays: Sequence[Value]) -> Array:
    """Reduce the contributions, converted to the result's element type."""
    kind, source, target = reduction_kind(op), op.operands[0].type, op.results[0].type
    wide = [collectives.converted(np.asarray(a), source, target) for a in arrays]
    return collectives.reduced(wide, kind, target)


def _received(op: Operation, root: int, arrays: Sequence[Value]) -> Sequence[Value]:
    """Return the results of all devices of a group for their contributions."""
    row, count = COLLECTIVES[operation_name(op)], len(arrays)
    if row.divides and row.joins:
        return collectives.all_to_all(arrays, integer(op, row.divides), integer(op, row.joins))
    if row.reduces:
        whole = _reduced(op, arrays)
    elif row.joins:
        whole = collectives.joined(arrays, integer(op, row.joins))
    else:
        whole = np.asarray(arrays[root])
    if row.divides:
        return collectives.pieces(whole, integer(op, row.divides), count)
    if row.is_rooted and (row.reduces or row.joins):
        # Only the root gets the result; the others get undefined contents of the same shape.
        unknown = undefined(whole.shape, op.results[0].type)
        return [whole if position == root else unknown for position in range(count)]
    return [whole] * count


@impl_with_regions(*_MEETINGS)
def _collective(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    root, numbers = 0, dict[str, Sequence[int]]()
    if COLLECTIVES[operation_name(op)].is_rooted:
        root = GridGroup.of(op, frame.process).position("root", operands[1:])
        numbers = {"root": mixed(op, "root", operands[1:])}
    result = yield _meet(op, frame, operands[0], partial(_received, op, root), **numbers)
    if isinstance(op.results[0].type, MemRefType):
        result = np.array(result)
    return (result,)


@impl(*(name for name, row in COLLECTIVES.items() if row.is_local))
def _local_slice(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    members = GridGroup.of(op, frame.process).members
    parts = _located(op, partial(_received, op, 0))([operands[0]] * members.size)
    return (parts[members.index],)


# --------------------------------------------------------------------------------------------
# Messages


@impl_with_regions("shard.send")
def _send(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    group = GridGroup.of(op, frame.process)
    to = group.processes[group.position("destination", operands[1:])]
    signature = message_signature(op, SEND, [to], np.shape(operands[0]))
    yield Send(op, signature, operands[0], _no_meeting)
    return (operands[0],)


@impl_with_regions("shard.recv")
def _recv(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    group = GridGroup.of(op, frame.process)
    senders = group.processes
    if attribute(op, "source") is not None:
        senders = (senders[group.position("source", operands[1:])],)
    signature = message_signature(op, RECEIVE, senders, np.shape(operands[0]))
    result = yield Receive(op, signature, operands[0], _no_meeting)
    return (result,)


def _no_meeting(brought: Sequence[Value]) -> Sequence[Value]:
    """Placeholder for `combine`: messages are not combined."""
    return brought


# --------------------------------------------------------------------------------------------
# Neighbours


@impl_with_regions("shard.shift")
def _shift(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    group, offset = GridGroup.of(op, frame.process), integer(op, "offset")

    def combine(arrays: Sequence[Value]) -> list[Value]:
        sources = [group.shifted(position, -offset) for position in range(len(arrays))]
        return [
            undefined(np.shape(own), op.results[0].type) if source is None else arrays[source]
            for own, source in zip(arrays, sources, strict=True)
        ]

    return ((yield _meet(op, frame, operands[0], combine)),)


@impl_with_regions("shard.update_halo")
def _update_halo(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    target, *dynamic = operands
    result = np.array(target)
    for each in halo_exchanges(op, dynamic):
        dimension, halos = each.dimension, (each.low, each.high)
        group = GridGroup.of(op, frame.process, each.axes)
        signature = collective_signature(
            op, group.processes, result.shape, dimension=(dimension,), halo_sizes=halos
        )
        combine = _halo_exchange(dimension, *halos)
        result = yield Rendezvous(op, signature, result, _located(op, combine))
    if isinstance(op.operands[0].type, MemRefType):
        target[...] = result
        return (target,)
    return (result,)


def _halo_exchange(dimension: int, low: int, high: int) -> Combine:
    return lambda arrays: collectives.exchanged_halos(arrays, dimension, low, high)

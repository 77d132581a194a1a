"""The bytes that one device sends in a collective, by ring algorithms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from ....dialects.shard.attributes import AxesArrayAttr
from ....dialects.shard.boundary import enclosing_grid
from ....dialects.shard.checks import halo_pairs
from ....ir.attribute_access import attribute, integers
from ....ir.tensor_types import element_bytes, ranked, static_shape_or_none
from ....sharding.collective_rows import COLLECTIVES, UPDATE_HALO
from ....sharding.sharding import Axes
from ..annotations.access import axes_of, grid_name

Shapes = Callable[..., Sequence[int] | None]
"""Return the shape of a value on the last process or, along given grid axes, on the first one."""


def bytes_sent(operation: Operation) -> float | None:
    """Return the bytes that each device sends in a collective; `None` if sizes are unknown."""

    def shape(value: SSAValue, first_along: Sequence[int] = ()) -> Sequence[int] | None:
        return static_shape_or_none(value)

    return sent_bytes(operation, shape)


def collective_axes(operation: Operation) -> Sequence[int]:
    """Return the grid axes along which a collective communicates."""
    if operation.name == UPDATE_HALO.operation:
        return tuple(axis for axes in _split_axes(operation) for axis in axes)
    return axes_of(operation)


def _split_axes(operation: Operation) -> tuple[Axes, ...]:
    """Return the axes along which the halos of each dimension are updated."""
    return cast(AxesArrayAttr, attribute(operation, "split_axes")).lists()


def sent_bytes(operation: Operation, shape_of: Shapes) -> float | None:
    """Return the bytes that a device sends in a collective; `None` if unknown."""
    source = operation.operands[0]
    if operation.name == UPDATE_HALO.operation:
        return _halo_bytes(operation, shape_of)
    grid = enclosing_grid(operation, grid_name(operation))
    group = None if grid is None else grid.size(collective_axes(operation))
    shape = shape_of(source)
    if group is None or shape is None:
        return None
    size = prod(shape) * element_bytes(source)
    row = COLLECTIVES[operation.name]
    if row.joins and not row.divides:
        whole, first = shape_of(operation.results[0]), shape_of(source, collective_axes(operation))
        if whole is not None and first is not None:
            # In a ring, a process passes on all pieces but that of its successor, the first
            # process.
            return float((prod(whole) - prod(first)) * element_bytes(source))
    return size * row.sent(group)


def _halo_bytes(operation: Operation, shape_of: Shapes) -> float | None:
    """Return the bytes of a halo exchange: in each dimension both halos are sent."""
    source = operation.operands[0]
    value_type, widths = ranked(source), integers(operation, "static_halo_sizes")
    if value_type is None or min(widths, default=0) < 0:
        return None
    shape = shape_of(source) or value_type.get_shape()
    sent = 0
    for dimension, low, high in halo_pairs(_split_axes(operation), widths):
        others = [size for index, size in enumerate(shape) if index != dimension]
        if DYNAMIC_INDEX in others and low + high:
            return None
        sent += prod(others) * (low + high) * element_bytes(source)
    return float(sent)

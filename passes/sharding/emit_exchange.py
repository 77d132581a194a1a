"""The rounds of an exchange of pieces, as sends and receives of the `shard` dialect."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from ...dialects.shard.dialect import RecvOp, SendOp
from ...ir.tensor_types import shape_of
from ...sharding.grid import Grid
from ...sharding.pieces import Exchange, Round
from ...sharding.sharding import Axes
from .emitter import Emitter, Size
from .local_types import with_shape


def emit_exchange(
    emitter: Emitter,
    value: SSAValue,
    tensor_type: TensorType[Attribute],
    dimension: int,
    grid: Grid,
    axes: Axes,
    exchange: Exchange,
) -> SSAValue:
    """Each process's section of a dimension that is split along `axes`.

    `value` is its shard, and `tensor_type` that of it.
    """
    shape = shape_of(tensor_type)
    sizes = [emitter.dimension(value, each) for each in range(len(shape))]
    position = emitter.position(grid, axes)
    received = [
        _swap(emitter, value, tensor_type, dimension, grid, axes, each) for each in exchange.rounds
    ]
    if len(received) == 1 and _is_all(exchange):
        return received[0]
    lengths = [
        sum(lengths)
        for lengths in zip(
            exchange.own.lengths, *(each.part.lengths for each in exchange.rounds), strict=True
        )
    ]
    sizes[dimension] = emitter.element(lengths, position)
    section = emitter.empty(_with_extent(tensor_type, dimension, lengths), sizes)
    parts = [(value, exchange.own)]
    parts += zip(received, (each.part for each in exchange.rounds), strict=True)
    for source, part in parts:
        if not any(part.lengths):
            continue
        offsets: list[Size] = [0] * len(shape)
        offsets[dimension] = emitter.element(part.first, position)
        extents = list(sizes)
        extents[dimension] = emitter.element(part.lengths, position)
        kind = _with_extent(tensor_type, dimension, part.lengths)
        piece = emitter.slice(source, offsets, extents, kind)
        offsets[dimension] = emitter.element(part.places, position)
        section = emitter.insert(piece, section, offsets, extents)
    return section


def _is_all(exchange: Exchange) -> bool:
    """Whether what is received in the only round is the section of every process."""
    (only,) = exchange.rounds
    return (
        not any(exchange.own.lengths)
        and set(only.part.lengths) == {only.width}
        and set(only.part.first) == {0}
    )


def _with_extent(
    tensor_type: TensorType[Attribute], dimension: int, lengths: Sequence[int]
) -> TensorType[Attribute]:
    """The type with an extent that differs from process to process, or does not."""
    shape = list(shape_of(tensor_type))
    shape[dimension] = lengths[0] if len(set(lengths)) == 1 else None
    return with_shape(tensor_type, shape)


def _swap(
    emitter: Emitter,
    value: SSAValue,
    tensor_type: TensorType[Attribute],
    dimension: int,
    grid: Grid,
    axes: Axes,
    each: Round,
) -> SSAValue:
    """Send a piece of the shard, and receive one."""
    position = emitter.position(grid, axes)
    rank = len(shape_of(tensor_type))
    offsets: list[Size] = [0] * rank
    offsets[dimension] = emitter.element(each.sent, position)
    sizes = [emitter.dimension(value, d) for d in range(rank)]
    sizes[dimension] = each.width
    piece = emitter.slice(value, offsets, sizes, _with_extent(tensor_type, dimension, [each.width]))
    send_to = _coordinates(emitter, grid, axes, each.receivers, position)
    receive_from = _coordinates(emitter, grid, axes, each.senders, position)
    sent = emitter.help(SendOp(piece, grid.name, axes, send_to))
    return emitter.help(RecvOp(sent, grid.name, axes, receive_from))


def _coordinates(
    emitter: Emitter, grid: Grid, axes: Axes, positions: Sequence[int], at: Size
) -> list[Size]:
    """The coordinates along some axes of the process at `positions[at]` among those along them."""
    coordinates = [grid.coordinates_along(axes, position) for position in positions]
    return [emitter.element(column, at) for column in zip(*coordinates, strict=True)]

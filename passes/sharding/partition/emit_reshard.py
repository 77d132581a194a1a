"""Emit reshard plans and exchanges as operations of the `shard` dialect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ....dialects.shard.collectives import (
    AllGatherOp,
    AllReduceOp,
    AllSliceOp,
    AllToAllOp,
    RecvOp,
    ReduceScatterOp,
    SendOp,
    UpdateHaloOp,
)
from ....ir.index import IndexOrInt
from ....ir.tensor_types import shape_of
from ....sharding.grid import Grid
from ....sharding.local_shape import common_size, divides, explicit_offsets, halo
from ....sharding.reshard import permuted_axes, plan_reshard
from ....sharding.reshard_steps import (
    AllGather,
    AllReduce,
    AllSlice,
    AllToAll,
    ExchangeHalo,
    Permute,
    PlannedStep,
    ReduceScatter,
    TrimHalo,
)
from ....sharding.sharding import Axes, Sharding
from ....sharding.slice_exchange import Round, SliceExchange
from .emitter import Emitter
from .local_types import local_type, tensor_type_of, with_shape

GlobalSize = Callable[[int], IndexOrInt]
"""Return the size of a dimension of the whole tensor; this may emit a collective."""


def emit_reshard(
    emitter: Emitter,
    value: SSAValue,
    tensor_type: TensorType[Attribute],
    size: GlobalSize,
    source: Sharding,
    target: Sharding,
) -> SSAValue:
    """Emit the resharding of a value that is a shard of a tensor of `tensor_type`.

    Raises ValueError as `plan_reshard` does.
    """
    for planned in plan_reshard(shape_of(tensor_type), source, target).steps:
        value = _emit_step(emitter, value, tensor_type, size, _named(emitter, source.grid, planned))
    return value


def _named(emitter: Emitter, coarse: Grid, planned: PlannedStep) -> PlannedStep:
    """Return the step with the name that a finer grid has in the program."""
    if planned.before.grid == coarse:
        return planned
    fine = emitter.finer_grid(coarse, planned.before.grid)
    return PlannedStep(
        planned.step, replace(planned.before, grid=fine), replace(planned.after, grid=fine)
    )


def shard_interval(
    emitter: Emitter, size: IndexOrInt, sharding: Sharding, dimension: int
) -> tuple[IndexOrInt, IndexOrInt]:
    """Emit the start and the length of this process's shard of a dimension, without halos."""
    axes = sharding.dimension_axes[dimension]
    if not axes:
        return 0, size
    grid = sharding.grid
    position = emitter.position(grid, axes)
    limits = explicit_offsets(sharding, dimension)
    if limits is not None:
        start = emitter.element(limits[:-1], position)
        lengths = [end - begin for begin, end in pairwise(limits)]
        return start, emitter.element(lengths, position)
    parts = emitter.parts(grid, axes)
    small = emitter.divide(size, parts)
    larger = emitter.remainder(size, parts)
    if isinstance(larger, int) and larger == 0:
        return emitter.multiply(position, small), small
    # The first `parts - larger` shards have `small` elements, the others one more.
    first_larger = emitter.subtract(parts, larger)
    before = emitter.maximum(emitter.subtract(position, first_larger), 0)
    after = emitter.maximum(emitter.subtract(emitter.add(position, 1), first_larger), 0)
    start = emitter.add(emitter.multiply(position, small), before)
    return start, emitter.add(small, emitter.subtract(after, before))


def _emit_step(
    emitter: Emitter,
    value: SSAValue,
    tensor_type: TensorType[Attribute],
    size: GlobalSize,
    planned: PlannedStep,
) -> SSAValue:
    before, after = planned.before, planned.after
    result = local_type(tensor_type, after)
    name = before.grid.name
    match planned.step:
        case AllSlice(dimension, axes):
            return _slice(emitter, value, result, size, after, dimension, axes)
        case AllGather(dimension, axes):
            found = _grown(result, before, tensor_type, dimension)
            gathered = emitter.insert(AllGatherOp(value, name, axes, found, gather_axis=dimension))
            return emitter.cast(gathered, result)
        case AllToAll(split, concat, axes):
            found = _grown(result, before, tensor_type, concat)
            moved = emitter.insert(
                AllToAllOp(value, name, axes, found, split_axis=split, concat_axis=concat)
            )
            return emitter.cast(moved, result)
        case AllReduce(kind, axes):
            return emitter.insert(AllReduceOp(value, name, axes, reduction=kind))
        case ReduceScatter(kind, dimension, axes):
            return emitter.insert(
                ReduceScatterOp(value, name, axes, result, reduction=kind, scatter_axis=dimension)
            )
        case Permute():
            return _permute(emitter, value, before, after)
        case TrimHalo():
            lows = [halo(before, d)[0] for d in range(before.rank)]
            sizes = [
                emitter.subtract(emitter.dimension(value, d), sum(halo(before, d)))
                for d in range(before.rank)
            ]
            return emitter.slice(value, lows, sizes, result)
        case ExchangeHalo():
            return exchange_halo(emitter, value, after, result)


def _grown(
    result: TensorType[Attribute],
    before: Sharding,
    tensor_type: TensorType[Attribute],
    dimension: int,
) -> TensorType[Attribute]:
    """Return the result type of a collective; a dimension joined from unequal pieces is dynamic."""
    shape = list(shape_of(result))
    if shape_of(local_type(tensor_type, before))[dimension] is None:
        shape[dimension] = None
    return with_shape(result, shape)


def _slice(
    emitter: Emitter,
    value: SSAValue,
    result: TensorType[Attribute],
    size: GlobalSize,
    after: Sharding,
    dimension: int,
    axes: Axes,
) -> SSAValue:
    whole = shape_of(result)[dimension] is not None
    even = explicit_offsets(after, dimension) is None and whole
    if even and divides(_static(emitter.dimension(value, dimension)), after.grid.size(axes)):
        return emitter.insert(
            AllSliceOp(value, after.grid.name, axes, result, slice_axis=dimension)
        )
    rank = len(result.get_shape())
    offsets: list[IndexOrInt] = [0] * rank
    sizes = [emitter.dimension(value, d) for d in range(rank)]
    offsets[dimension], sizes[dimension] = shard_interval(
        emitter, size(dimension), after, dimension
    )
    return emitter.slice(value, offsets, sizes, result)


def _static(size: IndexOrInt) -> int | None:
    return size if isinstance(size, int) else None


def _permute(emitter: Emitter, value: SSAValue, before: Sharding, after: Sharding) -> SSAValue:
    """Send the shard to the process that holds it afterwards, and receive the new one."""
    grid = before.grid
    pairs = [(old, new) for old, new in permuted_axes(before, after) if old != new]
    axes = tuple(sorted({axis for old, new in pairs for axis in (*old, *new)}))
    send_to = _coordinates(emitter, before, [(new, old) for old, new in pairs])
    receive_from = _coordinates(emitter, before, pairs)
    sent = emitter.insert(
        SendOp(value, grid.name, axes, destination=[send_to[axis] for axis in axes])
    )
    return emitter.insert(
        RecvOp(sent, grid.name, axes, source=[receive_from[axis] for axis in axes])
    )


def _coordinates(
    emitter: Emitter, sharding: Sharding, pairs: Sequence[tuple[Axes, Axes]]
) -> dict[int, IndexOrInt]:
    """Return coordinates along `theirs` of the process at this process's position along `ours`."""
    grid = sharding.grid
    found: dict[int, IndexOrInt] = {}
    for theirs, ours in pairs:
        if [grid.shape[axis] for axis in theirs] == [grid.shape[axis] for axis in ours]:
            for their, our in zip(theirs, ours, strict=True):
                found[their] = emitter.coordinate(grid, our)
            continue
        position = emitter.position(grid, ours)
        for axis in reversed(theirs):
            extent = emitter.extent(grid, axis)
            found[axis] = emitter.remainder(position, extent)
            position = emitter.divide(position, extent)
    return found


def exchange_halo(
    emitter: Emitter, value: SSAValue, after: Sharding, result: TensorType[Attribute]
) -> SSAValue:
    """Surround a shard by halos from its neighbours, as wide as the sharding says.

    Halos without a neighbour are left uninitialised.
    """
    rank = after.rank
    lows: list[IndexOrInt] = [halo(after, d)[0] for d in range(rank)]
    core = [emitter.dimension(value, d) for d in range(rank)]
    sizes = [emitter.add(core[d], sum(halo(after, d))) for d in range(rank)]
    buffer = emitter.empty(result, sizes)
    filled = emitter.insert_slice(value, buffer, lows, core)
    halos = [
        width
        for dimension, axes in enumerate(after.dimension_axes)
        if axes
        for width in halo(after, dimension)
    ]
    return emitter.insert(UpdateHaloOp(filled, after.grid.name, after.dimension_axes, halos))


def emit_exchange(
    emitter: Emitter,
    value: SSAValue,
    dimension: int,
    grid: Grid,
    axes: Axes,
    exchange: SliceExchange,
) -> SSAValue:
    """Return this process's section of a dimension that is split along `axes`, given its shard."""
    tensor_type = tensor_type_of(value)
    shape = shape_of(tensor_type)
    sizes = [emitter.dimension(value, each) for each in range(len(shape))]
    position = emitter.position(grid, axes)
    received = [
        _exchange_round(emitter, value, dimension, grid, axes, each) for each in exchange.rounds
    ]
    if len(received) == 1 and _receives_all(exchange):
        return received[0]
    copies = [(value, copy) for copy in exchange.own]
    copies += zip(received, (each.copy for each in exchange.rounds), strict=True)
    lengths = [sum(each) for each in zip(*(copy.lengths for _, copy in copies), strict=True)]
    sizes[dimension] = emitter.element(lengths, position)
    section = emitter.empty(_with_extent(tensor_type, dimension, lengths), sizes)
    for source, copy in copies:
        if not any(copy.lengths):
            continue
        offsets: list[IndexOrInt] = [0] * len(shape)
        offsets[dimension] = emitter.element(copy.source_offsets, position)
        extents = list(sizes)
        extents[dimension] = emitter.element(copy.lengths, position)
        piece_type = _with_extent(tensor_type, dimension, copy.lengths)
        piece = emitter.slice(source, offsets, extents, piece_type)
        offsets[dimension] = emitter.element(copy.section_offsets, position)
        section = emitter.insert_slice(piece, section, offsets, extents)
    return section


def _receives_all(exchange: SliceExchange) -> bool:
    """Return whether the received data of the only round are the section of every process."""
    (only,) = exchange.rounds
    is_alone = not any(any(each.lengths) for each in exchange.own)
    return is_alone and set(only.copy.lengths) == {only.width}


def _with_extent(
    tensor_type: TensorType[Attribute], dimension: int, lengths: Sequence[int]
) -> TensorType[Attribute]:
    """Return the type with the common extent of a dimension, or dynamic if extents differ."""
    shape = list(shape_of(tensor_type))
    shape[dimension] = common_size(lengths)
    return with_shape(tensor_type, shape)


def _exchange_round(
    emitter: Emitter,
    value: SSAValue,
    dimension: int,
    grid: Grid,
    axes: Axes,
    round_: Round,
) -> SSAValue:
    """Send a piece of the shard, and receive one."""
    position = emitter.position(grid, axes)
    first = emitter.element(round_.send_offsets, position)
    piece = slice_dimension(emitter, value, dimension, first, round_.width)
    send_to = _process_coordinates(emitter, grid, axes, round_.receivers, position)
    receive_from = _process_coordinates(emitter, grid, axes, round_.senders, position)
    sent = emitter.insert(SendOp(piece, grid.name, axes, destination=send_to))
    return emitter.insert(RecvOp(sent, grid.name, axes, source=receive_from))


def _process_coordinates(
    emitter: Emitter, grid: Grid, axes: Axes, positions: Sequence[int], at: IndexOrInt
) -> list[IndexOrInt]:
    """Return the coordinates along `axes` of the process at `positions[at]` along them."""
    coordinates = [grid.coordinates_along(axes, position) for position in positions]
    return [emitter.element(column, at) for column in zip(*coordinates, strict=True)]


def slice_dimension(
    emitter: Emitter, value: SSAValue, dimension: int, first: IndexOrInt, length: IndexOrInt
) -> SSAValue:
    """Slice one dimension of a local tensor."""
    held = tensor_type_of(value)
    rank = held.get_num_dims()
    offsets: list[IndexOrInt] = [0] * rank
    sizes = [emitter.dimension(value, each) for each in range(rank)]
    offsets[dimension], sizes[dimension] = first, length
    extents = [size if isinstance(size, int) else None for size in sizes]
    return emitter.slice(value, offsets, sizes, with_shape(held, extents))


def shift_index(emitter: Emitter, index: SSAValue, start: IndexOrInt, point: InsertPoint) -> None:
    """Replace uses of a local index by the index in the whole, computed at `point`."""
    if isinstance(start, int) and start == 0:
        return
    shifted = arith.AddiOp(index, emitter.index(start))
    Rewriter.insert_op(shifted, point)
    index.replace_uses_with_if(shifted.result, lambda use: use.operation is not shifted)

"""Emit reshard plans and exchanges as operations of the `shard` dialect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

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
)
from ....ir.index import IndexOrInt
from ....ir.regions import replace_other_uses
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


@dataclass(frozen=True, slots=True)
class _Resharding:
    """The resharding of a tensor."""

    emitter: Emitter
    tensor_type: TensorType[Attribute]
    size: GlobalSize

    def step(self, value: SSAValue, planned: PlannedStep) -> SSAValue:
        """Emit a step of a plan."""
        emitter, before, after = self.emitter, planned.before, planned.after
        result = local_type(self.tensor_type, after)
        name = before.grid.name
        match planned.step:
            case AllSlice(dimension, axes):
                return self._slice(value, after, dimension, axes)
            case AllGather(dimension, axes):
                found = self._grown(result, before, dimension)
                gathered = AllGatherOp(value, name, axes, found, gather_axis=dimension)
                return emitter.cast(emitter.insert(gathered), result)
            case AllToAll(split, concat, axes):
                found = self._grown(result, before, concat)
                moved = AllToAllOp(value, name, axes, found, split_axis=split, concat_axis=concat)
                return emitter.cast(emitter.insert(moved), result)
            case AllReduce(kind, axes):
                return emitter.insert(AllReduceOp(value, name, axes, reduction=kind))
            case ReduceScatter(kind, dimension, axes):
                return emitter.insert(
                    ReduceScatterOp(
                        value, name, axes, result, reduction=kind, scatter_axis=dimension
                    )
                )
            case Permute():
                return _permute(emitter, value, before, after)
            case TrimHalo():
                halos = [halo(before, dimension) for dimension in range(before.rank)]
                sizes = [
                    emitter.subtract(emitter.dimension(value, dimension), sum(widths))
                    for dimension, widths in enumerate(halos)
                ]
                return emitter.slice(value, [low for low, _ in halos], sizes, result)
            case ExchangeHalo():
                return emitter.exchange_halo(value, after, result)

    def _grown(
        self, result: TensorType[Attribute], before: Sharding, dimension: int
    ) -> TensorType[Attribute]:
        """Return the type after a collective; a dimension joined of unequal pieces is dynamic."""
        shape = list(shape_of(result))
        if shape_of(local_type(self.tensor_type, before))[dimension] is None:
            shape[dimension] = None
        return with_shape(result, shape)

    def _slice(self, value: SSAValue, after: Sharding, dimension: int, axes: Axes) -> SSAValue:
        emitter, result = self.emitter, local_type(self.tensor_type, after)
        if explicit_offsets(after, dimension) is None and shape_of(result)[dimension] is not None:
            held = emitter.dimension(value, dimension)
            if divides(held if isinstance(held, int) else None, after.grid.size(axes)):
                return emitter.insert(
                    AllSliceOp(value, after.grid.name, axes, result, slice_axis=dimension)
                )
        first, length = emitter.shard_interval(self.size(dimension), after, dimension)
        return emitter.slice_dimension(value, dimension, first, length, result)


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
    resharding = _Resharding(emitter, tensor_type, size)
    for planned in plan_reshard(shape_of(tensor_type), source, target):
        value = resharding.step(value, _named(emitter, source.grid, planned))
    return value


def _named(emitter: Emitter, coarse: Grid, planned: PlannedStep) -> PlannedStep:
    """Return the step with the name that a finer grid has in the program."""
    if planned.before.grid == coarse:
        return planned
    fine = emitter.finer_grid(coarse, planned.before.grid)
    return PlannedStep(
        planned.step, replace(planned.before, grid=fine), replace(planned.after, grid=fine)
    )


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


@dataclass(frozen=True, slots=True)
class Exchanging:
    """The exchange of parts of a dimension that is split along some axes."""

    emitter: Emitter
    dimension: int
    grid: Grid
    axes: Axes

    def emit(self, value: SSAValue, exchange: SliceExchange) -> SSAValue:
        """Return this process's section of the dimension, given its shard."""
        emitter, dimension = self.emitter, self.dimension
        tensor_type = tensor_type_of(value)
        shape = shape_of(tensor_type)
        sizes = [emitter.dimension(value, each) for each in range(len(shape))]
        position = emitter.position(self.grid, self.axes)
        received = [self._round(value, each) for each in exchange.rounds]
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

    def _round(self, value: SSAValue, round_: Round) -> SSAValue:
        """Send a piece of the shard, and receive one."""
        emitter, name = self.emitter, self.grid.name
        first = emitter.own(round_.send_offsets, self.grid, self.axes)
        piece = emitter.slice_dimension(value, self.dimension, first, round_.width)
        send_to = self._coordinates(round_.receivers)
        receive_from = self._coordinates(round_.senders)
        sent = emitter.insert(SendOp(piece, name, self.axes, destination=send_to))
        return emitter.insert(RecvOp(sent, name, self.axes, source=receive_from))

    def _coordinates(self, positions: Sequence[int]) -> list[IndexOrInt]:
        """Return the coordinates of the process at `positions[p]`, for this process's position."""
        coordinates = [self.grid.coordinates_along(self.axes, each) for each in positions]
        columns = zip(*coordinates, strict=True)
        return [self.emitter.own(column, self.grid, self.axes) for column in columns]


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


def shift_index(emitter: Emitter, index: SSAValue, start: IndexOrInt, point: InsertPoint) -> None:
    """Replace uses of a local index by the index in the whole, computed at `point`."""
    if isinstance(start, int) and start == 0:
        return
    shifted = arith.AddiOp(index, emitter.index(start))
    Rewriter.insert_op(shifted, point)
    replace_other_uses(index, shifted.result)

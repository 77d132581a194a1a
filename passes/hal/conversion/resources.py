"""Convert resources to buffers, timepoints to fences, and channels, files and parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.arith import IndexCastOp
from xdsl.dialects.builtin import ArrayAttr, IndexType, StringAttr, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.hal.targets import DEVICE
from ....dialects.hal.types import BufferType, BufferViewType, ChannelType, FileType
from ....dialects.iree_encoding.interfaces import Tensor
from ....dialects.util.types import BufferType as HostBufferType
from ....ir.diagnostics import OperationError
from ....ir.syntax.assembly_format import values
from ....ir.tensor_types import require_ranked
from .rules import (
    ALLOCATOR,
    ANY_QUEUE,
    FENCE,
    FOREVER,
    NOT_FLAGS,
    Maker,
    affinity_in,
    flags,
    to_hal,
)

BUFFER, VIEW = BufferType(), BufferViewType()
CHANNEL, FILE, HOST_BUFFER = ChannelType(), FileType(), HostBufferType()
INDEX = IndexType()
USAGE = ("Transfer", "DispatchStorage")
"""Buffer usages that every program may need."""


@to_hal("stream.resource.alloc")
def _alloc(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    affinity = affinity_in(op)
    memory = maker.memory(affinity, op.results[0].type)
    device, queue = maker.device(affinity, memory)
    allocator = maker.allocator(device)
    return maker.make(
        "hal.allocator.allocate", [allocator, queue, *memory, op.operands[0]], [BUFFER]
    )


@to_hal("stream.resource.alloca")
def _alloca(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    affinity = affinity_in(op)
    memory = maker.memory(affinity, op.results[0].type)
    device, queue = maker.device(affinity, memory)
    wait, signal = maker.fences(device)
    pool = maker.number(0, wide=True)
    how = ("IndeterminateLifetime",) if "indeterminate_lifetime" in op.properties else ()
    (buffer,) = maker.make(
        "hal.device.queue.alloca",
        [device, queue, wait, signal, pool, *memory, op.operands[0]],
        [BUFFER],
        flags=flags("alloca-flags", *how),
    )
    return buffer, signal


@to_hal("stream.resource.dealloca")
def _dealloca(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    memory = maker.memory(affinity_in(op), maker.operand_types[0])
    how = flags("dealloca-flags", *(("PreferOrigin",) if "prefer_origin" in op.properties else ()))
    return (maker.queued("hal.device.queue.dealloca", [op.operands[0]], memory, flags=how),)


CALLS: dict[str, tuple[str, tuple[int, ...], tuple[Attribute, ...]]] = {
    "stream.resource.is_terminal": ("hal.buffer.allocation.is_terminal", (0,), (i1,)),
    "stream.resource.release": ("hal.buffer.allocation.discard", (0,), (i1,)),
    "stream.resource.retain": ("hal.buffer.allocation.preserve", (0,), ()),
    "stream.resource.size": ("hal.buffer.length", (0,), (INDEX,)),
    "stream.resource.store": ("hal.buffer.store", (3, 0, 2), ()),
    "stream.resource.subview": ("hal.buffer.subspan", (0, 2, 3), (BUFFER,)),
    "stream.timepoint.immediate": ("util.null", (), (FENCE,)),
}
"""Operations that become exactly one other: its name, operand indices and result types."""


@to_hal(*CALLS)
def _call(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    name, given, types = CALLS[op.name]
    return maker.make(name, [op.operands[index] for index in given], types)


@to_hal("stream.resource.load")
def _load(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    source, _, offset = op.operands
    return maker.make("hal.buffer.load", [source, offset], op.result_types)


@to_hal("stream.resource.try_map")
def _try_map(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    shared = ("SharingImmutable",) if str(op.results[1].type).endswith("<constant>") else ()
    (usage,) = maker.make(
        "hal.buffer_usage", results=[i32], usage=flags("buffer-usage", *USAGE, *shared)
    )
    (memory,) = maker.make(
        "hal.memory_type", results=[i32], type=flags("memory-types", "DeviceLocal")
    )
    device, queue = maker.device(affinity_in(op))
    return maker.make(
        "hal.allocator.import",
        [maker.allocator(device), queue, memory, usage, *op.operands],
        [i1, BUFFER],
    )


# Arguments and results of programs ----------------------------------------------------------


@to_hal("stream.tensor.import")
def _import(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    source, size = op.operands[0], op.operands[-1]
    if source.type == VIEW:
        (source,) = maker.make("hal.buffer_view.buffer", [source], [BUFFER])
    elif source.type != BUFFER:
        raise OperationError(op, f"imports {source.type}: expected a buffer or a buffer view")
    device, _ = maker.device(affinity_in(op))
    maker.make(
        "hal.buffer.assert",
        [source, maker.allocator(device), size],
        message=StringAttr("tensor"),
        memory_types=flags("memory-types", "DeviceVisible"),
        buffer_usage=flags("buffer-usage", *USAGE),
    )
    return (source,)


@to_hal("stream.tensor.export")
def _export(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    source, *dims, size = op.operands
    if op.results[0].type == BUFFER:
        return (source,)
    tensor = require_ranked(op, op.properties["source_encoding"])
    return _view(maker, tensor, dims, (source, size))


def _view(
    maker: Maker, tensor: Tensor, dims: Sequence[SSAValue], stored: tuple[SSAValue, SSAValue]
) -> Sequence[SSAValue]:
    """Emit a buffer view of a tensor in `stored`, a buffer and its size in bytes."""
    buffer, size = stored
    (order,) = maker.make("hal.encoding_type", results=[i32])
    (element,) = maker.make("hal.element_type", results=[i32], type=tensor.element_type)
    open_sizes = iter(dims)
    shape = [
        next(open_sizes) if extent < 0 else maker.index(extent) for extent in tensor.get_shape()
    ]
    start = maker.index(0)
    return maker.make(
        "hal.buffer_view.create", [buffer, start, size, element, order, shape], [VIEW]
    )


@to_hal("stream.tensor.trace")
def _trace(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    dims = list(values(op, "resource_encoding_dims"))
    views: list[SSAValue] = []
    sizes = values(op, "resource_sizes")
    for buffer, size, type_ in zip(
        values(op, "resources"), sizes, _array(op, "resource_encodings"), strict=True
    ):
        tensor = require_ranked(op, type_)
        count = sum(extent < 0 for extent in tensor.get_shape())
        views += _view(maker, tensor, dims[:count], (buffer, size))
        del dims[:count]
    return maker.make("hal.buffer_view.trace", [views], key=op.properties["key"])


def _array(op: Operation, name: str) -> Sequence[Attribute]:
    return cast("ArrayAttr[Attribute]", op.properties[name]).data


# Timepoints ---------------------------------------------------------------------------------


@to_hal("stream.timepoint.import", "stream.timepoint.export")
def _same_fence(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    outside = op.operands if op.name.endswith("import") else op.results
    if [value.type for value in outside] != [FENCE]:
        raise OperationError(op, "expected one fence: nothing else is a timepoint outside")
    return (op.operands[0],)


@to_hal("stream.timepoint.join")
def _join(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    if len(op.operands) == 1:
        return (op.operands[0],)
    return maker.make("hal.fence.join", [op.operands], [FENCE], flags=NOT_FLAGS)


@to_hal("stream.timepoint.await")
def _await(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    (fence,) = values(op, "await_timepoint")
    (status,) = maker.make(
        "hal.fence.await", [maker.number(FOREVER), [fence]], [i32], flags=NOT_FLAGS
    )
    maker.make("util.status.check_ok", [status], message=StringAttr("failed to wait on timepoint"))
    return values(op, "resource_operands")


@to_hal("stream.timepoint.barrier")
def _barrier(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    """Return the resource and a null fence: its producer has been awaited already."""
    return op.operands[0], *maker.make("util.null", results=[FENCE])


@to_hal("stream.timepoint.chain_external")
def _chain(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    wait, *fences = op.operands
    device, queue = maker.device(affinity_in(op))
    for fence in fences:
        maker.make("hal.device.queue.barrier", [device, queue, wait, fence], flags=NOT_FLAGS)
    return ()


# Channels and files -------------------------------------------------------------------------


@to_hal("stream.channel.create")
def _channel(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    device, queue = maker.device(affinity_in(op))
    identifier = values(op, "id") or maker.make("util.null", results=[HOST_BUFFER])
    if (group := op.properties.get("group")) is None:
        group_name = maker.make("util.null", results=[HOST_BUFFER])
    else:
        group_name = maker.make("util.buffer.constant", results=[HOST_BUFFER], value=group)
    rank, count = (
        _narrow(maker, found[0]) if (found := values(op, name)) else maker.number(ANY_QUEUE)
        for name in ("rank", "count")
    )
    given = [device, queue, identifier[0], group_name[0], rank, count]
    return maker.make("hal.channel.create", given, [CHANNEL], flags=NOT_FLAGS)


@to_hal("stream.channel.split")
def _split(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    channel, color, key = op.operands
    ends = [channel, _narrow(maker, color), _narrow(maker, key)]
    return maker.make("hal.channel.split", ends, [CHANNEL], flags=NOT_FLAGS)


@to_hal("stream.channel.rank", "stream.channel.count")
def _of_channel(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    rank, count = maker.make("hal.channel.rank_and_count", [op.operands[0]], [i32, i32])
    found = rank if op.name.endswith("rank") else count
    return (maker.builder.insert(IndexCastOp(found, INDEX)).result,)


def _narrow(maker: Maker, value: SSAValue) -> SSAValue:
    return maker.builder.insert(IndexCastOp(value, i32)).result


@to_hal("stream.file.constant")
def _file(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    source, _, offset, length = op.operands
    device, queue = maker.device(affinity_in(op))
    return maker.make(
        "hal.ex.file.from_memory",
        [device, queue, source, offset, length, maker.number(0)],
        [FILE],
        access=flags("access-flags", "Read"),
    )


@to_hal("stream.file.read", "stream.file.write")
def _copy_file(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    what = op.name.rpartition(".")[2]
    ends = [
        value
        for name in ("source", "source_offset", "target", "target_offset", "length")
        for value in values(op, name)
    ]
    return (maker.queued(f"hal.device.queue.{what}", ends, flags=NOT_FLAGS),)


@to_hal("stream.context.resolve")
def _resolve(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    device, queue = maker.device(affinity_in(op))
    found: list[SSAValue] = []
    for result in op.results:
        if result.type == DEVICE:
            found.append(device)
        elif result.type == ALLOCATOR:
            found.append(maker.allocator(device))
        elif result.type == i64:
            found.append(queue)
        else:
            raise OperationError(
                op, f"asks for {result.type}: expected a device, an allocator or queues (i64)"
            )
    return found


# Parameters ---------------------------------------------------------------------------------


@to_hal("stream.cmd.parameter.load")
def _load_parameters(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    affinity = affinity_in(op)
    memory = maker.memory(affinity, op.results[0].type)
    device, queue = maker.device(affinity, memory)
    wait, signal = maker.fences(device)
    loaded = maker.make(
        "io_parameters.load",
        [device, queue, wait, signal, *_keys(op, "source"), *memory, values(op, "result_sizes")],
        [[BUFFER] * (len(op.results) - 1)],
    )
    return *loaded, signal


@to_hal("stream.cmd.parameter.gather", "stream.cmd.parameter.read")
def _gather(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    ends = [*_keys(op, "source"), *_parts(op, "target")]
    return (maker.queued("io_parameters.gather", ends),)


@to_hal("stream.cmd.parameter.scatter", "stream.cmd.parameter.write")
def _scatter(maker: Maker, op: Operation) -> Sequence[SSAValue]:
    ends = [*_parts(op, "source"), *_keys(op, "target")]
    return (maker.queued("io_parameters.scatter", ends),)


def _keys(op: Operation, side: str) -> list[Sequence[SSAValue]]:
    """Return the scope, keys and offsets of parameters; an operation on one has no lists."""
    s = "" if op.name.endswith((".read", ".write")) else "s"
    return [values(op, f"{side}_{name}") for name in ("scope", f"key{s}", f"offset{s}")]


def _parts(op: Operation, side: str) -> list[SSAValue | Sequence[SSAValue]]:
    """Return a buffer, and the offsets and lengths of the ranges that hold parameters."""
    s = "" if op.name.endswith((".read", ".write")) else "s"
    (buffer,) = values(op, side)
    return [buffer, values(op, f"{side}_offset{s}"), values(op, f"{side}_length{s}")]

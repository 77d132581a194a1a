"""Convert resources to buffers, timepoints to fences, and channels, files and parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.arith import IndexCastOp
from xdsl.dialects.builtin import ArrayAttr, StringAttr, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.hal.targets import DEVICE
from ....dialects.hal.types import BufferType, BufferViewType, ChannelType, FileType
from ....dialects.iree_encoding.interfaces import Tensor
from ....dialects.stream.affinity import affinity_of, own_affinity
from ....dialects.stream.types import lifetime_of
from ....dialects.util.types import BufferType as HostBufferType
from ....ir.diagnostics import OperationError
from ....ir.index_lists import INDEX, mixed_list
from ....ir.syntax.assembly_format import values
from ....ir.syntax.resource_directives import sizes_by_type
from ....ir.tensor_types import require_ranked
from .rules import ALLOCATOR, FENCE, FOREVER, NOT_FLAGS, HalBuilder, flags, to_hal

BUFFER, VIEW = BufferType(), BufferViewType()
CHANNEL, FILE, HOST_BUFFER = ChannelType(), FileType(), HostBufferType()
DEFAULT_RANK = -1
"""The rank or number of participants of a channel that the runtime chooses."""
USAGE = ("Transfer", "DispatchStorage")
"""Buffer usages that every program may need."""


@to_hal("stream.resource.alloc")
def _alloc(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    memory = hal.memory_properties(own_affinity(op), op.results[0].type)
    device, queue = hal.device_and_queues(memory)
    allocator = hal.allocator(device)
    return hal.emit("hal.allocator.allocate", [allocator, queue, *memory, op.operands[0]], [BUFFER])


@to_hal("stream.resource.alloca")
def _alloca(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    memory = hal.memory_properties(own_affinity(op), op.results[0].type)
    device, queue = hal.device_and_queues(memory)
    wait, signal = hal.fences(device)
    pool = hal.constant(0, wide=True)
    how = ("IndeterminateLifetime",) if "indeterminate_lifetime" in op.properties else ()
    (buffer,) = hal.emit(
        "hal.device.queue.alloca",
        [device, queue, wait, signal, pool, *memory, op.operands[0]],
        [BUFFER],
        flags=flags("alloca-flags", *how),
    )
    return buffer, signal


@to_hal("stream.resource.dealloca")
def _dealloca(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    memory = hal.memory_properties(own_affinity(op), hal.operand_types[0])
    how = flags("dealloca-flags", *(("PreferOrigin",) if "prefer_origin" in op.properties else ()))
    return (hal.enqueue("hal.device.queue.dealloca", [op.operands[0]], memory, flags=how),)


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
def _call(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    name, indices, types = CALLS[op.name]
    return hal.emit(name, [op.operands[index] for index in indices], types)


@to_hal("stream.resource.load")
def _load(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    source, _, offset = op.operands
    return hal.emit("hal.buffer.load", [source, offset], op.result_types)


@to_hal("stream.resource.try_map")
def _try_map(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    shared = ("SharingImmutable",) if lifetime_of(op.results[1].type) == "constant" else ()
    (usage,) = hal.emit(
        "hal.buffer_usage", results=[i32], usage=flags("buffer-usage", *USAGE, *shared)
    )
    (memory,) = hal.emit(
        "hal.memory_type", results=[i32], type=flags("memory-types", "DeviceLocal")
    )
    device, queue = hal.device_and_queues()
    return hal.emit(
        "hal.allocator.import",
        [hal.allocator(device), queue, memory, usage, *op.operands],
        [i1, BUFFER],
    )


# Arguments and results of programs ----------------------------------------------------------


@to_hal("stream.tensor.import")
def _import(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    source, size = op.operands[0], op.operands[-1]
    if source.type == VIEW:
        (source,) = hal.emit("hal.buffer_view.buffer", [source], [BUFFER])
    elif source.type != BUFFER:
        raise OperationError(op, f"imports {source.type}: expected a buffer or a buffer view")
    device, _ = hal.device_and_queues()
    hal.emit(
        "hal.buffer.assert",
        [source, hal.allocator(device), size],
        message=StringAttr("tensor"),
        memory_types=flags("memory-types", "DeviceVisible"),
        buffer_usage=flags("buffer-usage", *USAGE),
    )
    return (source,)


@to_hal("stream.tensor.export")
def _export(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    source, *dims, size = op.operands
    if op.results[0].type == BUFFER:
        return (source,)
    tensor = require_ranked(op, op.properties["source_encoding"])
    return _view(hal, tensor, dims, (source, size))


def _view(
    hal: HalBuilder, tensor: Tensor, dims: Sequence[SSAValue], stored: tuple[SSAValue, SSAValue]
) -> Sequence[SSAValue]:
    """Emit a buffer view of a tensor in `stored`, a buffer and its size in bytes."""
    buffer, size = stored
    (order,) = hal.emit("hal.encoding_type", results=[i32])
    (element,) = hal.emit("hal.element_type", results=[i32], type=tensor.element_type)
    shape = [
        hal.index(size) if isinstance(size, int) else size
        for size in mixed_list(tensor.get_shape(), dims)
    ]
    start = hal.index(0)
    return hal.emit("hal.buffer_view.create", [buffer, start, size, element, order, shape], [VIEW])


@to_hal("stream.tensor.trace")
def _trace(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    types = cast("ArrayAttr[Attribute]", op.properties["resource_encodings"]).data
    dims = sizes_by_type(types, values(op, "resource_encoding_dims"))
    stored = zip(values(op, "resources"), values(op, "resource_sizes"), strict=True)
    views: list[SSAValue] = []
    for type_, listed, buffer_and_size in zip(types, dims, stored, strict=True):
        views += _view(hal, require_ranked(op, type_), listed, buffer_and_size)
    return hal.emit("hal.buffer_view.trace", [views], key=op.properties["key"])


# Timepoints ---------------------------------------------------------------------------------


@to_hal("stream.timepoint.import", "stream.timepoint.export")
def _same_fence(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    outside = op.operands if op.name.endswith("import") else op.results
    if [value.type for value in outside] != [FENCE]:
        raise OperationError(
            op, "expected one fence, the only form of a timepoint outside of the program"
        )
    return (op.operands[0],)


@to_hal("stream.timepoint.join")
def _join(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    if len(op.operands) == 1:
        return (op.operands[0],)
    return hal.emit("hal.fence.join", [op.operands], [FENCE], flags=NOT_FLAGS)


@to_hal("stream.timepoint.await")
def _await(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    (fence,) = values(op, "await_timepoint")
    (status,) = hal.emit(
        "hal.fence.await", [hal.constant(FOREVER), [fence]], [i32], flags=NOT_FLAGS
    )
    hal.emit("util.status.check_ok", [status], message=StringAttr("failed to wait on timepoint"))
    return values(op, "resource_operands")


@to_hal("stream.timepoint.barrier")
def _barrier(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    """Return the resource and a null fence: its producer has been awaited already."""
    return op.operands[0], *hal.emit("util.null", results=[FENCE])


@to_hal("stream.timepoint.chain_external")
def _chain(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    wait, *fences = op.operands
    device, queue = hal.device_and_queues()
    for fence in fences:
        hal.emit("hal.device.queue.barrier", [device, queue, wait, fence], flags=NOT_FLAGS)
    return ()


# Channels and files -------------------------------------------------------------------------


@to_hal("stream.channel.create")
def _channel(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    device, queue = hal.device_and_queues()
    identifier = values(op, "id") or hal.emit("util.null", results=[HOST_BUFFER])
    if (group := op.properties.get("group")) is None:
        group_name = hal.emit("util.null", results=[HOST_BUFFER])
    else:
        group_name = hal.emit("util.buffer.constant", results=[HOST_BUFFER], value=group)
    rank, count = (
        _narrow(hal, listed[0]) if (listed := values(op, name)) else hal.constant(DEFAULT_RANK)
        for name in ("rank", "count")
    )
    operands = [device, queue, identifier[0], group_name[0], rank, count]
    return hal.emit("hal.channel.create", operands, [CHANNEL], flags=NOT_FLAGS)


@to_hal("stream.channel.split")
def _split(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    channel, color, key = op.operands
    ends = [channel, _narrow(hal, color), _narrow(hal, key)]
    return hal.emit("hal.channel.split", ends, [CHANNEL], flags=NOT_FLAGS)


@to_hal("stream.channel.rank", "stream.channel.count")
def _of_channel(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    rank, count = hal.emit("hal.channel.rank_and_count", [op.operands[0]], [i32, i32])
    number = rank if op.name.endswith("rank") else count
    return (hal.builder.insert(IndexCastOp(number, INDEX)).result,)


def _narrow(hal: HalBuilder, value: SSAValue) -> SSAValue:
    return hal.builder.insert(IndexCastOp(value, i32)).result


@to_hal("stream.file.constant")
def _file(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    source, _, offset, length = op.operands
    device, queue = hal.device_and_queues()
    return hal.emit(
        "hal.ex.file.from_memory",
        [device, queue, source, offset, length, hal.constant(0)],
        [FILE],
        access=flags("access-flags", "Read"),
    )


@to_hal("stream.file.read", "stream.file.write")
def _copy_file(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    direction = op.name.rpartition(".")[2]
    ends = [
        value
        for name in ("source", "source_offset", "target", "target_offset", "length")
        for value in values(op, name)
    ]
    return (hal.enqueue(f"hal.device.queue.{direction}", ends, flags=NOT_FLAGS),)


@to_hal("stream.context.resolve")
def _resolve(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    device, queue = hal.device_and_queues()
    resolved: list[SSAValue] = []
    for result in op.results:
        if result.type == DEVICE:
            resolved.append(device)
        elif result.type == ALLOCATOR:
            resolved.append(hal.allocator(device))
        elif result.type == i64:
            resolved.append(queue)
        else:
            raise OperationError(
                op, f"returns {result.type}, expected a device, an allocator or queues (i64)"
            )
    return resolved


# Parameters ---------------------------------------------------------------------------------


@to_hal("stream.cmd.parameter.load")
def _load_parameters(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    memory = hal.memory_properties(affinity_of(op), op.results[0].type)
    device, queue = hal.device_and_queues(memory)
    wait, signal = hal.fences(device)
    loaded = hal.emit(
        "io_parameters.load",
        [device, queue, wait, signal, *_keys(op, "source"), *memory, values(op, "result_sizes")],
        [[BUFFER] * (len(op.results) - 1)],
    )
    return *loaded, signal


@to_hal("stream.cmd.parameter.gather", "stream.cmd.parameter.read")
def _gather(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    ends = [*_keys(op, "source"), *_parts(op, "target")]
    return (hal.enqueue("io_parameters.gather", ends),)


@to_hal("stream.cmd.parameter.scatter", "stream.cmd.parameter.write")
def _scatter(hal: HalBuilder, op: Operation) -> Sequence[SSAValue]:
    ends = [*_parts(op, "source"), *_keys(op, "target")]
    return (hal.enqueue("io_parameters.scatter", ends),)


def _keys(op: Operation, side: str) -> list[Sequence[SSAValue]]:
    """Return the scope, keys and offsets of parameters; an operation on one has no lists."""
    s = "" if op.name.endswith((".read", ".write")) else "s"
    return [values(op, f"{side}_{name}") for name in ("scope", f"key{s}", f"offset{s}")]


def _parts(op: Operation, side: str) -> list[SSAValue | Sequence[SSAValue]]:
    """Return a buffer, and the offsets and lengths of the ranges that hold parameters."""
    s = "" if op.name.endswith((".read", ".write")) else "s"
    (buffer,) = values(op, side)
    return [buffer, values(op, f"{side}_offset{s}"), values(op, f"{side}_length{s}")]

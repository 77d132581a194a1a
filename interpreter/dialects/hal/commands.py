"""Execute the `hal` dialect: buffers, command buffers and queues.

Buffers are bytes that change in place. A command buffer is a list of commands that run when a queue
executes it. Fences, devices and allocators have no effect: everything happens in program order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from xdsl.ir import Operation

from ....ir.attribute_access import operand_groups, operation_name, text
from ....ir.diagnostics import OperationError
from ....ir.tensor_types import element_named
from ....runtime.abi.arrays import Value
from ....runtime.abi.values import dtype_of
from ....tiling.packed_arrays import Bytes, from_bytes, to_bytes
from ...buffer_views import BufferView, element_coded
from ...frames import Frame
from ...parameters import contents_read
from ...registry import Results, Routine, impl, impl_with_regions
from ...storage import bytes_at, fresh, resource_size
from ..stream.asynchronous import pattern_bytes, repeated

Table = Sequence["Buffer"]
"""Buffers that commands refer to by index, given when a queue executes the commands."""

Command = Callable[[Table], Routine | None]
"""A recorded command. It may return a routine, because kernels can be suspended."""


@dataclass(slots=True, eq=False)
class Buffer:
    """Bytes that change in place; `None` after deallocation."""

    contents: Bytes | None

    def all(self, op: Operation) -> Bytes:
        """Return all bytes. Raises OperationError if they have been deallocated."""
        if self.contents is None:
            raise OperationError(op, "accesses a buffer that has been returned to its queue")
        return self.contents

    def part(self, op: Operation, start: Value, length: Value) -> Bytes:
        """Return `length` bytes from `start`. Raises OperationError if they are out of bounds."""
        return bytes_at(op, self.all(op), start, length)


@dataclass(slots=True, eq=False)
class CommandBuffer:
    """The commands that a device executes, in order."""

    device: Value
    commands: list[Command]


# Memory -------------------------------------------------------------------------------------


@impl("hal.allocator.resolve_memory_properties")
def _properties(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    """Return constant flags: all memory is the same."""
    return np.int32(0), np.int32(0)


@impl("hal.memory_type", "hal.buffer_usage")
def _flags(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    """Return constant flags: all memory is the same, and can be used for everything."""
    return (np.int32(0),)


@impl("hal.allocator.import")
def _import(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    """Import host memory, which every device can read."""
    source, offset, length = operands[-3:]
    return (np.bool_(True), Buffer(bytes_at(op, source, offset, length)))


@impl("hal.ex.file.from_memory")
def _file(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source, offset, length = operands[2:5]
    return (bytes_at(op, source, offset, length),)


@impl("hal.device.queue.read")
def _read_file(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source, start, target, offset, length = operands[-5:]
    target.part(op, offset, length)[:] = bytes_at(op, source, start, length)
    return ()


@impl("io_parameters.load")
def _load_parameters(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    *_, offsets, _, _, lengths = operand_groups(op, operands)
    return tuple(Buffer(part) for part in contents_read(op, offsets, lengths))


@impl("io_parameters.gather")
def _gather_parameters(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    *_, offsets, (target,), starts, lengths = operand_groups(op, operands)
    parts = contents_read(op, offsets, lengths)
    for start, length, part in zip(starts, lengths, parts, strict=True):
        target.part(op, start, length)[:] = part
    return ()


@impl("hal.allocator.select")
def _select(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    """Select the first device: it can access all memory."""
    devices, queues = operands[: (len(operands) - 2) // 2], operands[(len(operands) - 2) // 2 : -2]
    return devices[0], queues[0]


@impl("hal.allocator.allocate", "hal.device.queue.alloca")
def _allocate(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (Buffer(fresh(resource_size(op, operands[-1]), None).contents),)


@impl("hal.device.queue.dealloca")
def _give_back(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    operands[-1].all(op)
    operands[-1].contents = None
    return ()


@impl("hal.buffer.length")
def _length(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (np.int64(operands[0].all(op).size),)


@impl("hal.buffer.subspan")
def _subspan(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    buffer, start, length = operands
    return (Buffer(buffer.part(op, start, length)),)


@impl("hal.buffer.assert")
def _assert(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    buffer, _, length = operands
    found = buffer.all(op).size
    if found < int(length):
        raise OperationError(
            op, f"fails: {text(op, 'message')} has {found} bytes, expected {int(length)} or more"
        )
    return ()


@impl("hal.buffer.load")
def _load(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    buffer, offset = operands
    kind = op.results[0].type
    element = element_named(kind)
    data = buffer.part(op, offset, -(-element.storage_bits // 8))
    return (from_bytes(data, element, dtype_of(kind), 1)[0],)


@impl("hal.buffer.store")
def _store(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    value, buffer, offset = operands
    data = pattern_bytes(op, 0, value)
    buffer.part(op, offset, data.size)[:] = data
    return ()


# Buffer views -------------------------------------------------------------------------------


@impl("hal.buffer_view.buffer")
def _buffer(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    view: BufferView = operands[0]
    return (Buffer(to_bytes(view.array, element_named(view.element)).copy()),)


@impl("hal.buffer_view.create")
def _create(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    buffer, offset, length, code, _, *shape = operands
    element = element_coded(int(code))
    if element is None:
        raise OperationError(op, f"has elements of unknown type {int(code):#x}")
    extents = tuple(int(size) for size in shape)
    data = buffer.part(op, offset, length)
    count = int(np.prod(extents, dtype=np.int64))
    if -(-count * element_named(element).storage_bits // 8) > data.size:
        raise OperationError(op, f"expects {count} elements of {element}, found {data.size} bytes")
    array = from_bytes(data, element_named(element), dtype_of(element), count)
    return (BufferView(array.reshape(extents), element),)


# Fences -------------------------------------------------------------------------------------


@impl("hal.fence.await")
def _await(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (np.int32(0),)


# Commands -----------------------------------------------------------------------------------


@impl("hal.command_buffer.create")
def _record(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (CommandBuffer(operands[0], []),)


@impl("hal.command_buffer.device")
def _recorded_for(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (operands[0].device,)


@impl_with_regions("hal.device.queue.execute")
def _execute(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    yield _run(operands[-1], ())
    return ()


@impl_with_regions("hal.device.queue.execute.indirect")
def _execute_with(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    recorded, listed = operands[4], operands[5:]
    count = len(listed) // 3
    ranges = zip(listed[:count], listed[count : 2 * count], listed[2 * count :], strict=True)
    yield _run(recorded, [Buffer(each.part(op, start, size)) for each, start, size in ranges])
    return ()


def _run(recorded: CommandBuffer, table: Table) -> Routine:
    for command in recorded.commands:
        routine = command(table)
        if routine is not None:
            yield routine


def named(op: Operation, buffer: Value, table: Table) -> Buffer:
    """Return a buffer, or the buffer of the table that an index refers to.

    Raises OperationError.
    """
    if isinstance(buffer, Buffer):
        return buffer
    if not 0 <= int(buffer) < len(table):
        raise OperationError(op, f"uses buffer #{int(buffer)}, but only {len(table)} are given")
    return table[int(buffer)]


@impl("hal.command_buffer.copy_buffer", "hal.command_buffer.fill_buffer")
def _record_transfer(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    recorded, *ends = operands
    recorded.commands.append(partial(_transfer, op, ends))
    return ()


@impl("hal.device.queue.copy", "hal.device.queue.fill")
def _transfer_now(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    _transfer(op, operands[4:], ())
    return ()


def _transfer(op: Operation, ends: Sequence[Value], table: Table) -> None:
    is_copy = "copy" in operation_name(op).rpartition(".")[2]
    (_copy if is_copy else _fill)(op, ends, table)


def _fill(op: Operation, ends: Sequence[Value], table: Table) -> None:
    buffer, offset, length, pattern = ends
    data = pattern_bytes(op, len(op.operands) - 1, pattern)
    part = named(op, buffer, table).part(op, offset, length)
    part[:] = repeated(op, data, part.size)


def _copy(op: Operation, ends: Sequence[Value], table: Table) -> None:
    source, source_offset, target, target_offset, length = ends
    taken = named(op, source, table).part(op, source_offset, length)
    named(op, target, table).part(op, target_offset, length)[:] = taken

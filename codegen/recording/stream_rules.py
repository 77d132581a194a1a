"""What the host does for `stream` programs: commands on the bytes of the devices' own buffers.

Resources are values, as in the interpreter: an operation that writes to one gives a new one. Where
nothing else reads the old one, the new one lies in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ...dialects.iree_tensor_ext import DispatchTensor
from ...interpreter.bindings import check_stored_shape
from ...interpreter.devices import place as device_of
from ...interpreter.hal_buffers import BufferView
from ...interpreter.kernels import (
    WORKGROUP,
    asks_for_workgroup,
    check_offset,
    dispatched_kernel,
    part_sizes,
    tied_argument,
)
from ...interpreter.machine import Exit
from ...interpreter.registry import Routine, find_entry
from ...interpreter.storage import Resource, ranked, resource_size
from ...interpreter.stream_async import check_filled, expect_size
from ...interpreter.tensor import filled_shape, kept_axes, slice_of
from ...ir.attribute_access import attribute, mixed, operand_groups, operation_name, required
from ...ir.diagnostics import OperationError
from ...ir.tensor_types import element_named
from ...runtime.abi.elements import integer_element
from ...runtime.abi.values import Value, element_type
from ...tiling.packed_arrays import to_bytes
from ..kernels.packing import write_fill
from ..kernels.schedule import Step
from .device_bytes import DeviceBytes, allocate, resident, touch
from .recording_frame import RecordingFrame
from .resources import (
    BoundBytes,
    bind,
    in_place,
    read,
    read_part,
    take_over,
    write,
    write_part,
)
from .tensors import Tensor

StreamRule = Callable[[RecordingFrame, Operation], Sequence[Value]]


def _operands(frame: RecordingFrame, op: Operation) -> list[Value]:
    return [frame.value(operand) for operand in op.operands]


def _groups(frame: RecordingFrame, op: Operation) -> list[Sequence[Value]]:
    return operand_groups(op, _operands(frame, op))


# Bytes ----------------------------------------------------------------------------------------


def _alloca(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    return (allocate(resource_size(op, frame.value(op.operands[0])), device_of(op, frame)),)


def _constant(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    entry = find_entry(operation_name(op))
    if entry is None or entry.execute is None:
        raise OperationError(op, "cannot be executed")
    (resource,) = entry.execute(op, _operands(frame, op), frame)
    return (resident(op, resource),)


def _same_bytes(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    source: DeviceBytes = frame.value(op.operands[0])
    here = device_of(op, frame)
    touch(op, source, here)
    expect_size(op, source.size, frame.value(op.operands[-1]))
    return (source if here is None else source.owned_by(here),)


def _slice(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    source, _, start, end, size = _operands(frame, op)
    part = touch(op, source, device_of(op, frame)).part(op, int(start), int(end))
    if part.size != int(size):
        raise OperationError(op, f"slices {part.size} bytes into a resource of {int(size)}")
    return (part,)


def _splat(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    size = resource_size(op, frame.value(op.operands[1]))
    result = allocate(size, device_of(op, frame))
    _write_pattern(frame, op, result, 0)
    return (result,)


def _fill(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    target, _, start, end, length, _ = _operands(frame, op)
    touch(op, target, device_of(op, frame))
    check_filled(op, target.part(op, int(start), int(end)).size, int(length))
    result = take_over(frame, op, 0, target)
    _write_pattern(frame, op, result.part(op, int(start), int(end)), 5)
    return (result,)


def _write_pattern(
    frame: RecordingFrame, op: Operation, target: DeviceBytes, position: int
) -> None:
    """Write the value of an operand over and over."""
    kind = op.operands[position].type
    data = to_bytes(np.asarray(frame.known(op.operands[position])).reshape(1), element_named(kind))
    if target.size % data.size:
        raise OperationError(
            op, f"writes a pattern of {data.size} bytes over and over to {target.size} bytes"
        )
    element = integer_element(8 * data.size)
    pattern = int.from_bytes(data.tobytes(), "little", signed=True)
    kernel = frame.recorder.recorded.kernel((op, data.size), lambda: write_fill(op, element))
    count = target.size // data.size
    whole = Tensor((count,), element.dtype, target.place, frame.recorder.read)
    frame.recorder.run_kernel(kernel, [], [whole], [count, pattern], op)


def _update(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    target, _, start, end, update, _ = _operands(frame, op)
    length = int(end) - int(start)
    return (_copy_part(frame, op, target, (start, end), update, (0, length), length),)


def _copy(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    target, _, start, end, source, _, first, last, length = _operands(frame, op)
    return (_copy_part(frame, op, target, (start, end), source, (first, last), int(length)),)


def _copy_part(
    frame: RecordingFrame,
    op: Operation,
    target: DeviceBytes,
    into: tuple[Value, Value],
    source: DeviceBytes,
    taken: tuple[Value, Value],
    length: int,
) -> DeviceBytes:
    here = device_of(op, frame)
    room = touch(op, target, here).part(op, int(into[0]), int(into[1]))
    part = touch(op, source, here).part(op, int(taken[0]), int(taken[1]))
    if not room.size == part.size == length:
        raise OperationError(op, f"copies {part.size} bytes to {room.size}, not {length}")
    result = take_over(frame, op, 0, target)
    to = result.part(op, int(into[0]), int(into[1]))
    frame.recorder.copy_bytes(part.place, to.place, part.size, op)
    return result


def _transfer(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    source: DeviceBytes = frame.value(op.operands[0])
    sender, receiver = attribute(op, "source_affinity"), attribute(op, "target_affinity")
    if sender is not None:
        touch(op, source, device_of(op, frame, sender))
    expect_size(op, source.size, frame.value(op.operands[-1]))
    if receiver is None:
        staged = "staging" in str(op.results[0].type)
        return (source.owned_by(None) if staged else source,)
    owner = device_of(op, frame, receiver)
    if owner == source.owner:
        return (source,)
    result = allocate(source.size, owner)
    frame.recorder.copy_bytes(source.place, result.place, source.size, op)
    frame.recorder.count_transfer(source.owner, owner, source.size)
    return (result,)


def _load(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    source, _, offset = _operands(frame, op)
    tensor = TensorType(op.results[0].type, [])
    size = -(-element_named(op.results[0].type).storage_bits // 8)
    part = cast(DeviceBytes, source).part(op, int(offset), int(offset) + size)
    return (read(op, bind(op, part, tensor, ()), frame.recorder),)


def _store(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    target, _, offset, _ = _operands(frame, op)
    result = take_over(frame, op, 0, target)
    kind = op.operands[3].type
    size = -(-element_named(kind).storage_bits // 8)
    part = result.part(op, int(offset), int(offset) + size)
    bound = bind(op, part, TensorType(kind, []), ())
    write(op, bound, frame.tensor(op.operands[3]), frame.recorder)
    return (result,)


def _barrier(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    return (frame.value(op.operands[0]),)


# The edge of the program ----------------------------------------------------------------------


def _import(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    view, *dims, size = _operands(frame, op)
    if not isinstance(view, BufferView):
        raise OperationError(op, "imports what is no buffer view")
    tensor = ranked(op, required(op, "result_encoding"))
    shape = filled_shape(op, tensor, dims)
    given = frame.recorder.as_tensor(view.array)
    if given.shape != shape:
        raise OperationError(op, f"imports {list(given.shape)} as a tensor of {list(shape)}")
    owner = device_of(op, frame)
    contents = DeviceBytes(given.place, int(size), owner)
    bound = bind(op, contents, tensor, shape)
    bound.check_room(op)
    if int(size) <= given.nbytes and in_place(op, bound, frame.recorder) is not None:
        given.place.buffer.references += 1
        given.place.buffer.owner = given.place.buffer.owner or owner
        return (contents,)
    contents = allocate(int(size), owner)
    write(op, bind(op, contents, tensor, shape), given, frame.recorder)
    return (contents,)


def _export(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    source, *dims, _ = _operands(frame, op)
    touch(op, source, device_of(op, frame))
    tensor = ranked(op, required(op, "source_encoding"))
    bound = bind(op, source, tensor, filled_shape(op, tensor, dims))
    exported: Any = read(op, bound, frame.recorder)
    return (BufferView(exported, element_type(tensor)),)


# Kernels --------------------------------------------------------------------------------------


def dispatch(frame: RecordingFrame, op: Operation) -> Routine:
    """Record the commands of a `stream.async.dispatch` and give its results."""
    recorder = frame.recorder
    workload, values, _, starts, ends, _, sizes = _groups(frame, op)
    here = device_of(op, frame)
    ranges = iter(zip(starts, ends, strict=True))
    first = len(workload)
    given: list[Value] = []
    for value in values:
        if isinstance(value, DeviceBytes):
            start, end = next(ranges)
            given.append(touch(op, value, here).part(op, int(start), int(end)))
        else:
            given.append(value)
    results: list[DeviceBytes] = []
    written: set[int] = set()
    taken: set[int] = set()
    for index, size in enumerate(sizes):
        tied = tied_argument(op, index)
        if tied is None:
            results.append(allocate(resource_size(op, size), here))
            written.add(len(given))
            given.append(results[-1])
            continue
        given[tied] = take_over(frame, op, first + tied, given[tied])
        results.append(given[tied])
        taken.add(tied)
    function, count = dispatched_kernel(op, frame)
    entry = function.regions[0].blocks[0]
    if len(entry.args) != len(given):
        raise OperationError(
            op, f"gives its kernel {len(given)} values, but it takes {len(entry.args)}"
        )
    groups = (1, 1, 1)
    if count is not None and count.blocks and asks_for_workgroup(function.regions[0]):
        exit_: Exit = yield frame.nested().run_region(count, workload)
        groups = tuple(int(number) for number in exit_.values)
    recorder.count_dispatch(here)
    before, recorder.owner = recorder.owner, here
    for group in product(*(range(number) for number in reversed(groups))):
        inner = frame.nested()
        # A binding that only this kernel writes may hold what the kernel computes at once.
        if groups == (1, 1, 1):
            inner.fresh = {entry.args[position] for position in written}
            inner.tied = {entry.args[position] for position in taken}
        recorder.memory[WORKGROUP] = {"id": group[::-1], "count": groups, "size": (1, 1, 1)}
        yield inner.run_region(function.regions[0], given)
    recorder.owner = before
    return results


def _subspan(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    binding, offset, *dims = _operands(frame, op)
    kind = op.results[0].type
    tensor = kind.encoded_tensor() if isinstance(kind, DispatchTensor) else None
    if not isinstance(binding, DeviceBytes) or tensor is None:
        raise OperationError(op, f"binds {kind}: only tensors can be run")
    check_offset(op, int(offset), binding.size)
    part = binding.part(op, int(offset), binding.size)
    return (bind(op, part, tensor, filled_shape(op, tensor, dims)),)


def _tensor_load(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    (source,), _, *ranges = _groups(frame, op)
    bound = _bound(op, source)
    parts = _parts(op, bound, ranges)
    sizes = part_sizes(bound.shape, parts)
    shape = tuple(sizes[axis] for axis in kept_axes(op))
    if _is_whole(bound, parts):
        return (read(op, bound, frame.recorder).view(shape),)
    return (read_part(op, bound, parts, shape, frame.recorder),)


def _tensor_store(frame: RecordingFrame, op: Operation) -> Sequence[Value]:
    _, (target,), _, *ranges = _groups(frame, op)
    bound = _bound(op, target)
    parts = _parts(op, bound, ranges)
    value = frame.tensor(op.operands[0])
    sizes = part_sizes(bound.shape, parts)
    if prod(value.shape) != prod(sizes):
        check_stored_shape(op, value.shape, sizes)
    if _is_whole(bound, parts):
        write(op, bound, value.view(bound.shape), frame.recorder)
    else:
        write_part(op, bound, parts, value, frame.recorder)
    return ()


def _bound(op: Operation, value: Value) -> BoundBytes:
    if not isinstance(value, BoundBytes):
        raise OperationError(op, "accesses what is no dispatch tensor")
    return value


def _parts(
    op: Operation, bound: BoundBytes, ranges: Sequence[Sequence[Value]]
) -> tuple[slice, ...]:
    offsets, sizes, strides = (
        mixed(op, f"static_{name}", values)
        for name, values in zip(("offsets", "sizes", "strides"), ranges, strict=True)
    )
    return slice_of(op, bound.shape, offsets, sizes, strides)


def _is_whole(bound: BoundBytes, parts: tuple[slice, ...]) -> bool:
    return all(
        range(size)[part] == range(size) for size, part in zip(bound.shape, parts, strict=True)
    )


def destination(
    frame: RecordingFrame, value: SSAValue, shape: tuple[int, ...], step: Step
) -> Tensor | None:
    """Where a kernel's result is stored in the end, if it may be computed there."""
    for use in value.uses:
        store = use.operation
        if operation_name(store) not in STORES or use.index != 0:
            continue
        target = store.operands[1]
        bound = frame.values.get(target)
        subspan = target.owner
        if (
            isinstance(bound, BoundBytes)
            and isinstance(subspan, Operation)
            and subspan.operands[0].has_one_use()
            and bound.shape == shape
            and (
                (subspan.operands[0] in frame.fresh and target.has_one_use())
                or (subspan.operands[0] in frame.tied and _is_read_before(frame, target, step))
            )
        ):
            bound.check_room(store)
            return in_place(store, bound, frame.recorder)
    return None


def _is_read_before(frame: RecordingFrame, target: SSAValue, step: Step) -> bool:
    """Whether what is read of a binding is read by a kernel, and before it writes there."""
    group = set(step.group)
    for use in target.uses:
        operation = use.operation
        if operation_name(operation) in STORES:
            if operation.operands[0] not in step.operation.results:
                return False
            continue
        for loaded in operation.results:
            content, bound = frame.values.get(loaded), frame.values.get(target)
            if (
                loaded not in step.aligned
                or any(other.operation not in group for other in loaded.uses)
                or not isinstance(content, Tensor)
                or not isinstance(bound, BoundBytes)
                or content.place != bound.contents.place
            ):
                return False
    return True


STORES = ("flow.dispatch.tensor.store", "iree_tensor_ext.dispatch.tensor.store")

DISPATCHES = frozenset(("stream.async.dispatch",))

STREAM_RULES: dict[str, StreamRule] = {
    "stream.async.alloca": _alloca,
    "stream.async.barrier": _barrier,
    "stream.async.cast": _same_bytes,
    "stream.async.clone": _same_bytes,
    "stream.async.constant": _constant,
    "stream.async.copy": _copy,
    "stream.async.fill": _fill,
    "stream.async.load": _load,
    "stream.async.slice": _slice,
    "stream.async.splat": _splat,
    "stream.async.store": _store,
    "stream.async.transfer": _transfer,
    "stream.async.update": _update,
    "stream.binding.subspan": _subspan,
    "stream.tensor.constant": _constant,
    "stream.tensor.export": _export,
    "stream.tensor.import": _import,
    **dict.fromkeys(
        ("flow.dispatch.tensor.load", "iree_tensor_ext.dispatch.tensor.load"), _tensor_load
    ),
    **dict.fromkeys(STORES, _tensor_store),
}
"""Rules by operation."""


def from_interpreter(frame: RecordingFrame, op: Operation, value: Value) -> Value:
    """A global's value on the device, if initializers have computed it in the interpreter."""
    if not isinstance(value, Resource):
        return value
    found = frame.recorder.resources.get(id(value))
    if found is None:
        # The resource is kept, so that its identity stays its own.
        found = frame.recorder.resources[id(value)] = (value, resident(op, value))
    return found[1]

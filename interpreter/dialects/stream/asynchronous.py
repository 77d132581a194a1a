"""Execute the asynchronous operations of the `stream` dialect on bytes, and timepoints.

Everything happens in program order, so every timepoint has been reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.ir import Attribute, Operation

from ....ir.attribute_access import attribute, operand_groups, required
from ....ir.diagnostics import OperationError
from ....ir.tensor_types import element_named
from ....runtime.abi.arrays import Value
from ....runtime.abi.values import dtype_of, element_type
from ....tiling.packed_arrays import Bytes, from_bytes, to_bytes
from ...constants import constant_array
from ...devices import check_access, device_of
from ...frames import Exit, Frame
from ...registry import Results, Routine, impl, impl_with_regions, terminates
from ...storage import Resource, fresh, resource_size

terminates("stream.yield")


@impl("stream.async.alloca")
def _alloca(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (fresh(resource_size(op, operands[0]), device_of(op, frame)),)


@impl("stream.async.constant")
def _constant(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (constant_resource(op, required(op, "value"), operands[-1], frame),)


@impl("stream.async.splat")
def _splat(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    pattern = pattern_bytes(op, len(operands) - 2, operands[-2])
    size = resource_size(op, operands[-1])
    return (Resource(repeated(op, pattern, size), device_of(op, frame)),)


@impl("stream.async.clone", "stream.async.cast")
def _same_bytes(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source, _, size = operands
    here = check_access(op, frame, source)
    expect_size(op, source.size, size)
    return (source if here is None else source.owned_by(here),)


@impl("stream.async.slice")
def _slice(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source, _, start, end, size = operands
    here = check_access(op, frame, source)
    part = source.part(op, start, int(end) - int(start))
    check_sliced(op, part.size, int(size))
    return (Resource(part.copy(), here if here is not None else source.owner),)


@impl("stream.async.fill")
def _fill(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    target, _, start, end, length, value = operands
    check_access(op, frame, target)
    result, part = _writable(op, target, start, end)
    check_filled(op, part.size, int(length))
    part[:] = repeated(op, pattern_bytes(op, 5, value), part.size)
    return (result,)


@impl("stream.async.update")
def _update(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    target, _, start, end, update, _ = operands
    check_access(op, frame, target, update)
    result, part = _writable(op, target, start, end)
    part[:] = update.part(op, 0, part.size)
    return (result,)


@impl("stream.async.copy")
def _copy(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    target, _, start, end, source, _, source_start, source_end, length = operands
    check_access(op, frame, target, source)
    result, part = _writable(op, target, start, end)
    taken = source.part(op, source_start, int(source_end) - int(source_start))
    check_copied(op, taken.size, part.size, int(length))
    part[:] = taken
    return (result,)


@impl("stream.async.transfer")
def _transfer(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source, _, size = operands
    sender, receiver = attribute(op, "source_affinity"), attribute(op, "target_affinity")
    if sender is not None:
        check_access(op, frame, source, affinity=sender)
    expect_size(op, source.size, size)
    if receiver is None:
        # Without a target, a transfer makes a resource accessible to the host (staging), or only
        # changes its lifetime.
        if "staging" in str(op.results[0].type):
            return (source.owned_by(None),)
        region = op.parent_op()
        if region is None or not region.name.startswith("stream.async."):
            return (source,)
    # In an execution region the default target is the device of the region.
    return (source.owned_by(device_of(op, frame, receiver)),)


@impl("stream.async.load", "stream.resource.load")
def _load(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source, _, offset = operands
    result = op.results[0].type
    dtype, element = dtype_of(result), element_named(result)
    data = source.part(op, offset, -(-element.storage_bits // 8))
    return (from_bytes(data, element, dtype, 1)[0],)


@impl("stream.async.store")
def _store(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    target, _, offset, value = operands
    data = pattern_bytes(op, 3, value)
    result, part = _writable(op, target, offset, int(offset) + data.size)
    part[:] = data
    return (result,)


@impl_with_regions("stream.async.execute")
def _execute(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    resources, *_ = operand_groups(op, operands)
    exit_: Exit = yield frame.run_region(op.regions[0], resources)
    return (*exit_.values[: len(op.results) - 1], None)


@impl_with_regions("stream.async.concurrent")
def _concurrent(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    resources, *_ = operand_groups(op, operands)
    exit_: Exit = yield frame.run_region(op.regions[0], resources)
    return exit_.values[: len(op.results)]


@impl("stream.resource.size")
def _resource_size(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (np.int64(operands[0].size),)


# --------------------------------------------------------------------------------------------
# Timepoints


@impl("stream.timepoint.await")
def _await(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return operand_groups(op, operands)[0]


@impl("stream.timepoint.barrier")
def _timepoint_barrier(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (operands[0], None)


# --------------------------------------------------------------------------------------------
# Bytes


def constant_bytes(op: Operation, value: Attribute) -> Bytes:
    """Return the bytes of a constant attribute."""
    stored = element_type(getattr(value, "type", value))
    return to_bytes(constant_array(op, value), element_named(stored))


def constant_resource(op: Operation, value: Attribute, size: Value, frame: Frame) -> Resource:
    """Return a resource with constant contents on the device of an operation.

    Raises OperationError.
    """
    found, data = fresh(resource_size(op, size), device_of(op, frame)), constant_bytes(op, value)
    if data.size > found.size:
        raise OperationError(op, f"stores {data.size} bytes in a resource of {found.size} bytes")
    found.contents[: data.size] = data
    return found


def check_sliced(op: Operation, size: int, wanted: int) -> None:
    """Raise OperationError if a slice has another size than the resource it becomes."""
    if size != wanted:
        raise OperationError(op, f"slices {size} bytes into a resource of {wanted} bytes")


def check_copied(op: Operation, taken: int, replaced: int, length: int) -> None:
    """Raise OperationError if the ranges and the length of a copy differ."""
    if not taken == replaced == length:
        raise OperationError(op, f"copies {taken} bytes to {replaced} bytes, expected {length}")


def check_filled(op: Operation, size: int, length: int) -> None:
    """Raise OperationError if the range and the length of a fill differ."""
    if size != length:
        raise OperationError(op, f"fills {size} bytes, expected {length}")


def expect_size(op: Operation, found: int, size: Value) -> None:
    """Raise OperationError if the size of a resource differs from its size operand."""
    if found != int(size):
        raise OperationError(op, f"takes a resource of {found} bytes, expected {int(size)}")


def _writable(op: Operation, target: Resource, start: Value, end: Value) -> tuple[Resource, Bytes]:
    """Return a copy of a resource, and the range of its bytes that is to be written."""
    copied = replace(target, contents=target.contents.copy())
    part = copied.part(op, start, int(end) - int(start))
    return Resource(copied.contents, copied.owner), part


def pattern_bytes(op: Operation, operand: int, value: Value) -> Bytes:
    """Return the bytes of a scalar operand as it is stored."""
    element = element_named(op.operands[operand].type)
    return to_bytes(np.asarray(value).reshape(1), element)


def check_multiple(op: Operation, size: int, pattern: int) -> None:
    """Raise OperationError if a pattern of `pattern` bytes does not fill `size` bytes."""
    if size % pattern:
        raise OperationError(
            op, f"fills {size} bytes with a pattern of {pattern} bytes, expected a multiple"
        )


def repeated(op: Operation, pattern: Bytes, size: int) -> Bytes:
    """Repeat a pattern to `size` bytes. Raises OperationError if `size` is not a multiple."""
    check_multiple(op, size, pattern.size)
    return np.tile(pattern, size // pattern.size)

"""Lower operations of `stream` on resources.

Resources are SSA values: an operation that writes to one returns a new one. The result takes over
the bytes of the operand if nothing else reads the operand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Operation

from ...dialects.stream.types import TIMEPOINT
from ...interpreter import devices
from ...interpreter.dialects.stream.asynchronous import (
    check_copied,
    check_filled,
    check_multiple,
    check_sliced,
    expect_size,
)
from ...interpreter.run import run_operation
from ...interpreter.storage import Resource, check_range
from ...ir.attribute_access import attribute
from ...ir.tensor_types import element_named
from ...runtime.abi.elements import integer_element
from ...runtime.abi.values import integer_width, scalar_dtype
from ...runtime.host.builder import IndexOrInt
from ...runtime.host.entry import scalar_of, word_of
from ...runtime.host.pool import RECEIVED, account
from ...runtime.host.program import Register, RegisterValues
from ...runtime.host.size_rules import SizeRules, Word
from ...tiling.packed_arrays import to_bytes
from ..kernels.moves.packing import write_fill
from .bound_tensors import has_spare_bits
from .function_lowering import FunctionLowering, lowers
from .kernel_dispatch import run_kernel_at
from .size_rules import PART_OF_BYTES, same_sizes
from .values import HostResource, NotLowered, dynamic_words, element_dtype, filled_words


def resource_of(lowering: FunctionLowering, op: Operation, position: int) -> HostResource:
    """Return an operand that is a resource. Raises NotLowered if it is none."""
    found = lowering.value(op.operands[position])
    if isinstance(found, HostResource):
        return found
    raise NotLowered(op, "takes a value that is not a resource")


def check_owner(lowering: FunctionLowering, op: Operation, value: HostResource, here: int) -> None:
    """Fail at run time if a device accesses a resource of another device."""
    if here == 0:
        return
    names = lowering.program.devices

    def check(numbers: RegisterValues) -> None:
        devices.check_owner(op, names[here], names[numbers[0]])

    if value.owner not in (0, here):
        lowering.check(op, [value.owner], check)


def allocate(lowering: FunctionLowering, size: IndexOrInt, owner: int) -> HostResource:
    """Allocate a resource on a device."""
    builder = lowering.builder
    if owner != lowering.program.current_device:
        builder.emit("device", owner)
    block = builder.compute("allocate", builder.hold(size))
    if owner != lowering.program.current_device:
        builder.emit("device", lowering.program.current_device)
    return HostResource(block, block, size, owner)


def count(lowering: FunctionLowering, device: IndexOrInt, word: int, amount: IndexOrInt) -> None:
    """Add to a counter of a device, if the device is known at compile time."""
    if isinstance(device, int) and device:
        builder = lowering.builder
        builder.emit("count", account(device, word), builder.hold(amount))


def byte_range(
    lowering: FunctionLowering,
    op: Operation,
    value: HostResource,
    start: IndexOrInt,
    end: IndexOrInt,
) -> HostResource:
    """Return the bytes from `start` to `end`, with a check that they are in bounds.

    The part shares the reference of the whole.
    """
    words = [start, end, value.size]
    lowering.check(op, words, lambda numbers: check_range(op, *numbers), PART_OF_BYTES)
    builder = lowering.builder
    address = builder.hold(builder.add(value.address, start))
    return HostResource(address, value.block, builder.subtract(end, start), value.owner)


def writable_resource(lowering: FunctionLowering, op: Operation, position: int) -> HostResource:
    """Return a writable copy of an operand, in place if nothing else reads the operand.

    Raises NotLowered if it is not a resource.
    """
    builder = lowering.builder
    value, operand = resource_of(lowering, op, position), op.operands[position]
    is_read_again = sum(each is operand for each in op.operands) > 1
    if value.block is not None and not is_read_again and lowering.may_overwrite(operand):
        block = builder.compute("own", value.block, value.address, builder.hold(value.size))
    else:
        block = builder.copied(value.address, value.size)
    return HostResource(block, block, value.size, value.owner)


# Bytes ----------------------------------------------------------------------------------------


@lowers("stream.async.alloca")
def _alloca(lowering: FunctionLowering, op: Operation) -> None:
    size = lowering.number(op.operands[0])
    lowering.bind(op.results[0], allocate(lowering, size, lowering.program.device(op)))


@lowers("stream.async.constant", "stream.tensor.constant")
def _constant(lowering: FunctionLowering, op: Operation) -> None:
    sizes = [lowering.number(each) for each in op.operands if each.type != TIMEPOINT]
    if dynamic_words(sizes):
        raise NotLowered(op, "has a size that is not known")
    known = [np.int64(size) for size in filled_words(sizes, ())]
    (result,) = run_operation(op, known, lowering.program.frame)
    lowering.bind(op.results[0], resident(lowering, op, result))


def resident(lowering: FunctionLowering, op: Operation, resource: Resource) -> HostResource:
    """Return a resource that the interpreter has computed, such as a constant.

    Raises NotLowered if its layout is not resolved.
    """
    if resource.unresolved_tensor is not None:
        raise NotLowered(op, f"has {resource.written_type}, whose layout is not resolved")
    owner = lowering.program.device_named(resource.owner)
    address = lowering.program.resource(resource, owner)
    return HostResource(lowering.builder.constant(address), None, resource.size, owner)


def _check_equal(
    lowering: FunctionLowering,
    op: Operation,
    left: IndexOrInt,
    right: IndexOrInt,
    check: Callable[[Operation, int, int], None],
) -> None:
    """Fail at run time if two numbers differ, with the error that `check` raises for them."""
    lowering.check(op, [left, right], lambda numbers: check(op, *numbers), same_sizes(1))


@lowers("stream.async.cast", "stream.async.clone")
def _same_bytes(lowering: FunctionLowering, op: Operation) -> None:
    source, here = resource_of(lowering, op, 0), lowering.program.device(op)
    check_owner(lowering, op, source, here)
    size = lowering.number(op.operands[-1])
    _check_equal(lowering, op, source.size, size, expect_size)
    lowering.bind_alias(op, replace(source, owner=here or source.owner))


@lowers("stream.async.slice")
def _slice(lowering: FunctionLowering, op: Operation) -> None:
    source = resource_of(lowering, op, 0)
    start, end, size = (lowering.number(each) for each in op.operands[2:])
    check_owner(lowering, op, source, lowering.program.device(op))
    part = byte_range(lowering, op, source, start, end)
    _check_equal(lowering, op, part.size, size, check_sliced)
    lowering.bind_alias(op, part)


@lowers("stream.async.splat")
def _splat(lowering: FunctionLowering, op: Operation) -> None:
    size = lowering.number(op.operands[-1])
    result = allocate(lowering, size, lowering.program.device(op))
    _write_pattern(lowering, op, result, len(op.operands) - 2)
    lowering.bind(op.results[0], result)


@lowers("stream.async.fill")
def _fill(lowering: FunctionLowering, op: Operation) -> None:
    check_owner(lowering, op, resource_of(lowering, op, 0), lowering.program.device(op))
    start, end, length = (lowering.number(each) for each in op.operands[2:5])
    _check_equal(lowering, op, lowering.builder.subtract(end, start), length, check_filled)
    result = writable_resource(lowering, op, 0)
    _write_pattern(lowering, op, byte_range(lowering, op, result, start, end), 5)
    lowering.bind(op.results[0], result)


def _write_pattern(
    lowering: FunctionLowering, op: Operation, target: HostResource, position: int
) -> None:
    """Fill a resource with the value of an operand."""
    builder = lowering.builder
    kind = op.operands[position].type
    value = lowering.number(op.operands[position])
    known = value if isinstance(value, int) else 0
    data = to_bytes(scalar_of(known, scalar_dtype(kind)).reshape(1), element_named(kind))
    if isinstance(value, Register) and data.size != scalar_dtype(kind).itemsize:
        raise NotLowered(op, "writes a pattern with different forms in memory and in registers")
    pattern = value
    if isinstance(value, int):
        pattern = int.from_bytes(data.tobytes(), "little", signed=True)

    def check(numbers: RegisterValues) -> None:
        check_multiple(op, numbers[0], data.size)

    rest = builder.modulo(target.size, data.size)
    lowering.check(op, [target.size, rest], check, SizeRules(((Word(1), 0),)))
    element = integer_element(8 * data.size)
    text = lowering.program.text((op, data.size), lambda: write_fill(op, element))
    count = builder.floor_divide(target.size, data.size)
    run_kernel_at(lowering, text, op, [target.address], [count, pattern], target.size)


@lowers("stream.async.update")
def _update(lowering: FunctionLowering, op: Operation) -> None:
    start, end = (lowering.number(each) for each in op.operands[2:4])
    size = lowering.builder.subtract(end, start)
    _copy_part(lowering, op, (start, end), (0, size))


@lowers("stream.async.copy")
def _copy(lowering: FunctionLowering, op: Operation) -> None:
    start, end = (lowering.number(each) for each in op.operands[2:4])
    source_start, source_end, length = (lowering.number(each) for each in op.operands[6:9])
    subtract = lowering.builder.subtract
    sizes = [subtract(source_end, source_start), subtract(end, start), length]
    rules = SizeRules(((Word(0), Word(1)), (Word(1), Word(2))))
    lowering.check(op, sizes, lambda numbers: check_copied(op, *numbers), rules)
    _copy_part(lowering, op, (start, end), (source_start, source_end))


def _copy_part(
    lowering: FunctionLowering,
    op: Operation,
    into: tuple[IndexOrInt, IndexOrInt],
    taken: tuple[IndexOrInt, IndexOrInt],
) -> None:
    here = lowering.program.device(op)
    source = resource_of(lowering, op, 4)
    check_owner(lowering, op, resource_of(lowering, op, 0), here)
    check_owner(lowering, op, source, here)
    part = byte_range(lowering, op, source, *taken)
    result = writable_resource(lowering, op, 0)
    target = byte_range(lowering, op, result, *into)
    builder = lowering.builder
    builder.emit("copy", target.address, part.address, builder.hold(part.size))
    lowering.bind(op.results[0], result)


@lowers("stream.async.transfer")
def _transfer(lowering: FunctionLowering, op: Operation) -> None:
    source = resource_of(lowering, op, 0)
    sender, receiver = attribute(op, "source_affinity"), attribute(op, "target_affinity")
    if sender is not None:
        check_owner(lowering, op, source, lowering.program.device(op, sender))
    _check_equal(lowering, op, source.size, lowering.number(op.operands[2]), expect_size)
    if receiver is None:
        owner = 0 if "staging" in str(op.results[0].type) else source.owner
    else:
        owner = lowering.program.device(op, receiver)
        # A constant, which belongs to no device and is never released, is read where it is.
        if source.owner != owner and (source.owner != 0 or source.block is not None):
            lowering.bind(op.results[0], _moved(lowering, op, source, owner))
            return
    lowering.bind_alias(op, replace(source, owner=owner))


def _moved(
    lowering: FunctionLowering, op: Operation, source: HostResource, owner: int
) -> HostResource:
    """Return the bytes of a resource on another device: copied, or in place if they are there."""
    builder = lowering.builder

    def copy() -> HostResource:
        copied = allocate(lowering, source.size, owner)
        builder.emit("copy", copied.address, source.address, builder.hold(source.size))
        count(lowering, owner, RECEIVED, source.size)
        return copied

    if isinstance(source.owner, int):
        return copy()
    lowering.acquire(op.operands[0])
    is_there = builder.hold(builder.compare("eq", source.owner, owner))
    address, block = replaced_unless(lowering, source, is_there, copy)
    return HostResource(address, block, source.size, owner)


def replaced_unless(
    lowering: FunctionLowering,
    source: HostResource,
    condition: Register,
    copy: Callable[[], HostResource],
) -> tuple[Register, Register]:
    """Return address and block of a resource, or of a copy if `condition` is 0 at run time.

    The resource is released when the copy replaces it.
    """
    builder = lowering.builder
    address, block = builder.register(), builder.register()
    builder.move(address, source.address)
    builder.move(block, 0 if source.block is None else source.block)
    end = builder.label()
    builder.jump_if(condition, end)
    with builder.scope():
        copied = copy()
        builder.emit("release", block)
        builder.move(address, copied.address)
        builder.move(block, copied.address)
    builder.bind_label(end)
    return address, block


def _stored_dtype(op: Operation, kind: Attribute) -> np.dtype[Any]:
    """Return an element's dtype. Raises NotLowered if it is stored in another number of bytes."""
    dtype = element_dtype(kind, op)
    if -(-element_named(kind).storage_bits // 8) != dtype.itemsize:
        raise NotLowered(op, "has elements with different forms in memory and in registers")
    return dtype


@lowers("stream.async.load")
def _load(lowering: FunctionLowering, op: Operation) -> None:
    kind = op.results[0].type
    dtype = _stored_dtype(op, kind)
    offset = lowering.number(op.operands[2])
    end = lowering.builder.add(offset, dtype.itemsize)
    part = byte_range(lowering, op, resource_of(lowering, op, 0), offset, end)
    loaded = lowering.builder.load_element(part.address, dtype)
    width = integer_width(kind)
    if width is not None and has_spare_bits(kind):
        loaded = _cut_off(lowering, loaded, width)
    lowering.bind(op.results[0], loaded)


def _cut_off(lowering: FunctionLowering, value: Register, width: int) -> Register:
    """Truncate a register to `width` bits and sign-extend it; one bit becomes 0 or 1."""
    builder = lowering.builder
    if width == 1:
        return builder.compute("andi_i64", value, builder.constant(1))
    shift = builder.constant(64 - width)
    return builder.compute("shrsi_i64", builder.compute("shli_i64", value, shift), shift)


@lowers("stream.async.store")
def _store(lowering: FunctionLowering, op: Operation) -> None:
    kind = op.operands[3].type
    dtype = _stored_dtype(op, kind)
    offset = lowering.number(op.operands[2])
    builder = lowering.builder
    result = writable_resource(lowering, op, 0)
    part = byte_range(lowering, op, result, offset, builder.add(offset, dtype.itemsize))
    value = builder.hold(lowering.number(op.operands[3]))
    builder.store_element(part.address, value, dtype)
    lowering.bind(op.results[0], result)


@lowers("stream.async.barrier")
def _barrier(lowering: FunctionLowering, op: Operation) -> None:
    lowering.bind_alias(op, lowering.value(op.operands[0]))


# What is known before the run -----------------------------------------------------------------


@lowers("hal.element_type", "hal.encoding_type")
def _type_number(lowering: FunctionLowering, op: Operation) -> None:
    (number,) = run_operation(op, (), lowering.program.frame)
    lowering.bind(op.results[0], word_of(np.asarray(number)))


@lowers("stream.resource.size")
def _size(lowering: FunctionLowering, op: Operation) -> None:
    lowering.bind(op.results[0], resource_of(lowering, op, 0).size)

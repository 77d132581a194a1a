"""Lowering of what the host does with bytes of devices, and of the executables that it runs.

Resources are values: an operation that writes to one gives a new one. Where nothing else reads the
old one, the new one lies in its place.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation

from ...interpreter.hal_buffers import BufferView
from ...interpreter.kernels import asks_for_workgroup, dispatched_kernel, tied_argument
from ...interpreter.registry import find_entry
from ...interpreter.storage import Resource, ranked
from ...ir.attribute_access import attribute, operand_groups, operation_name, required
from ...ir.diagnostics import OperationError
from ...ir.tensor_types import element_named
from ...runtime.abi.elements import integer_element
from ...runtime.abi.values import (
    Array,
    integer_width,
    is_number,
    scalar_dtype,
    shape_text,
    static_shape,
)
from ...runtime.host.builder import IndexOrInt
from ...runtime.host.pool import DISPATCHES, INPUTS, RECEIVED, RESULTS, account
from ...runtime.host.program import Numbers, Register
from ...tiling.packed_arrays import to_bytes
from ..kernels.packing import write_fill
from .elements import load_element, store_element
from .function_lowering import FunctionLowering
from .kernel_steps import run_kernel
from .resources import bind_tensor, has_spare_bits, in_place, read_tensor, write_tensor
from .rules import lowers
from .values import (
    BoundTensor,
    HostObject,
    HostResource,
    HostTensor,
    HostValue,
    HostView,
    NotLowered,
    element_dtype,
    scalar_of,
    type_shape,
    word_of,
)


def resource_of(lowering: FunctionLowering, op: Operation, position: int) -> HostResource:
    """An operand that is bytes."""
    found = lowering.value(op.operands[position])
    if isinstance(found, HostResource):
        return found
    raise NotLowered(op, "takes what is no resource")


def device_number(lowering: FunctionLowering, op: Operation) -> int:
    """The number of the device that an operation runs on, 0 if nothing says."""
    return lowering.program.device(op)


def reach(lowering: FunctionLowering, op: Operation, value: HostResource, here: int) -> None:
    """Let the run end if a device touches what is another's."""
    if here == 0:
        return
    names = lowering.program.devices

    def check(numbers: Numbers) -> None:
        (owner,) = numbers
        if owner not in (0, here):
            raise OperationError(
                op,
                f"runs on device {names[here]} and touches a resource of device {names[owner]}:"
                " it has to be transferred first",
            )

    if value.owner not in (0, here):
        lowering.check(op, [value.owner], check)


def allocate(lowering: FunctionLowering, size: IndexOrInt, owner: int) -> HostResource:
    """New bytes of a device."""
    builder = lowering.builder
    if owner != lowering.program.current_device:
        builder.emit("device", owner)
    block = builder.compute("allocate", builder.hold(size))
    if owner != lowering.program.current_device:
        builder.emit("device", lowering.program.current_device)
    return HostResource(block, block, size, owner)


def count(lowering: FunctionLowering, device: IndexOrInt, word: int, amount: IndexOrInt) -> None:
    """Add to one of a device's words, if it is known which device that is."""
    if isinstance(device, int) and device:
        builder = lowering.builder
        builder.emit("count", account(device, word), builder.hold(amount))


def part_of(
    lowering: FunctionLowering,
    op: Operation,
    value: HostResource,
    start: IndexOrInt,
    end: IndexOrInt,
) -> HostResource:
    """The bytes from `start` to `end`, which must be there; the reference stays the whole's."""

    def check(numbers: Numbers) -> None:
        first, last, size = numbers
        if not 0 <= first <= last <= size:
            raise OperationError(op, f"touches bytes {first} to {last} of {size}")

    lowering.check(op, [start, end, value.size], check)
    builder = lowering.builder
    address = builder.hold(builder.add(value.address, start))
    return HostResource(address, value.block, builder.subtract(end, start), value.owner)


def take_over(lowering: FunctionLowering, op: Operation, position: int) -> HostResource:
    """The bytes of an operand to write to: its own if nothing else reads them, else a copy."""
    builder = lowering.builder
    value, operand = resource_of(lowering, op, position), op.operands[position]
    is_read_again = sum(each is operand for each in op.operands) > 1
    size = builder.hold(value.size)
    if value.block is not None and not is_read_again and lowering.may_overwrite(operand):
        block = builder.compute("own", value.block, value.address, size)
    else:
        block = builder.compute("allocate", size)
        builder.emit("copy", block, value.address, size)
    return HostResource(block, block, value.size, value.owner)


# Bytes ----------------------------------------------------------------------------------------


@lowers("stream.async.alloca")
def _alloca(lowering: FunctionLowering, op: Operation) -> None:
    size = lowering.number(op.operands[0])
    lowering.bind(op.results[0], allocate(lowering, size, device_number(lowering, op)))


@lowers("stream.async.constant", "stream.tensor.constant")
def _constant(lowering: FunctionLowering, op: Operation) -> None:
    sizes = [lowering.number(each) for each in op.operands]
    if any(isinstance(size, Register) for size in sizes):
        raise NotLowered(op, "has a size that is not known")
    entry = find_entry(operation_name(op))
    if entry is None or entry.execute is None:
        raise NotLowered(op, "cannot be executed")
    known = [np.int64(size) for size in sizes if isinstance(size, int)]
    (resource,) = entry.execute(op, known, lowering.program.frame)
    lowering.bind(op.results[0], resident(lowering, op, resource))


def resident(lowering: FunctionLowering, op: Operation, resource: Resource) -> HostResource:
    """What the interpreter knows already: constants, and what initializers have made of them."""
    if resource.tensor is not None:
        raise NotLowered(op, f"has {resource.written_as}, whose layout is not settled")
    owner = lowering.program.device_named(resource.owner)
    address = lowering.program.resource(resource, owner)
    return HostResource(lowering.builder.constant(address), None, resource.size, owner)


@lowers("stream.async.cast", "stream.async.clone")
def _same_bytes(lowering: FunctionLowering, op: Operation) -> None:
    source, here = resource_of(lowering, op, 0), device_number(lowering, op)
    reach(lowering, op, source, here)
    size = lowering.number(op.operands[-1])

    def check(numbers: Numbers) -> None:
        if numbers[0] != numbers[1]:
            raise OperationError(op, f"takes a resource of {numbers[0]} bytes for {numbers[1]}")

    if size != source.size:
        lowering.check(op, [source.size, size], check)
    lowering.take(op.operands[0])
    owner = here or source.owner
    lowering.bind(op.results[0], HostResource(source.address, source.block, source.size, owner))


@lowers("stream.async.slice")
def _slice(lowering: FunctionLowering, op: Operation) -> None:
    source = resource_of(lowering, op, 0)
    start, end, size = (lowering.number(each) for each in op.operands[2:])
    reach(lowering, op, source, device_number(lowering, op))
    part = part_of(lowering, op, source, start, end)

    def check(numbers: Numbers) -> None:
        if numbers[0] != numbers[1]:
            raise OperationError(op, f"slices {numbers[0]} bytes into a resource of {numbers[1]}")

    lowering.check(op, [part.size, size], check)
    lowering.take(op.operands[0])
    lowering.bind(op.results[0], part)


@lowers("stream.async.splat")
def _splat(lowering: FunctionLowering, op: Operation) -> None:
    size = lowering.number(op.operands[1])
    result = allocate(lowering, size, device_number(lowering, op))
    _write_pattern(lowering, op, result, 0)
    lowering.bind(op.results[0], result)


@lowers("stream.async.fill")
def _fill(lowering: FunctionLowering, op: Operation) -> None:
    reach(lowering, op, resource_of(lowering, op, 0), device_number(lowering, op))
    start, end = (lowering.number(each) for each in op.operands[2:4])
    result = take_over(lowering, op, 0)
    _write_pattern(lowering, op, part_of(lowering, op, result, start, end), 5)
    lowering.bind(op.results[0], result)


def _write_pattern(
    lowering: FunctionLowering, op: Operation, target: HostResource, position: int
) -> None:
    """Write the value of an operand over and over."""
    builder = lowering.builder
    kind = op.operands[position].type
    value = lowering.number(op.operands[position])
    known = value if isinstance(value, int) else 0
    data = to_bytes(scalar_of(known, scalar_dtype(kind)).reshape(1), element_named(kind))
    if isinstance(value, Register) and data.size != scalar_dtype(kind).itemsize:
        raise NotLowered(op, "writes a pattern that is not stored as it is computed")
    pattern = value
    if isinstance(value, int):
        pattern = int.from_bytes(data.tobytes(), "little", signed=True)

    def check(numbers: Numbers) -> None:
        if numbers[0] % data.size:
            raise OperationError(
                op,
                f"writes a pattern of {data.size} bytes over and over to {numbers[0]} bytes",
            )

    lowering.check(op, [target.size], check)
    element = integer_element(8 * data.size)
    text = lowering.program.text((op, data.size), lambda: write_fill(op, element))
    count = builder.floor_divide(target.size, data.size)
    run_kernel(lowering, text, op, [target.address], [count, pattern])


@lowers("stream.async.update")
def _update(lowering: FunctionLowering, op: Operation) -> None:
    start, end = (lowering.number(each) for each in op.operands[2:4])
    size = lowering.builder.subtract(end, start)
    _copy_part(lowering, op, (start, end), 4, (0, size))


@lowers("stream.async.copy")
def _copy(lowering: FunctionLowering, op: Operation) -> None:
    start, end = (lowering.number(each) for each in op.operands[2:4])
    source_start, source_end, length = (lowering.number(each) for each in op.operands[6:9])

    def check(numbers: Numbers) -> None:
        to, since, upto, length_ = numbers[1] - numbers[0], *numbers[2:]
        if not to == upto - since == length_:
            raise OperationError(op, f"copies {upto - since} bytes to {to}, not {length_}")

    lowering.check(op, [start, end, source_start, source_end, length], check)
    _copy_part(lowering, op, (start, end), 4, (source_start, source_end))


def _copy_part(
    lowering: FunctionLowering,
    op: Operation,
    into: tuple[IndexOrInt, IndexOrInt],
    position: int,
    taken: tuple[IndexOrInt, IndexOrInt],
) -> None:
    here = device_number(lowering, op)
    source = resource_of(lowering, op, position)
    reach(lowering, op, resource_of(lowering, op, 0), here)
    reach(lowering, op, source, here)
    part = part_of(lowering, op, source, *taken)
    result = take_over(lowering, op, 0)
    target = part_of(lowering, op, result, *into)
    builder = lowering.builder
    builder.emit("copy", target.address, part.address, builder.hold(part.size))
    lowering.bind(op.results[0], result)


@lowers("stream.async.transfer")
def _transfer(lowering: FunctionLowering, op: Operation) -> None:
    source, builder = resource_of(lowering, op, 0), lowering.builder
    sender, receiver = attribute(op, "source_affinity"), attribute(op, "target_affinity")
    if sender is not None:
        reach(lowering, op, source, lowering.program.device(op, sender))
    if isinstance(source.owner, Register):
        raise NotLowered(op, "transfers what may be of any device")
    owner = source.owner
    if receiver is None:
        owner = 0 if "staging" in str(op.results[0].type) else owner
    else:
        owner = lowering.program.device(op, receiver)
    if receiver is None or owner == source.owner:
        lowering.take(op.operands[0])
        moved = HostResource(source.address, source.block, source.size, owner)
        lowering.bind(op.results[0], moved)
        return
    result = allocate(lowering, source.size, owner)
    builder.emit("copy", result.address, source.address, builder.hold(source.size))
    count(lowering, result.owner, RECEIVED, source.size)
    lowering.bind(op.results[0], result)


@lowers("stream.async.load")
def _load(lowering: FunctionLowering, op: Operation) -> None:
    kind = op.results[0].type
    dtype = element_dtype(kind, op)
    size = -(-element_named(kind).storage_bits // 8)
    if size != dtype.itemsize:
        raise NotLowered(op, "loads what is not stored as it is computed")
    offset = lowering.number(op.operands[2])
    end = lowering.builder.add(offset, size)
    part = part_of(lowering, op, resource_of(lowering, op, 0), offset, end)
    loaded = load_element(lowering.builder, part.address, dtype)
    width = integer_width(kind)
    if width is not None and has_spare_bits(kind):
        loaded = _cut_off(lowering, loaded, width)
    lowering.bind(op.results[0], loaded)


def _cut_off(lowering: FunctionLowering, value: Register, width: int) -> Register:
    """The low bits of a register, extended by their sign; one bit is 0 or 1."""
    builder = lowering.builder
    if width == 1:
        return builder.compute("andi_i64", value, builder.constant(1))
    shift = builder.constant(64 - width)
    return builder.compute("shrsi_i64", builder.compute("shli_i64", value, shift), shift)


@lowers("stream.async.store")
def _store(lowering: FunctionLowering, op: Operation) -> None:
    kind = op.operands[3].type
    dtype = element_dtype(kind, op)
    size = -(-element_named(kind).storage_bits // 8)
    if size != dtype.itemsize:
        raise NotLowered(op, "stores what is not stored as it is computed")
    offset = lowering.number(op.operands[2])
    builder = lowering.builder
    result = take_over(lowering, op, 0)
    part = part_of(lowering, op, result, offset, builder.add(offset, size))
    value = builder.hold(lowering.number(op.operands[3]))
    store_element(builder, part.address, value, dtype)
    lowering.bind(op.results[0], result)


@lowers("stream.async.barrier")
def _barrier(lowering: FunctionLowering, op: Operation) -> None:
    lowering.bind(op.results[0], lowering.take(op.operands[0]))


# The edge of the program ----------------------------------------------------------------------


def _view(lowering: FunctionLowering, op: Operation) -> HostView:
    found = lowering.value(op.operands[0])
    if isinstance(found, HostView):
        return found
    raise NotLowered(op, "takes what is no buffer view")


@lowers("hal.buffer_view.dim")
def _dimension(lowering: FunctionLowering, op: Operation) -> None:
    index = getattr(getattr(attribute(op, "index"), "value", None), "data", 0)
    shape = _view(lowering, op).tensor.shape
    if index >= len(shape):
        raise NotLowered(op, f"asks for dimension {index} of {len(shape)}")
    lowering.bind(op.results[0], shape[index])


@lowers("hal.buffer_view.assert")
def _assert(lowering: FunctionLowering, op: Operation) -> None:
    view = _view(lowering, op)
    entry = find_entry(operation_name(op))
    values = [lowering.number(each) for each in op.operands[1:]]

    def check(numbers: Numbers) -> None:
        rank = len(view.tensor.shape)
        array = np.lib.stride_tricks.as_strided(
            np.empty(1, view.tensor.dtype), tuple(numbers[:rank]), (0,) * rank
        )
        others = [np.int64(number) for number in numbers[rank:]]
        if entry is not None and entry.execute is not None:
            entry.execute(op, [BufferView(array, view.element), *others], lowering.program.frame)

    lowering.check(op, [*view.tensor.shape, *values], check)


@lowers("stream.tensor.import")
def _import(lowering: FunctionLowering, op: Operation) -> None:
    tensor = ranked(op, required(op, "result_encoding"))
    given = _view(lowering, op).tensor
    dims = [lowering.number(each) for each in op.operands[1:-1]]
    size, owner = lowering.number(op.operands[-1]), device_number(lowering, op)
    shape = filled(static_shape(tensor) or (), dims)

    def check(numbers: Numbers) -> None:
        rank = len(given.shape)
        if numbers[:rank] != numbers[rank:]:
            raise OperationError(
                op,
                f"imports {shape_text(tuple(numbers[:rank]))} as a tensor of"
                f" {shape_text(tuple(numbers[rank:]))}",
            )

    lowering.check(op, [*given.shape, *shape], check)
    contents = HostResource(given.address, given.block, size, owner)
    bound = bind_tensor(lowering, op, contents, tensor, shape)
    if in_place(op, bound) is not None:
        count(lowering, owner, INPUTS, given.bytes(lowering.builder))
        lowering.bind(op.results[0], contents)
        return
    contents = allocate(lowering, size, owner)
    write_tensor(lowering, op, bind_tensor(lowering, op, contents, tensor, shape), given)
    lowering.bind(op.results[0], contents)


def filled(static: Sequence[int], dims: Sequence[IndexOrInt]) -> tuple[IndexOrInt, ...]:
    """A shape whose open sizes are given."""
    rest = iter(dims)
    return tuple(size if size >= 0 else next(rest) for size in static)


@lowers("stream.tensor.export")
def _export(lowering: FunctionLowering, op: Operation) -> None:
    source = resource_of(lowering, op, 0)
    reach(lowering, op, source, device_number(lowering, op))
    tensor = ranked(op, required(op, "source_encoding"))
    shape = filled(static_shape(tensor) or (), [lowering.number(e) for e in op.operands[1:-1]])
    bound = bind_tensor(lowering, op, source, tensor, shape)
    found = read_tensor(lowering, op, bound)
    if found.block is not None and found.block == source.block:
        # The result lies in the resource.
        lowering.take(op.operands[0])
        count(lowering, source.owner, RESULTS, found.bytes(lowering.builder))
    lowering.bind(op.results[0], HostView(found, tensor.element_type))


# Kernels --------------------------------------------------------------------------------------


@lowers("stream.async.dispatch")
def _dispatch(lowering: FunctionLowering, op: Operation) -> None:
    workload, values, _, starts, ends, _, sizes = operand_groups(op, op.operands)
    here = device_number(lowering, op)
    ranges = iter(zip(starts, ends, strict=True))
    given: list[HostValue] = []
    for value in values:
        content = lowering.value(value)
        if isinstance(content, HostResource):
            reach(lowering, op, content, here)
            start, end = (lowering.number(each) for each in next(ranges))
            content = part_of(lowering, op, content, start, end)
        given.append(content)
    results: list[HostResource] = []
    written: set[int] = set()
    taken: set[int] = set()
    for index, size in enumerate(sizes):
        tied = tied_argument(op, index)
        if tied is None:
            results.append(allocate(lowering, lowering.number(size), here))
            written.add(len(given))
            given.append(results[-1])
            continue
        results.append(take_over(lowering, op, len(workload) + tied))
        given[tied] = results[-1]
        taken.add(tied)
    function, _ = dispatched_kernel(op, lowering.program.frame)
    entry = function.regions[0].blocks[0]
    if asks_for_workgroup(function.regions[0]):
        raise NotLowered(op, "runs a kernel for each workgroup, which has no host code")
    if len(entry.args) != len(given) or len(function.regions[0].blocks) > 1:
        raise NotLowered(op, f"gives its kernel {len(given)} values")
    count(lowering, here, DISPATCHES, 1)
    outer = lowering.fresh, lowering.tied, lowering.program.current_device
    lowering.fresh = frozenset(entry.args[position] for position in written)
    lowering.tied = frozenset(entry.args[position] for position in taken)
    lowering.program.current_device = here
    lowering.builder.emit("device", here)
    borrowed = [_borrowed(each) for each in given]
    lowering.lower_region(function.regions[0], borrowed, lambda end, contents: None)
    lowering.fresh, lowering.tied, lowering.program.current_device = outer
    lowering.builder.emit("device", lowering.program.current_device)
    for result, content in zip(op.results, results, strict=True):
        owned = HostResource(content.address, content.block, content.size, here or content.owner)
        lowering.bind(result, owned)


def _borrowed(content: HostValue) -> HostValue:
    """The same without a reference; numbers as objects would be, so that all are bound alike."""
    if isinstance(content, HostResource):
        return HostResource(content.address, None, content.size, content.owner)
    return content


@lowers(
    "flow.dispatch.tie_shape",
    "flow.dispatch.workload.ordinal",
    "iree_tensor_ext.dispatch.workload.ordinal",
)
def _same(lowering: FunctionLowering, op: Operation) -> None:
    lowering.values[op.results[0]] = lowering.value(op.operands[0])


@lowers("stream.binding.subspan")
def _subspan(lowering: FunctionLowering, op: Operation) -> None:
    binding = resource_of(lowering, op, 0)
    offset, *dims = (lowering.number(each) for each in op.operands[1:])
    kind = op.results[0].type
    tensor = getattr(kind, "encoded_tensor", lambda: None)()
    if tensor is None:
        raise NotLowered(op, f"binds {kind}: only tensors can be run")
    part = part_of(lowering, op, binding, offset, binding.size)
    shape = filled(tensor.get_shape(), dims)
    lowering.values[op.results[0]] = bind_tensor(lowering, op, part, tensor, shape)


def _bound(lowering: FunctionLowering, op: Operation, position: int) -> BoundTensor:
    found = lowering.value(op.operands[position])
    if isinstance(found, BoundTensor):
        return found
    raise NotLowered(op, "accesses what is no dispatch tensor")


def _is_whole(lowering: FunctionLowering, op: Operation, bound: BoundTensor, first: int) -> bool:
    """Whether an access is of all elements."""
    groups = operand_groups(op, op.operands)[first:]
    lists = [
        lowering.shapes.mixed(op, f"static_{name}", values)
        for name, values in zip(("offsets", "sizes", "strides"), groups, strict=True)
    ]
    ones = (1,) * len(bound.shape)
    return lists == [(0,) * len(bound.shape), bound.shape, ones]


@lowers("flow.dispatch.tensor.load", "iree_tensor_ext.dispatch.tensor.load")
def _tensor_load(lowering: FunctionLowering, op: Operation) -> None:
    bound = _bound(lowering, op, 0)
    if not _is_whole(lowering, op, bound, 2):
        raise NotLowered(op, "loads a part of a binding, which has no host code")
    lowering.bind(op.results[0], read_tensor(lowering, op, bound))


STORES = ("flow.dispatch.tensor.store", "iree_tensor_ext.dispatch.tensor.store")


@lowers(*STORES)
def _tensor_store(lowering: FunctionLowering, op: Operation) -> None:
    bound = _bound(lowering, op, 1)
    if not _is_whole(lowering, op, bound, 3):
        raise NotLowered(op, "stores a part of a binding, which has no host code")
    write_tensor(lowering, op, bound, lowering.tensor(op.operands[0]))


# What is known before the run -----------------------------------------------------------------


@lowers("hal.element_type", "hal.encoding_type")
def _type_number(lowering: FunctionLowering, op: Operation) -> None:
    entry = find_entry(operation_name(op))
    if entry is None or entry.execute is None:
        raise NotLowered(op, "cannot be executed")
    (number,) = entry.execute(op, (), lowering.program.frame)
    lowering.bind(op.results[0], word_of(np.asarray(number)))


@lowers("stream.resource.size")
def _size(lowering: FunctionLowering, op: Operation) -> None:
    lowering.bind(op.results[0], resource_of(lowering, op, 0).size)


@lowers("util.global.load")
def _global(lowering: FunctionLowering, op: Operation) -> None:
    """The value that initializers have given a global that nothing else stores to."""
    value = lowering.program.global_value(op)
    result = op.results[0]
    if isinstance(value, Resource):
        lowering.bind(result, resident(lowering, op, value))
    elif is_number(value):
        array: Array = np.asarray(value)
        if type_shape(result.type, op) is None:
            lowering.bind(result, word_of(array))
            return
        address = lowering.builder.constant(lowering.program.keep(array))
        lowering.bind(result, HostTensor(address, None, array.shape, array.dtype))
    else:
        lowering.bind(result, HostObject(value))

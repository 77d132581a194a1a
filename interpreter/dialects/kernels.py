"""Execute executables and dispatches of the `flow` and `stream` dialects.

A dispatch runs the function that an export refers to. If the function reads its workgroup ID, it
runs once for each workgroup; otherwise it runs once, on whole tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, SymbolRefAttr, TensorType
from xdsl.ir import Attribute, Operation, Region

from ...dialects.iree_encoding.interfaces import encoded_tensor_of
from ...ir.attribute_access import (
    attribute,
    integer,
    integers,
    operand_groups,
    operation_name,
    symbol,
    symbol_text,
)
from ...ir.diagnostics import OperationError
from ...runtime.abi.arrays import Array, Value
from ...runtime.abi.values import undefined
from ..bindings import ArraySlot, Binding, BoundTensor, ByteSlot, check_stored_shape
from ..devices import check_access
from ..frames import Exit, Frame
from ..registry import Results, Routine, impl, impl_with_regions, terminates
from ..shapes import filled_shape, kept_axes, sliced
from ..storage import Resource, fresh, resource_size

terminates("hal.return", "stream.return")

EXPORTS = ("flow.executable.export", "stream.executable.export")
WORKGROUP_NUMBERS = ("id", "count", "size")
WORKGROUP = "workgroup"
"""Key of the device memory that holds the ID and count of the current workgroup."""


# --------------------------------------------------------------------------------------------
# Dispatches


@impl_with_regions("flow.dispatch")
def _flow_dispatch(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    workload, arguments, _, dims = operand_groups(op, operands)
    function, count = dispatched_kernel(op, frame)
    slots, results = _array_slots(op, arguments, dims)
    yield run_kernel(op, function.regions[0], count, workload, slots, frame)
    return [slot.array for slot in results]


@impl_with_regions("flow.dispatch.workgroups")
def _flow_workgroups(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    workload, arguments, _, dims = operand_groups(op, operands)
    slots, results = _array_slots(op, arguments, dims)
    yield run_kernel(op, op.regions[0], op.regions[1], workload, slots, frame)
    return [slot.array for slot in results]


def _array_slots(
    op: Operation, arguments: Sequence[Value], dims: Sequence[Value]
) -> tuple[list[Value], list[ArraySlot]]:
    """Return the arguments of a flow kernel, and the slots that will hold its results."""
    slots: list[Value] = [
        ArraySlot(np.asarray(value)) if isinstance(operand.type, TensorType) else value
        for value, operand in zip(arguments, _dispatched(op, arguments), strict=True)
    ]
    rest = iter(dims)
    results: list[ArraySlot] = []
    for index, result in enumerate(op.results):
        extents = cast("TensorType[Attribute]", result.type).get_shape()
        sizes = [next(rest) for extent in extents if extent < 0]
        tied = tied_argument(op, index)
        if tied is not None:
            results.append(slots[tied])
            continue
        slot = ArraySlot(undefined(filled_shape(op, result.type, sizes), result.type))
        slots.append(slot)
        results.append(slot)
    return slots, results


@impl_with_regions("stream.tensor.dispatch")
def _tensor_dispatch(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    workload, values, _, _, sizes, _ = operand_groups(op, operands)
    return (yield _dispatch(op, workload, values, sizes, frame))


@impl_with_regions("stream.async.dispatch")
def _async_dispatch(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    workload, values, _, starts, ends, _, sizes = operand_groups(op, operands)
    ranges = iter(zip(starts, ends, strict=True))
    for value in values:
        if isinstance(value, Resource):
            start, end = (int(bound) for bound in next(ranges))
            if (start, end) != (0, value.size):
                raise OperationError(
                    op,
                    f"passes bytes {start} to {end} of a resource of {value.size} bytes to its "
                    "kernel: only whole resources are supported",
                )
    return (yield _dispatch(op, workload, values, sizes, frame))


def _dispatch(
    op: Operation,
    workload: Sequence[Value],
    values: Sequence[Value],
    sizes: Sequence[Value],
    frame: Frame,
) -> Routine:
    here = check_access(op, frame, *(each for each in values if isinstance(each, Resource)))
    given: list[Value] = [Binding(each) if isinstance(each, Resource) else each for each in values]
    results: list[Binding] = []
    for index, size in zip(range(len(op.results)), sizes, strict=True):
        tied = tied_argument(op, index)
        if tied is not None:
            results.append(given[tied])
            continue
        results.append(Binding(fresh(resource_size(op, size), here)))
        given.append(results[-1])
    function, count = dispatched_kernel(op, frame)
    yield run_kernel(op, function.regions[0], count, workload, given, frame)
    return [binding.resource.owned_by(here) for binding in results]


def _dispatched(op: Operation, arguments: Sequence[Value]) -> Sequence[Value]:
    """Return the operands of a dispatch that are kernel arguments: those after the workload."""
    start = integers(op, "operandSegmentSizes")[0]
    return op.operands[start : start + len(arguments)]


def tied_argument(op: Operation, index: int) -> int | None:
    """Return the index of the dispatch argument that a result is tied to, or `None`."""
    ties = integers(op, "tied_operands")
    return ties[index] if index < len(ties) and ties[index] >= 0 else None


def entry_export(op: Operation, frame: Frame) -> Operation | None:
    """Return the export that a dispatch names (the first of several); `None` if undefined.

    Raises OperationError if the dispatch names none.
    """
    return frame.process.program.lookup(op, _entry_name(op))


def _entry_name(op: Operation) -> str:
    points = attribute(op, "entry_points")
    listed = cast("ArrayAttr[Attribute]", points) if isinstance(points, ArrayAttr) else ()
    for point in listed:
        if isinstance(point, SymbolRefAttr):
            return symbol_text(point)
    raise OperationError(op, "does not name a kernel")


def dispatched_kernel(op: Operation, frame: Frame) -> tuple[Operation, Region | None]:
    """Return the function that a dispatch runs, and the region that computes its workgroup count.

    Raises OperationError if one is not defined.
    """
    export = entry_export(op, frame)
    if export is None or operation_name(export) not in EXPORTS:
        raise OperationError(op, f"dispatches @{_entry_name(op)}, which is not defined")
    target = symbol(export, "function_ref")
    found = exported_function(export, target, frame)
    if found is None:
        raise OperationError(export, f"exports @{target}, which is not defined")
    return found, export.regions[0] if export.regions else None


def exported_function(export: Operation, name: str, frame: Frame) -> Operation | None:
    """Return the function of a name in the modules beside an export; `None` if undefined."""
    block = export.parent
    for inner in block.ops if block is not None else ():
        if operation_name(inner) != "builtin.module":
            continue
        first = inner.regions[0].block.first_op
        found = frame.process.program.lookup(first, name) if first is not None else None
        if found is not None and found.regions and found is not export:
            return found
    return None


def run_kernel(
    op: Operation,
    body: Region,
    count: Region | None,
    workload: Sequence[Value],
    arguments: Sequence[Value],
    frame: Frame,
) -> Routine:
    """Run a kernel: once for each workgroup if it reads its workgroup ID, otherwise once.

    Raises OperationError if the number of arguments differs.
    """
    entry = body.blocks[0]
    if len(entry.args) != len(arguments):
        raise OperationError(
            op, f"passes {len(arguments)} values to its kernel, which takes {len(entry.args)}"
        )
    count = count if asks_for_workgroup(body) else None
    groups = yield workgroup_count(count, workload, frame)
    yield run_workgroups(body, groups, arguments, frame)


def workgroup_count(count: Region | None, workload: Sequence[Value], frame: Frame) -> Routine:
    """Return the counts along x, y and z that a region computes; one workgroup without a region."""
    if count is None or not count.blocks:
        return (1, 1, 1)
    exit_: Exit = yield Frame(frame.process).run_region(count, workload)
    return tuple(int(number) for number in exit_.values)


def run_workgroups(
    body: Region, groups: tuple[int, ...], arguments: Sequence[Value], frame: Frame
) -> Routine:
    """Run a kernel once for each workgroup; `groups` are the counts along x, y and z."""
    for group in product(*(range(number) for number in reversed(groups))):
        inner = Frame(frame.process, frame.depth + 1)
        frame.process.memory[WORKGROUP] = {"id": group[::-1], "count": groups, "size": (1, 1, 1)}
        yield inner.run_region(body, arguments)


def asks_for_workgroup(body: Region) -> bool:
    """Return whether a kernel reads its workgroup ID."""
    return any(".workgroup.id" in operation_name(op) for op in body.walk())


# --------------------------------------------------------------------------------------------
# Inside kernels


@impl("stream.binding.subspan")
def _subspan(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    binding, offset, *dims = operands
    return (bound_tensor(op, binding, offset, dims),)


def bound_tensor(op: Operation, binding: Value, offset: Value, dims: Sequence[Value]) -> ByteSlot:
    """Return the tensor that a subspan operation reads at a byte offset of a binding.

    Raises OperationError.
    """
    type_ = op.results[0].type
    tensor = encoded_tensor_of(type_)
    if not isinstance(binding, Binding) or tensor is None:
        raise OperationError(op, f"binds {type_}, expected a tensor")
    check_offset(op, int(offset), binding.resource.size)
    shape = filled_shape(op, tensor, dims)
    return ByteSlot(binding, int(offset), tensor, dims, shape)


def check_offset(op: Operation, offset: int, size: int) -> None:
    """Raise OperationError if a tensor starts outside of the bytes of its binding."""
    if not 0 <= offset <= size:
        raise OperationError(op, f"starts at byte {offset} of a resource of {size} bytes")


@impl("flow.dispatch.tensor.load", "iree_tensor_ext.dispatch.tensor.load")
def _load(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (source,), _, *ranges = operand_groups(op, operands)
    whole = _bound(op, source).read(op)
    taken = whole[sliced(op, whole.shape, ranges)]
    return (np.array(taken.reshape([taken.shape[axis] for axis in kept_axes(op)])),)


@impl("flow.dispatch.tensor.store", "iree_tensor_ext.dispatch.tensor.store")
def _store(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (value,), (target,), _, *ranges = operand_groups(op, operands)
    slot = _bound(op, target)
    parts = sliced(op, slot.shape, ranges)
    sizes = part_sizes(slot.shape, parts)
    array = as_part(op, np.asarray(value), sizes)
    if any(range(n)[part] != range(n) for n, part in zip(slot.shape, parts, strict=True)):
        whole = np.array(slot.read(op))
        whole[parts] = array
        array = whole
    slot.write(op, array)
    return ()


def part_sizes(shape: Sequence[int], parts: Sequence[slice]) -> tuple[int, ...]:
    """Return the extents of a slice of a tensor."""
    return tuple(len(range(extent)[part]) for extent, part in zip(shape, parts, strict=True))


def as_part(op: Operation, value: Array, sizes: tuple[int, ...]) -> Array:
    """Reshape a stored value to the slice it is stored to; its type may drop unit dimensions.

    Raises OperationError if the element counts differ.
    """
    if value.size != prod(sizes):
        check_stored_shape(op, value.shape, sizes)
    return value.reshape(sizes)


def _bound(op: Operation, value: Value) -> BoundTensor:
    if not isinstance(value, BoundTensor):
        raise OperationError(op, "accesses a value that is not a dispatch tensor")
    return value


@impl(
    "flow.dispatch.workgroup_count_from_slice",
    "iree_tensor_ext.dispatch.workgroup_count_from_slice",
)
def _count_from_slice(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    """Return one workgroup: the kernel is not distributed yet."""
    return (np.int64(1),) * 3


@impl(
    *(
        f"{kernel}.workgroup.{number}"
        for kernel in ("flow.dispatch", "hal.interface", "stream.dispatch")
        for number in WORKGROUP_NUMBERS
    )
)
def _workgroup_number(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    which = operation_name(op).rpartition(".")[2]
    return (np.int64(frame.process.memory[WORKGROUP][which][integer(op, "dimension")]),)

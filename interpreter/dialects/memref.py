"""Execute the `memref` and `bufferization` dialects: arrays written in place, and views of them.

A memref is a NumPy array that operations may write to; a subview is a view of the same memory.
Freed memory is marked, and using it is an error. Layouts and memory spaces of types have no effect:
an index refers to the same element under any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import AffineMapAttr, MemRefType, UnitAttr
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineDimExpr

from ...dialects.atomic_kinds import kind_name
from ...ir.attribute_access import (
    attribute,
    integer_lists,
    mixed,
    operand_groups,
    operation_name,
    symbol,
)
from ...ir.diagnostics import OperationError
from ...runtime.abi.arrays import Array, Value, shape_fits, shape_text
from ...runtime.abi.values import dtype_of, static_shape, undefined
from ..atomic_kinds import combined
from ..constants import constant_array
from ..frames import Exit, Frame, owner
from ..nests.loops import element, set_element
from ..registry import Results, Routine, impl, impl_with_regions, terminates
from ..shapes import filled_shape, kept_axes, sliced

terminates("memref.alloca_scope.return", "memref.atomic_yield")

_GLOBALS = "memref.globals"


@impl("memref.alloc", "memref.alloca")
def _alloc(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    sizes = operand_groups(op, operands)[0]
    result_type = op.results[0].type
    return (undefined(filled_shape(op, result_type, sizes), result_type),)


@impl("memref.dealloc")
def _dealloc(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    _free(operands[0], frame)
    return ()


def _free(array: Array, frame: Frame) -> None:
    """Mark the memory of a view as freed."""
    freed = owner(array)
    frame.process.freed[id(freed)] = freed


@impl("memref.load")
def _load(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (element(op, operands[0], operands[1:]),)


@impl("memref.store")
def _store(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    value, array, *indices = operands
    set_element(op, array, indices, value)
    return ()


@impl("memref.copy")
def _copy(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source, target = operands
    if source.shape != target.shape:
        raise OperationError(
            op, f"copies shape {shape_text(source.shape)} to shape {shape_text(target.shape)}"
        )
    target[...] = source
    return ()


@impl("memref.cast", "memref.memory_space_cast", "memref.assume_alignment")
def _cast(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    if not op.results:
        return ()
    expected = static_shape(op.results[0].type)
    if expected is not None and not shape_fits(operands[0].shape, expected):
        raise OperationError(
            op, f"casts shape {shape_text(operands[0].shape)} to {op.results[0].type}"
        )
    return (operands[0],)


@impl("memref.rank")
def _rank(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (np.int64(operands[0].ndim),)


@impl("memref.subview")
def _subview(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (source,), *groups = operand_groups(op, operands)
    taken = source[sliced(op, source.shape, groups)]
    kept = kept_axes(op)
    dropped = tuple(axis for axis in range(taken.ndim) if axis not in kept)
    return (np.squeeze(taken, axis=dropped),)


@impl("memref.collapse_shape", "memref.expand_shape")
def _reassociate(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source = operands[0]
    groups = integer_lists(op, "reassociation")
    if operation_name(op) == "memref.collapse_shape":
        shape = [prod(source.shape[axis] for axis in group) for group in groups]
    else:
        shape = list(mixed(op, "static_output_shape", operands[1:]))
    return (_reshaped(op, source, shape),)


def _reshaped(op: Operation, source: Array, shape: Sequence[int]) -> Array:
    """Return a view of another shape. Raises OperationError if that takes a copy."""
    view: Any = source.view()
    try:
        view.shape = tuple(shape)
    except (AttributeError, ValueError) as error:
        raise OperationError(
            op,
            f"cannot reinterpret memory of shape {shape_text(source.shape)} as shape "
            f"{tuple(shape)}",
        ) from error
    return view


@impl("memref.reinterpret_cast")
def _reinterpret(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (source,), *groups = operand_groups(op, operands)
    names = ("static_offsets", "static_sizes", "static_strides")
    lists = [mixed(op, name, group) for name, group in zip(names, groups, strict=True)]
    (offset,), sizes, strides = lists
    return (_strided(op, _whole(op, source), offset, sizes, strides),)


def _whole(op: Operation, view: Array) -> Array:
    """Return the allocation that a view is a part of, with its elements.

    Raises OperationError after memref.view, whose result counts as an allocation: NumPy does not
    tell where it begins.
    """
    whole, source = owner(view), op.operands[0]
    is_viewed = whole.itemsize != view.itemsize
    while isinstance(source, OpResult) and source.op.operands:
        is_viewed = is_viewed or operation_name(source.op) == "memref.view"
        source = source.op.operands[0]
    if is_viewed:
        raise OperationError(op, "needs the start of what memref.view returns, which is not known")
    return whole.view(view.dtype)


def _strided(
    op: Operation, whole: Array, offset: int, sizes: Sequence[int], strides: Sequence[int]
) -> Array:
    """Return a view of the memory of an array: all numbers count elements."""
    ends = [(size - 1) * stride for size, stride in zip(sizes, strides, strict=True)]
    first = offset + sum(end for end in ends if end < 0)
    last = offset + sum(end for end in ends if end > 0)
    if all(sizes) and not 0 <= first <= last < whole.size:
        raise OperationError(
            op, f"views the elements {first} to {last} of memory that has {whole.size}"
        )
    flat, width = _reshaped(op, whole, [whole.size]), whole.itemsize
    steps = [stride * width for stride in strides]
    return np.ndarray(tuple(sizes), whole.dtype, flat, offset * width if all(sizes) else 0, steps)


@impl("memref.extract_strided_metadata")
def _metadata(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source = operands[0]
    whole = _whole(op, source)
    offset = (_address(source) - _address(whole)) // source.itemsize
    strides = [stride // source.itemsize for stride in source.strides]
    numbers = (np.int64(number) for number in (offset, *source.shape, *strides))
    return (_strided(op, whole, 0, (), ()), *numbers)


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


@impl("memref.view")
def _view(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source, shift, *sizes = operands
    result_type = op.results[0].type
    shape, dtype = filled_shape(op, result_type, sizes), dtype_of(result_type)
    start, end = int(shift), int(shift) + prod(shape) * dtype.itemsize
    if not 0 <= start <= end <= source.size:
        raise OperationError(
            op, f"views the bytes {start} to {end} of memory that has {source.size}"
        )
    return (np.ndarray(shape, dtype, source, start),)


@impl("memref.reshape")
def _reshape(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source, sizes = operands
    return (_reshaped(op, source, [int(size) for size in sizes]),)


@impl("memref.transpose")
def _transpose(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    permutation = attribute(op, "permutation")
    order = permutation.data.results if isinstance(permutation, AffineMapAttr) else ()
    return (np.transpose(operands[0], [cast(AffineDimExpr, each).position for each in order]),)


@impl("memref.realloc")
def _realloc(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source, *sizes = operands
    result_type = op.results[0].type
    result = undefined(filled_shape(op, result_type, sizes), result_type)
    common = min(source.size, result.size)
    result[:common] = source[:common]
    _free(source, frame)
    return (result,)


@impl("memref.atomic_rmw")
def _atomic_rmw(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    value, array, *indices = operands
    old = np.array(element(op, array, indices))
    kind = kind_name(attribute(op, "kind"))
    set_element(op, array, indices, combined(op, kind, old, value, op.results[0].type))
    return (old,)


@impl_with_regions("memref.generic_atomic_rmw")
def _generic_atomic_rmw(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    array, *indices = operands
    old = np.array(element(op, array, indices))
    exit_: Exit = yield frame.run_region(op.regions[0], [old])
    set_element(op, array, indices, exit_.values[0])
    return (old,)


@impl("memref.get_global")
def _get_global(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    name = symbol(op, "name")
    known: dict[str, Array] = frame.process.memory.setdefault(_GLOBALS, {})
    if name not in known:
        definition = frame.process.program.lookup(op, name)
        if definition is None:
            raise OperationError(op, f"names the global @{name}, which is not defined")
        value = attribute(definition, "initial_value")
        value_type = op.results[0].type
        if value is None or isinstance(value, UnitAttr):
            known[name] = undefined(static_shape(value_type) or (), value_type)
        else:
            known[name] = np.array(constant_array(definition, value), dtype_of(value_type))
    return (known[name],)


@impl(
    "bufferization.clone",
    "bufferization.to_buffer",
    "bufferization.to_memref",
    "bufferization.to_tensor",
)
def _copied(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    # A tensor is a value: later writes to memory must not change it.
    return (np.array(operands[0]),)


def delivered(
    op: Operation, outputs: Sequence[SSAValue], operands: Sequence[Value], results: Results
) -> Results:
    """Return results, or write them to the outputs of an operation on memory, which has none.

    `operands` are the values of the outputs.
    """
    if op.results:
        return results
    for output, operand, result in zip(outputs, operands, results, strict=True):
        if isinstance(output.type, MemRefType):
            operand[...] = result
    return ()


@impl("bufferization.materialize_in_destination")
def _materialize(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return delivered(op, op.operands[1:], operands[1:], operands[:1])


@impl("bufferization.alloc_tensor")
def _alloc_tensor(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    sizes, copy, *_ = [*operand_groups(op, operands), ()]
    if copy:
        return (copy[0],)
    result_type = op.results[0].type
    return (undefined(filled_shape(op, result_type, sizes), result_type),)

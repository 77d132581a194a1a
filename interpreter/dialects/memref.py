"""Execute the `memref` and `bufferization` dialects: arrays written in place, and views of them.

A memref is a NumPy array that operations may write to; a subview is a view of the same memory.
Freed memory is marked, and using it is an error. Layouts and memory spaces of types have no effect:
an index refers to the same element under any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import MemRefType, UnitAttr
from xdsl.ir import Operation, SSAValue

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
from ..constants import constant_array
from ..frames import Frame, owner
from ..nests.loops import element, set_element
from ..registry import Results, impl, terminates
from ..shapes import filled_shape, kept_axes, sliced

terminates("memref.alloca_scope.return")

_GLOBALS = "memref.globals"


@impl("memref.alloc", "memref.alloca")
def _alloc(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    sizes = operand_groups(op, operands)[0]
    result_type = op.results[0].type
    return (undefined(filled_shape(op, result_type, sizes), result_type),)


@impl("memref.dealloc")
def _dealloc(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    freed = owner(operands[0])
    frame.process.freed[id(freed)] = freed
    return ()


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
    view = source.view()
    try:
        view.shape = tuple(shape)
    except (AttributeError, ValueError) as error:
        raise OperationError(
            op,
            f"cannot reinterpret memory of shape {shape_text(source.shape)} as shape "
            f"{tuple(shape)}",
        ) from error
    return (view,)


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

"""Execute the `hal` operations at the program boundary: buffer views, and their import."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation

from ....ir.attribute_access import integer, operand_groups, required, text
from ....ir.diagnostics import OperationError
from ....runtime.abi.arrays import Value, shape_phrase, shape_text
from ....runtime.abi.values import element_type
from ...buffer_views import BufferView, element_code, imported_array
from ...frames import Frame
from ...registry import Results, impl


@impl("hal.tensor.import")
def _import(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (view,), dims, _, offsets = operand_groups(op, operands)
    if any(offsets):
        raise OperationError(op, f"imports from byte {offsets[0]}, expected from the start, byte 0")
    tensor = required(op, "target_encoding")
    array = imported_array(op, view, tensor, dims)
    if element_code(view.element) != element_code(element_type(tensor)):
        raise OperationError(op, f"imports elements of type {view.element}, expected {tensor}")
    return (array,)


@impl("hal.tensor.export")
def _export(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (BufferView(operands[0], element_type(required(op, "source_encoding"))),)


@impl("hal.buffer_view.dim")
def _dim(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    shape: tuple[int, ...] = operands[0].array.shape
    index = integer(op, "index")
    if index >= len(shape):
        raise OperationError(
            op, f"queries dimension {index} of a buffer view of shape {shape_text(shape)}"
        )
    return (np.int64(shape[index]),)


@impl("hal.buffer_view.assert")
def _assert(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    view, element, _, *shape = operands
    name = text(op, "message")
    expected = tuple(int(size) for size in shape)
    if view.array.shape != expected:
        raise OperationError(
            op,
            f"fails: {name} has {shape_phrase(view.array.shape)}, expected {shape_text(expected)}",
        )
    if element_code(view.element) != int(element):
        raise OperationError(op, f"fails: {name} has elements of type {view.element}")
    return ()


@impl("hal.element_type")
def _element_type(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (np.int32(element_code(required(op, "type"))),)


@impl("hal.encoding_type")
def _encoding_type(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    order = text(op, "encoding_type", "dense_row_major")
    return (np.int32(ORDERS.get(order, 0)),)


ORDERS = {"opaque": 0, "dense_row_major": 1}

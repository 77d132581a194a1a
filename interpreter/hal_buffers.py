"""Execute the `hal` operations at the program boundary: buffer views, and their import."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    ComplexType,
    Float32Type,
    Float64Type,
    IntegerType,
    Signedness,
)
from xdsl.ir import Attribute, Operation

from ..ir.attribute_access import integer, operand_groups, required, text
from ..ir.diagnostics import OperationError
from ..runtime.abi.arrays import Array, Value, shape_phrase, shape_text
from ..runtime.abi.values import element_type
from .frames import Frame
from .registry import Results, impl
from .tensor import filled_shape


@dataclass(frozen=True, slots=True, eq=False)
class BufferView:
    """An array that a caller passes or receives, and its element type."""

    array: Array
    element: Attribute


@impl("hal.tensor.import")
def _import(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (view,), dims, *_ = operand_groups(op, operands)
    tensor = required(op, "target_encoding")
    array = imported_array(op, view, tensor, dims)
    if element_code(view.element) != element_code(element_type(tensor)):
        raise OperationError(op, f"imports elements of type {view.element}, expected {tensor}")
    return (array,)


def imported_array(op: Operation, view: Value, tensor: Attribute, dims: Sequence[Value]) -> Array:
    """Return the array of a buffer view that is imported as a tensor of a type.

    Raises OperationError if it is not a buffer view, or has another shape.
    """
    if not isinstance(view, BufferView):
        raise OperationError(op, "imports a value that is not a buffer view")
    check_imported(op, view.array.shape, filled_shape(op, tensor, dims))
    return view.array


def check_imported(op: Operation, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """Raise OperationError if a buffer view has another shape than what it is imported as."""
    if shape != expected:
        raise OperationError(
            op,
            f"imports a buffer view of shape {shape_text(shape)}, expected shape "
            f"{shape_text(expected)}",
        )


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
KINDS = {"i": 0x10, "si": 0x11, "ui": 0x12, "f": 0x21, "bf": 0x22}
"""Numerical types of IREE's HAL (`iree_hal_numerical_type_e`)."""
BOOLEAN, COMPLEX, OTHER = 0x13000008, 0x23, 0x7F
FLOATS: tuple[Attribute, ...] = (
    *(kind() for kind in get_args(AnyFloat)),
    *(ComplexType(kind()) for kind in (Float32Type, Float64Type)),
)
SIGNS = {0x10: Signedness.SIGNLESS, 0x11: Signedness.SIGNED, 0x12: Signedness.UNSIGNED}


def element_code(element: Attribute) -> int:
    """Return the runtime encoding of an element type: its numerical type and its bit width."""
    name = str(element)
    if name == "i1":
        return BOOLEAN
    if name == "index":
        return KINDS["i"] << 24 | 64
    if found := re.fullmatch(r"(bf|f|si|ui|i)(\d+)", name):
        return KINDS[found[1]] << 24 | int(found[2])
    if found := re.fullmatch(r"complex<f(\d+)>", name):
        return COMPLEX << 24 | 2 * int(found[1])
    # The small float types only need codes that differ from one another.
    return OTHER << 24 | sum(ord(letter) << 2 * place for place, letter in enumerate(name)) % 65536


def element_coded(code: int) -> Attribute | None:
    """Return the element type that `element_code` encodes so; `None` if there is none."""
    kind, width = code >> 24, code & 0xFFFFFF
    if code == BOOLEAN:
        return IntegerType(1)
    if kind in SIGNS and width:
        return IntegerType(width, SIGNS[kind])
    return next((each for each in FLOATS if element_code(each) == code), None)

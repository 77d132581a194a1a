"""Buffer views: the arrays that callers of a `hal` program pass and receive, and element types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from xdsl.dialects.builtin import (
    AnyFloat,
    ComplexType,
    Float32Type,
    Float64Type,
    IntegerType,
    Signedness,
)
from xdsl.ir import Attribute, Operation

from ..ir.diagnostics import OperationError
from ..runtime.abi.arrays import Array, Value, shape_text
from .shapes import filled_shape


@dataclass(frozen=True, slots=True, eq=False)
class BufferView:
    """An array that a caller passes or receives, and its element type."""

    array: Array
    element: Attribute


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

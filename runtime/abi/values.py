"""How values of IR types are held in NumPy, and how integers of any width wrap.

| type | NumPy |
|---|---|
| `iN` (1 < N <= 64) | the smallest native signed integer that holds it, sign-extended |
| `i1` | bool |
| `siN`, `uiN` | the same, unsigned for `uiN` |
| `index` | int64 |
| floats | their own type, from `ml_dtypes` for bf16, f8 and smaller |
| `complex<f32>`, `complex<f64>` | complex64, complex128 |
| tensors, memrefs | an array of the element's type |

A scalar is an array of rank 0 or a NumPy scalar; inside a vectorised loop body it is an array with
one element per point of the loops. Arrays are immutable by convention: an operation on tensors
returns new arrays (or views) and never writes to its operands.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    IndexType,
    IntegerType,
    ShapedType,
    Signedness,
    UnrankedMemRefType,
    UnrankedTensorType,
)
from xdsl.ir import Attribute

from ...ir.attribute_access import element_type
from ...ir.tensor_types import element_named
from ...tiling.packed_arrays import from_bytes, to_bytes
from .arrays import (
    UNDEFINED_BITS,
    Array,
    UnsupportedType,
    Value,
    ValueType,
    dtype_named,
    integer_value,
    is_float_dtype,
    wrap,
)


@lru_cache(256)
def scalar_dtype(element_type: Attribute) -> np.dtype[Any]:
    """Return the NumPy dtype of an element type. Raises UnsupportedType if there is none."""
    return dtype_named(str(element_type))


def dtype_of(value_type: Attribute) -> np.dtype[Any]:
    """Return the NumPy dtype of a value's elements. Raises UnsupportedType if there is none."""
    return scalar_dtype(element_type(value_type))


def holds_numbers(value_type: Attribute) -> bool:
    """Whether values of a type are numbers or arrays of numbers."""
    try:
        dtype_of(value_type)
    except UnsupportedType:
        return False
    return True


def plain_type(value_type: Attribute) -> ValueType:
    """Return a type without IR."""
    shaped = isinstance(value_type, ShapedType | UnrankedTensorType | UnrankedMemRefType)
    return ValueType(
        str(value_type),
        str(element_type(value_type)),
        static_shape(value_type),
        value_type.name if shaped else "",
    )


def static_shape(value_type: Attribute) -> tuple[int, ...] | None:
    """Return the shape of a tensor, vector or memref, negative where dynamic; `()` for a scalar.

    `None` for an unranked type.
    """
    if isinstance(value_type, ShapedType):
        return tuple(value_type.get_shape())
    if isinstance(value_type, UnrankedTensorType | UnrankedMemRefType):
        return None
    return ()


def index_message(index: int | str, axis: int, extent: int | str) -> str:
    """Return the error message for an index that is out of bounds."""
    return f"has index {index} in dimension {axis}, which has extent {extent}"


def integer_width(value_type: Attribute) -> int | None:
    """Return the bits of an integer type or element (`index`: 64); `None` for other types."""
    scalar = element_type(value_type)
    if isinstance(scalar, IntegerType):
        return cast(IntegerType[Any, Any], scalar).width.data
    return 64 if isinstance(scalar, IndexType) else None


def is_unsigned(value_type: Attribute) -> bool:
    """Whether the elements are `uiN`; signless integers count as signed here."""
    scalar = element_type(value_type)
    if not isinstance(scalar, IntegerType):
        return False
    return cast(IntegerType[Any, Any], scalar).signedness.data is Signedness.UNSIGNED


def choose(condition: Value, left: Value, right: Value) -> Array:
    """Select elementwise: `left` where the condition holds, else `right`."""
    return cast(Array, np.where(condition, left, right))  # pyright: ignore[reportUnknownMemberType]


# --------------------------------------------------------------------------------------------
# Integers


def signed(value: Value, width: int) -> Array:
    """Convert an integer value to a native signed integer (i1 true is -1)."""
    array = np.asarray(value)
    if width == 1:
        return -array.astype(np.int8)
    if array.dtype.kind == "u":
        return wrap(array, width)
    return array


def unsigned(value: Value, width: int) -> Array:
    """Convert an integer value to a native unsigned integer of the same container."""
    array = np.asarray(value)
    if width == 1:
        return array.astype(np.uint8)
    native = array.dtype.itemsize * 8
    bits = array.astype(np.dtype(f"uint{native}"), copy=False)
    return bits if native == width else bits & bits.dtype.type((1 << width) - 1)


def from_integer(value: int, value_type: Attribute) -> Array:
    """Return a Python integer as a scalar of an integer or index type, truncated to its width.

    Raises UnsupportedType for other types.
    """
    width = integer_width(value_type)
    if width is None:
        raise UnsupportedType(f"{value_type} is not an integer type")
    return integer_value(value, width, is_unsigned=is_unsigned(value_type))


def reinterpreted(
    value: Array, source: Attribute, target: Attribute, widths: tuple[int, int] | None = None
) -> Array:
    """Bitcast an array's stored bits to a flat array of another element type.

    `widths` are the bits of an element of both in memory, by default those of their types. Raises
    ValueError if the bits are not a whole number of elements.
    """
    stored, wanted = (element_named(element_type(each)) for each in (source, target))
    before, after = (stored.storage_bits, wanted.storage_bits) if widths is None else widths
    bits = value.size * before
    if bits % after:
        raise ValueError(f"{bits} bits are not a multiple of {wanted}")
    data = to_bytes(value, stored, before)
    return from_bytes(data, wanted, dtype_of(target), bits // after, after)


# --------------------------------------------------------------------------------------------
# Undefined contents

_UNDEFINED_INTEGER = 0x5D5D5D5D5D5D5D5D


def undefined(shape: tuple[int, ...], value_type: Attribute) -> Array:
    """Return an array of undefined contents: NaN for floats, a conspicuous number for integers."""
    dtype = dtype_of(value_type)
    if dtype in UNDEFINED_BITS:
        bits = np.full(shape, UNDEFINED_BITS[dtype], np.dtype(f"u{dtype.itemsize}"))
        return bits.view(dtype)
    if is_float_dtype(dtype) or dtype.kind == "c":
        # Types without a NaN (f6, f4) get the result of converting one.
        with np.errstate(all="ignore"):
            return np.full(shape, np.asarray(np.nan).astype(dtype), dtype)
    return np.full(shape, from_integer(_UNDEFINED_INTEGER, value_type), dtype)

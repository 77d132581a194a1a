"""How values of the IR's types are held in NumPy, and how integers of any width wrap.

| type | NumPy |
|---|---|
| `iN` (1 < N <= 64) | the smallest native signed integer that holds it, sign-extended |
| `i1` | bool |
| `siN`, `uiN` | the same, unsigned for `uiN` |
| `index` | int64 |
| floats | their own type, from `ml_dtypes` for bf16, f8 and smaller |
| `complex<f32>`, `complex<f64>` | complex64, complex128 |
| tensors, memrefs | an array of the element's type |

A scalar is an array of rank 0 or a NumPy scalar; inside a vectorised loop body it is an array
with one element per point of the loops. Arrays are immutable by convention: an operation on
tensors returns new arrays (or views) and never writes to its operands.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    ComplexType,
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

Array = npt.NDArray[Any]
Value = Any
"""A NumPy array or scalar, or for types such as `!shard.sharding` an object of their own."""

_FLOATS: dict[str, Any] = {
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E3M4": ml_dtypes.float8_e3m4,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f6E2M3FN": ml_dtypes.float6_e2m3fn,
    "f6E3M2FN": ml_dtypes.float6_e3m2fn,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
}
_COMPLEX = {"f32": np.dtype(np.complex64), "f64": np.dtype(np.complex128)}
FLOAT_TYPES = {name: np.dtype(dtype) for name, dtype in _FLOATS.items()}
"""Float types by their name in the IR."""


class UnsupportedType(ValueError):
    """A type whose values the interpreter cannot hold; the text says which."""


def _container(width: int, unsigned: bool = False) -> np.dtype[Any]:
    for bits in (8, 16, 32, 64):
        if width <= bits:
            return np.dtype(f"{'u' if unsigned else ''}int{bits}")
    raise UnsupportedType(f"integers of {width} bits are wider than the 64 that can be run")


def scalar_dtype(element_type: Attribute) -> np.dtype[Any]:
    """The NumPy type of one element. Raises UnsupportedType for types that hold no numbers."""
    width = integer_width(element_type)
    if width == 1:
        return np.dtype(np.bool_)
    if width is not None:
        return _container(width, is_unsigned(element_type))
    if isinstance(element_type, ComplexType):
        part = cast(ComplexType[Any], element_type).element_type
        found = _COMPLEX.get(str(part))
        if found is None:
            raise UnsupportedType(f"complex numbers of {part} cannot be run")
        return found
    return _float_dtype(element_type)


@lru_cache
def _float_dtype(element_type: Attribute) -> np.dtype[Any]:
    found = FLOAT_TYPES.get(str(element_type))
    if found is None:
        raise UnsupportedType(f"values of type {element_type} cannot be run")
    return found


def dtype_of(value_type: Attribute) -> np.dtype[Any]:
    """The NumPy type of the elements of a value."""
    return scalar_dtype(element_type(value_type))


def is_number(value: Value) -> bool:
    """Whether a value is an array or a scalar, and not an object of another kind."""
    return isinstance(value, np.ndarray | np.generic)


def holds_numbers(value_type: Attribute) -> bool:
    """Whether values of a type are numbers or arrays of them."""
    try:
        dtype_of(value_type)
    except UnsupportedType:
        return False
    return True


def static_shape(value_type: Attribute) -> tuple[int, ...] | None:
    """The shape of a tensor, vector or memref, negative for `?`; `()` for a scalar.

    `None` for a type that leaves the rank open.
    """
    if isinstance(value_type, ShapedType):
        return tuple(value_type.get_shape())
    if isinstance(value_type, UnrankedTensorType | UnrankedMemRefType):
        return None
    return ()


def shape_fits(shape: tuple[int, ...], expected: tuple[int, ...]) -> bool:
    """Whether an array's shape is one that a type with `?` (negative) extents allows."""
    return len(shape) == len(expected) and all(
        want in (got, -1) or want < 0 for got, want in zip(shape, expected, strict=True)
    )


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape as MLIR writes it: `2x?x4`, or `rank 0`."""
    return "x".join("?" if extent < 0 else str(extent) for extent in shape) or "rank 0"


def shape_phrase(shape: tuple[int, ...]) -> str:
    """What an array has, in words: `shape 2x4`, or `rank 0`."""
    return f"shape {shape_text(shape)}" if shape else "rank 0"


def index_message(index: int | str, axis: int, extent: int | str) -> str:
    """What is wrong with an operation that uses this index."""
    return f"has index {index} in dimension {axis}, which has extent {extent}"


def integer_width(value_type: Attribute) -> int | None:
    """Bits of an integer type or of a tensor's elements (index: 64), `None` for other types."""
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


def is_float_dtype(dtype: np.dtype[Any]) -> bool:
    """Whether a NumPy type is one of the (real) float types."""
    return dtype in _FLOAT_DTYPES


_FLOAT_DTYPES = frozenset(FLOAT_TYPES.values())
_NARROW_FLOATS = _FLOAT_DTYPES - {np.dtype(np.float32), np.dtype(np.float64)}


def is_narrow_float(dtype: np.dtype[Any]) -> bool:
    """Whether a float type is narrower than f32."""
    return dtype in _NARROW_FLOATS


def choose(condition: Value, left: Value, right: Value) -> Array:
    """`left` where the condition holds, else `right`, element by element."""
    return cast(Array, np.where(condition, left, right))  # pyright: ignore[reportUnknownMemberType]


# --------------------------------------------------------------------------------------------
# Integers


def signed(value: Value, width: int) -> Array:
    """An integer value as a native signed integer (i1 true is -1)."""
    array = np.asarray(value)
    if width == 1:
        return -array.astype(np.int8)
    if array.dtype.kind == "u":
        return wrap(array, width)
    return array


def unsigned(value: Value, width: int) -> Array:
    """An integer value as a native unsigned integer of the same container."""
    array = np.asarray(value)
    if width == 1:
        return array.astype(np.uint8)
    native = array.dtype.itemsize * 8
    bits = array.astype(np.dtype(f"uint{native}"), copy=False)
    return bits if native == width else bits & bits.dtype.type((1 << width) - 1)


def wrap(value: Array, width: int, *, to_unsigned: bool = False) -> Array:
    """The low `width` bits of native integers, in the container of an integer of that width."""
    if width == 1:
        return (value & value.dtype.type(1)).astype(np.bool_)
    container = _container(width, to_unsigned)
    native = container.itemsize * 8
    result = np.asarray(value).astype(container, copy=False)
    if native == width:
        return result
    if to_unsigned:
        return result & container.type((1 << width) - 1)
    shift = container.type(native - width)
    return (result << shift) >> shift


def from_integer(value: int, value_type: Attribute) -> Array:
    """A Python integer as a scalar of an integer or index type, its low bits kept."""
    width = integer_width(value_type)
    if width is None:
        raise UnsupportedType(f"{value_type} is not an integer type")
    low = value & ((1 << width) - 1)
    if width == 1:
        return np.asarray(bool(low))
    if is_unsigned(value_type):
        return np.asarray(low, dtype=scalar_dtype(element_type(value_type)))
    if low >> (width - 1):
        low -= 1 << width
    return np.asarray(low, dtype=scalar_dtype(element_type(value_type)))


def reinterpreted(value: Array, source: Attribute, target: Attribute) -> Array:
    """The bits of an array, as a tensor stores them, as a flat array of another element type.

    Raises ValueError if they are no whole number of elements.
    """
    stored, wanted = (element_named(element_type(each)) for each in (source, target))
    bits = value.size * stored.storage_bits
    if bits % wanted.storage_bits:
        raise ValueError(f"{bits} bits are no whole number of {wanted}")
    data = to_bytes(value, stored)
    return from_bytes(data, wanted, dtype_of(target), bits // wanted.storage_bits)


# --------------------------------------------------------------------------------------------
# Contents that nobody has defined

_UNDEFINED_BITS = {
    np.dtype(np.float16): 0x7E5D,
    np.dtype(np.float32): 0x7FC5DEAD,
    np.dtype(np.float64): 0x7FF85DEADBEEF00D,
}
"""Quiet NaNs that arithmetic passes on, and that can be told from others."""
_UNDEFINED_INTEGER = 0x5D5D5D5D5D5D5D5D


def undefined(shape: tuple[int, ...], value_type: Attribute) -> Array:
    """Contents that no program may depend on: NaN for floats, a conspicuous number for others."""
    dtype = dtype_of(value_type)
    if dtype in _UNDEFINED_BITS:
        bits = np.full(shape, _UNDEFINED_BITS[dtype], np.dtype(f"u{dtype.itemsize}"))
        return bits.view(dtype)
    if is_float_dtype(dtype) or dtype.kind == "c":
        # The few types without a NaN (f6, f4) get whatever they make of one.
        with np.errstate(all="ignore"):
            return np.full(shape, np.asarray(np.nan).astype(dtype), dtype)
    return np.full(shape, from_integer(_UNDEFINED_INTEGER, value_type), dtype)


def count_undefined(array: Array) -> int:
    """How many elements still carry the mark of `undefined` (f16, f32 and f64 only)."""
    if array.dtype not in _UNDEFINED_BITS:
        return 0
    width = array.dtype.itemsize
    bits = np.ascontiguousarray(array).view(np.dtype(f"u{width}"))
    mark = bits.dtype.type(_UNDEFINED_BITS[array.dtype])
    sign = bits.dtype.type(1 << (8 * width - 1))
    return int(np.count_nonzero((bits | sign) == (mark | sign)))

"""NumPy dtypes of values, and types by name and shape, without IR.

`values.py` maps IR types to dtypes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, TypeVar

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.int64]

Size = TypeVar("Size")

MAX_INT64 = (1 << 63) - 1

Value = Any
"""A NumPy array or scalar, or an object of its own for types such as `!shard.sharding`."""

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
"""NumPy dtypes of float types by their name in the IR."""
ROUNDED_TYPES = FLOAT_TYPES | {f"complex<{name}>": dtype for name, dtype in _COMPLEX.items()}
"""NumPy dtypes of types whose values are rounded: floats, and complex numbers of floats."""


_NARROW = {
    each: np.dtype(getattr(ml_dtypes, f"{'u' if each[1] else ''}int{each[0]}"))
    for each in ((2, False), (2, True), (4, False), (4, True))
}


class UnsupportedType(ValueError):
    """A type whose values NumPy arrays cannot hold; the message names it."""


@cache
def container(width: int, unsigned: bool = False) -> np.dtype[Any]:
    """Return the NumPy dtype that holds integers of `width` bits.

    Raises UnsupportedType for more than 64 bits.
    """
    for bits in (8, 16, 32, 64):
        if width <= bits:
            return np.dtype(f"{'u' if unsigned else ''}int{bits}")
    raise UnsupportedType(f"integers of {width} bits are wider than the 64 that can be run")


_INTEGER = re.compile(r"(s|u|)i([1-9]\d{0,8})")
_COMPLEX_TYPE = re.compile(r"complex<(.*)>")


def integer_type(name: str) -> tuple[int, bool] | None:
    """Return the bits of an integer type and whether it is unsigned; `None` for other types."""
    match = _INTEGER.fullmatch(name)
    if match is not None:
        return int(match[2]), match[1] == "u"
    return (64, False) if name == "index" else None


def narrow_integer(name: str) -> np.dtype[Any] | None:
    """Return the ml_dtypes type of an integer type of 2 or 4 bits; `None` for other types."""
    integer = integer_type(name)
    return None if integer is None else _NARROW.get(integer)


def dtype_named(name: str) -> np.dtype[Any]:
    """Return the NumPy dtype of an element type.

    Raises UnsupportedType for types that are not numbers or that NumPy cannot hold.
    """
    found = FLOAT_TYPES.get(name)
    if found is not None:
        return found
    integer = integer_type(name)
    if integer is not None:
        return np.dtype(np.bool_) if integer[0] == 1 else container(*integer)
    if (match := _COMPLEX_TYPE.fullmatch(name)) is not None:
        if match[1] not in _COMPLEX:
            raise UnsupportedType(f"complex numbers of {match[1]} cannot be run")
        return _COMPLEX[match[1]]
    raise UnsupportedType(f"values of type {name} cannot be run")


def is_number(value: Value) -> bool:
    """Whether a value is an array or a NumPy scalar, rather than an object of another kind."""
    return isinstance(value, np.ndarray | np.generic)


def shape_fits(shape: tuple[int, ...], expected: tuple[int, ...]) -> bool:
    """Whether an array's shape matches the shape of a type, where negative extents are dynamic."""
    return shape == expected or (
        len(shape) == len(expected)
        and all(want in (got, -1) or want < 0 for got, want in zip(shape, expected, strict=True))
    )


def dynamic_sizes(sizes: Sequence[Size], shape: Sequence[int]) -> list[Size]:
    """Return the sizes of the dimensions that are dynamic in the shape of a type."""
    return [size for size, expected in zip(sizes, shape, strict=True) if expected < 0]


def shape_text(shape: tuple[int, ...]) -> str:
    """Return a shape as MLIR writes it: `2x?x4`; `rank 0` for a scalar."""
    return "x".join("?" if extent < 0 else str(extent) for extent in shape) or "rank 0"


def shape_phrase(shape: tuple[int, ...]) -> str:
    """Return a shape for error messages: `shape 2x4`, or `rank 0`."""
    return f"shape {shape_text(shape)}" if shape else "rank 0"


def is_float_dtype(dtype: np.dtype[Any]) -> bool:
    """Whether a NumPy dtype is one of the real float types."""
    return dtype in _FLOAT_DTYPES


_FLOAT_DTYPES = frozenset(FLOAT_TYPES.values())
_NARROW_FLOATS = _FLOAT_DTYPES - {np.dtype(np.float32), np.dtype(np.float64)}


def is_narrow_float(dtype: np.dtype[Any]) -> bool:
    """Whether a float type is narrower than f32."""
    return dtype in _NARROW_FLOATS


def arithmetic_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type in which numbers of a type are computed: f32 for narrower floats."""
    return np.dtype(np.float32) if is_narrow_float(dtype) else dtype


def wrap(value: Array, width: int, *, to_unsigned: bool = False) -> Array:
    """Return the low `width` bits of integers, in the container of an integer of that width."""
    if width == 1:
        return (value & value.dtype.type(1)).astype(np.bool_)
    stored = container(width, to_unsigned)
    native = stored.itemsize * 8
    result = np.asarray(value).astype(stored, copy=False)
    if native == width:
        return result
    if to_unsigned:
        return result & stored.type((1 << width) - 1)
    shift = stored.type(native - width)
    return (result << shift) >> shift


def integer_value(value: int, width: int, *, is_unsigned: bool) -> Array:
    """Return a Python integer as a scalar of an integer type, truncated to its low bits."""
    low = value & ((1 << width) - 1)
    if width == 1:
        return np.asarray(bool(low))
    if not is_unsigned and low >> (width - 1):
        low -= 1 << width
    return np.asarray(low, dtype=container(width, is_unsigned))


# Undefined contents

UNDEFINED_BITS = {
    np.dtype(np.float16): 0x7E5D,
    np.dtype(np.float32): 0x7FC5DEAD,
    np.dtype(np.float64): 0x7FF85DEADBEEF00D,
}
"""Bits of quiet NaNs that mark undefined elements: arithmetic propagates them."""


def count_undefined(array: Array) -> int:
    """Count the elements that still have the mark of `undefined` (f16, f32 and f64 only)."""
    if array.dtype not in UNDEFINED_BITS:
        return 0
    width = array.dtype.itemsize
    bits = np.ascontiguousarray(array).view(np.dtype(f"u{width}"))
    mark = bits.dtype.type(UNDEFINED_BITS[array.dtype])
    sign = bits.dtype.type(1 << (8 * width - 1))
    return int(np.count_nonzero((bits | sign) == (mark | sign)))


@dataclass(frozen=True)
class ValueType:
    """A type of the IR.

    - `text`: the type as MLIR writes it, `tensor<2x?xf32>`;
    - `element`: the name of its element type, or of the type itself if it is a scalar;
    - `shape`: negative where dynamic, `None` if unranked;
    - `container`: what holds the elements, such as `tensor`; empty for a scalar.
    """

    text: str
    element: str
    shape: tuple[int, ...] | None
    container: str

    def __str__(self) -> str:
        return self.text

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the elements. Raises UnsupportedType if they are not numbers."""
        return dtype_named(self.element)

    @property
    def holds_numbers(self) -> bool:
        """Whether values are numbers or arrays of numbers."""
        try:
            return bool(self.dtype.itemsize)
        except UnsupportedType:
            return False

    @property
    def integer_width(self) -> int | None:
        """The bits of an integer element (64 for `index`); `None` for other elements."""
        found = integer_type(self.element)
        return None if found is None else found[0]

    @property
    def is_unsigned(self) -> bool:
        """Whether the elements are `uiN`."""
        found = integer_type(self.element)
        return found is not None and found[1]


@dataclass(frozen=True, slots=True)
class FunctionTypes:
    """The types of a function's global arguments and results."""

    arguments: tuple[ValueType, ...]
    results: tuple[ValueType, ...]

    def __str__(self) -> str:
        """Return the types as MLIR writes a function type."""
        arguments, results = (", ".join(map(str, each)) for each in (self.arguments, self.results))
        return f"({arguments}) -> ({results})"

"""Read and write arrays in the format of `iree-run-module`: `2x3xf32=[1 2 3][4 5 6]`.

The output is that of IREE 3.13, except that complex numbers, which IREE prints as bytes, are
printed as numbers. The input format has extensions: `f32=2` for scalars, `complex<f32>`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ...ir.nesting_limits import exceeds_memory
from ...runtime.abi.arrays import Array, ValueType, integer_value, shape_fits, shape_phrase

MAXIMAL_RANK = 64
"""The maximum rank of a NumPy array."""

MAXIMAL_INPUT = 1 << 34
"""The maximum number of elements of an input; a larger shape must be a mistake."""

MAXIMAL_ELEMENTS = 1024
"""The default maximum number of printed elements of an array."""


class TextError(ValueError):
    """Text that is not a value, or not one of the expected type."""


# --------------------------------------------------------------------------------------------
# Writing


def format_result(
    index: int, array: Array, value_type: ValueType, maximum: int = MAXIMAL_ELEMENTS
) -> str:
    """Return a result as printed: scalars on one line, tensors on a line of their own."""
    if not value_type.holds_numbers:
        return f"result[{index}]: {value_type}"
    if value_type.container and value_type.shape is not None:
        return f"result[{index}]: hal.buffer_view\n{format_array(array, value_type, maximum)}"
    return f"result[{index}]: {format_scalar(array, value_type)}"


def format_scalar(array: Array, value_type: ValueType) -> str:
    """Return a scalar as text; integers below 32 bits are printed as i32, and index as i64."""
    width = value_type.integer_width
    name = type_name(value_type)
    if width is not None and width < 32:
        return f"i32={int(array)}"
    return f"{name}={_element(array, value_type)}"


def format_array(array: Array, value_type: ValueType, maximum: int = MAXIMAL_ELEMENTS) -> str:
    """Return an array with its shape and type; elements after `maximum` are elided."""
    name = "x".join([*map(str, array.shape), type_name(value_type)])
    parts: list[str] = []
    _write(array, value_type, maximum, parts)
    return f"{name}={''.join(parts)}"


def type_name(value_type: ValueType) -> str:
    """Return the element type in the tools' spelling."""
    return "i64" if value_type.element == "index" else value_type.element


def _write(array: Array, scalar: ValueType, left: int, parts: list[str]) -> int:
    """Append the text of an array; return how many more elements may be printed."""
    if array.ndim == 0:
        parts.append(_element(array, scalar) if left else "...")
        return max(left - 1, 0)
    if array.ndim == 1:
        shown = min(left, len(array))
        parts.append(" ".join(_element(element, scalar) for element in array[:shown]))
        if shown < len(array):
            parts.append("...")
        return left - shown
    for row in array:
        parts.append("[")
        left = _write(row, scalar, left, parts)
        parts.append("]")
    return left


def _element(element: Any, scalar: ValueType) -> str:
    if scalar.dtype.kind == "c":
        number = complex(element)
        sign = "-" if np.signbit(number.imag) else "+"
        return f"{_real(number.real)}{sign}{_real(abs(number.imag))}j"
    width = scalar.integer_width
    if width == 1:
        return f"{int(element):02X}"
    if width is not None:
        return str(int(element))
    return _real(float(element))


def _real(number: float) -> str:
    if np.isnan(number) and np.signbit(number):
        return "-NAN"
    return f"{number:G}"


# --------------------------------------------------------------------------------------------
# Reading


_TYPE = re.compile(
    r"(?P<shape>(?:\d{1,19}x)*)(?P<element>[su]?i\d+|index|bf16|f\d\w*|complex<\w+>)"
)
_SEPARATORS = re.compile(r"[\s,\[\]]+")


def parse_value(text: str, expected: ValueType) -> Array:
    """Parse a value such as `2x3xf32=1,2,3,4,5,6` or `3.5`.

    A single element is a splat; no elements mean zeros. Raises TextError if the text is malformed
    or not of the expected type.
    """
    shape, values = _parse_type(text, expected)
    words = [word for word in _SEPARATORS.split(values) if word]
    count = prod(shape)
    if len(words) not in (0, 1, count):
        raise TextError(f"has {len(words)} elements, expected {count} (or one for all)")
    dtype = expected.dtype
    if not words:
        return np.zeros(shape, dtype)
    elements = [_parse_element(word, expected) for word in words]
    array = np.array(elements, dtype=dtype)
    return np.full(shape, array[0]) if len(words) == 1 else array.reshape(shape)


def parse_raw(head: str, expected: ValueType, size: int, read: Callable[[], bytes]) -> Array:
    """Read an array with a type such as `2x3xf32` from raw little-endian bytes.

    The file has `size` bytes, which are read only if the type has this size. Raises TextError.
    """
    shape, values = _parse_type(head, expected)
    dtype = expected.dtype
    if values:
        raise TextError("has elements, expected only a type")
    if size != prod(shape) * dtype.itemsize:
        raise TextError(f"has {size} bytes, expected {prod(shape) * dtype.itemsize}")
    return np.frombuffer(read(), dtype).reshape(shape)


def _parse_type(text: str, expected: ValueType) -> tuple[tuple[int, ...], str]:
    """Return the shape, checked against the expected type, and the text of the elements.

    Raises TextError.
    """
    shape, name, values = _parts(text)
    if name not in (None, type_name(expected), expected.element):
        raise TextError(f"is of type {name}, expected {describe(expected)}")
    declared = expected.shape
    if declared is None or not shape_fits(shape, declared):
        raise TextError(f"has {shape_phrase(shape)}, expected {describe(expected)}")
    if len(shape) > MAXIMAL_RANK:
        raise TextError(f"has more than {MAXIMAL_RANK} dimensions")
    count = prod(shape)
    if count > MAXIMAL_INPUT:
        raise TextError(f"has {count} elements, more than can be held")
    if exceeds_memory(count * expected.dtype.itemsize):
        raise TextError(f"has {count} elements, more than this machine can hold")
    return shape, values


def _parts(text: str) -> tuple[tuple[int, ...], str | None, str]:
    """Split a text into shape, element type and elements; a bare number has no type."""
    head, equals, values = text.strip().partition("=")
    match = _TYPE.fullmatch(head.strip())
    if match is not None:
        extents = match["shape"].split("x")[:-1]
        return tuple(map(int, extents)), match["element"], values
    if equals:
        raise TextError(f"has type '{head}', expected a type such as 2x3xf32")
    return (), None, head


def _parse_element(word: str, scalar: ValueType) -> Any:
    width = scalar.integer_width
    try:
        if "_" in word or not word.isascii():
            # Numbers in Python, but not in MLIR or in C.
            raise ValueError(word)
        if scalar.dtype.kind == "c":
            return complex(word)
        if width is None:
            return float.fromhex(word) if "0x" in word.lower() else float(word)
        if width == 1 and word.lower() in ("true", "false"):
            return word.lower() == "true"
        number = int(word, 16) if "0x" in word.lower() else int(word, 10)
    except ValueError as error:
        raise TextError(f"'{word}' is not a valid {scalar.element}") from error
    low = 0 if scalar.is_unsigned else -(1 << (width - 1))
    if not low <= number < 1 << width:
        raise TextError(f"{number} does not fit {scalar.element}")
    return integer_value(number, width, is_unsigned=scalar.is_unsigned).item()


def describe(value_type: ValueType) -> str:
    """Return a type in the tools' spelling: `2x?xf32`."""
    shape = value_type.shape or ()
    name = type_name(value_type)
    return "x".join([*("?" if extent < 0 else str(extent) for extent in shape), name])

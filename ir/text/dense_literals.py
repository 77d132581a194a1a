"""The elements of `dense<...>`: decimal numbers, hexadecimal bits and hexadecimal data."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from itertools import chain
from typing import Any, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerType,
    RankedStructure,
    Signedness,
)
from xdsl.ir import Attribute
from xdsl.parser import AttrParser
from xdsl.utils.lexer import Span

from .xdsl_compat.wide_integers import pack_wide_integers

pack_wide_integers()

LITERAL = re.compile(
    r"<\s*+(?P<numbers>\[[\s0-9.,eE+\[\]-]*+|-?[0-9][0-9.eE+-]*+|true|false)\s*+>\s*+:"
)
"""A literal of decimal numbers, from its `<` to the colon before its type."""

_EXPONENT_OF_INTEGER = re.compile(r"(?<![0-9.])[0-9]++[eE]")
"""`1e5` is a number in JSON, but not in MLIR."""

Number = int | float


def read_numbers(text: str) -> tuple[list[Number], list[int]] | None:
    """Return the numbers of a literal in order, and its shape (`[]` for a single number).

    Returns `None` unless the literal consists of rectangular nested lists of decimal numbers.
    """
    if _EXPONENT_OF_INTEGER.search(text) is not None:
        return None
    try:
        nested: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    shape: list[int] = []
    level: list[Any] = [nested]
    while level and isinstance(level[0], list):
        length = len(cast(list[Any], level[0]))
        if any(
            not isinstance(part, list) or len(cast(list[Any], part)) != length for part in level
        ):
            return None
        shape.append(length)
        level = list(chain.from_iterable(level))
    if any(isinstance(value, list) for value in level):
        return None
    return level, shape


def pack_numbers(
    values: list[Number], shape: list[int], literal_type: RankedStructure[Any]
) -> DenseIntOrFPElementsAttr | None:
    """Return the constant with these elements; `None` if they need xDSL's general parser."""
    type_shape = list(literal_type.get_shape())
    if not values or (shape and shape != type_shape):
        return None
    element = literal_type.element_type
    try:
        packed = _pack(values, element)
    except (OverflowError, ValueError):
        return None
    if packed is None:
        return None
    count = math.prod(type_shape)
    return DenseIntOrFPElementsAttr(literal_type, BytesAttr(packed if shape else packed * count))


def representable(number: float, element: AnyFloat) -> float:
    """Return the number, or the infinity that it rounds to in an element type."""
    try:
        element.pack([number])
    except OverflowError:
        return math.copysign(math.inf, number)
    return number


def _pack(values: list[Number], element: object) -> bytes | None:
    if isinstance(element, AnyFloat):
        if any(isinstance(value, bool) for value in values):
            return None
        numbers = [float(value) for value in values]
        try:
            return element.pack(numbers)
        except OverflowError:
            return element.pack([representable(number, element) for number in numbers])
    if isinstance(element, IndexType):
        whole = [value for value in values if type(value) is int]
        return element.pack(whole) if len(whole) == len(values) else None
    if isinstance(element, IntegerType):
        return _pack_integers(values, cast(IntegerType, element))
    return None


def _pack_integers(values: list[Number], element: IntegerType) -> bytes | None:
    wanted = bool if element.width.data == 1 else int
    whole = [int(value) for value in values if type(value) is wanted]
    if len(whole) != len(values):
        return None
    if element.signedness.data is Signedness.UNSIGNED and min(whole) < 0:
        return None
    if element.width.data > 1 and _in_signed_range(whole, element.width.data):
        return element.pack(whole)
    return element.pack([element.get_normalized_value(value) for value in whole])


def _in_signed_range(values: list[int], width: int) -> bool:
    """Return whether xDSL's normalisation would leave all values unchanged."""
    return -(1 << (width - 1)) <= min(values) and max(values) < 1 << (width - 1)


Element = int | float | tuple[int, int] | tuple[float, float]


class Bits(int):
    """A part of a complex number that is written as hexadecimal bits."""


class BitsElement(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
    """A hexadecimal element. For float types, and complex types of them, it holds the bits."""

    def to_type(
        self, parser: AttrParser, type: AnyFloat | IntegerType | IndexType | ComplexType
    ) -> Element:
        """Return the value of this element in a tensor of element type `type`.

        Raises ParseError if the bits are out of range.
        """
        if isinstance(type, AnyFloat) and isinstance(self.value, int):
            return _from_bits(parser, self.span, type, [self.value])[0]
        if isinstance(type, ComplexType) and isinstance(type.element_type, AnyFloat):
            parts = self.value
            if isinstance(parts, tuple) and any(isinstance(part, Bits) for part in parts):
                element = type.element_type
                real, imaginary = (
                    _from_bits(parser, self.span, element, [part])[0]
                    if isinstance(part, Bits)
                    else float(part)
                    for part in parts
                )
                return real, imaginary
        return super().to_type(parser, type)


def _from_bits(
    parser: AttrParser, span: Span, float_type: AnyFloat, numbers: Sequence[int]
) -> list[float]:
    size = float_type.compile_time_size
    if any(not 0 <= number < 1 << (8 * size) for number in numbers):
        parser.raise_error(
            f"hexadecimal float constant out of range for {float_type}", span.start, span.end
        )
    raw = b"".join(number.to_bytes(size, "little") for number in numbers)
    return list(float_type.iter_unpack(raw))


_SAME_BYTES = (8, 16, 32, 64)
"""The integer widths that MLIR and xDSL store in the same way."""


def _width(element: Attribute) -> int | None:
    return cast(IntegerType, element).width.data if isinstance(element, IntegerType) else None


def from_stored(data: bytes, literal_type: RankedStructure[Any]) -> bytes | None:
    """Convert the raw bytes of MLIR to those of xDSL; `None` if the size is wrong."""
    element: Any = literal_type.element_type
    count = math.prod(literal_type.get_shape())
    width = _width(element)
    if width is None or width in _SAME_BYTES:
        size = element.compile_time_size
        if len(data) == size:
            return data * count
        return data if len(data) == size * count else None
    numbers = _numbers(data, width, count)
    if numbers is None:
        # xDSL's own printer writes its own storage, such as four bytes for each i24.
        if len(data) != element.compile_time_size * count:
            return None
        numbers = [number & (1 << width) - 1 for number in element.unpack(data, count)]
    return element.pack([element.get_normalized_value(number) for number in numbers])


def _numbers(data: bytes, width: int, count: int) -> Sequence[int] | None:
    size = max(1, (width + 7) // 8)
    if len(data) == size:
        data *= count
    if len(data) == size * count:
        mask = (1 << width) - 1
        chunks = (data[at : at + size] for at in range(0, len(data), size))
        return [int.from_bytes(chunk, "little") & mask for chunk in chunks]
    if width == 1 and len(data) == (count + 7) // 8:
        return [data[at >> 3] >> (at & 7) & 1 for at in range(count)]
    return None


def to_stored(constant: DenseIntOrFPElementsAttr[Any]) -> bytes | None:
    """Return the raw bytes of a constant as MLIR stores it.

    Returns `None` for `i1`, which MLIR's versions store in different ways.
    """
    element: Any = constant.get_element_type()
    width = _width(element)
    if width is None or width in _SAME_BYTES:
        return constant.data.data
    if width == 1:
        return None
    size, mask = (width + 7) // 8, (1 << width) - 1
    numbers = cast(Sequence[int], constant.get_values())
    return b"".join((number & mask).to_bytes(size, "little") for number in numbers)

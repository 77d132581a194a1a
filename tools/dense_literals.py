"""`dense<...>` without a parser's step for every number in it.

A literal that is made of plain decimal numbers is read at once, and a single number for all
elements is packed once. Whatever else there is (hexadecimal bits, complex numbers, mistakes) is
left to xDSL's way.
"""

from __future__ import annotations

import json
import math
import re
from itertools import chain
from typing import Any, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerType,
    RankedStructure,
    Signedness,
)

LITERAL = re.compile(
    r"<\s*+(?P<numbers>\[[\s0-9.,eE+\[\]-]*+|-?[0-9][0-9.eE+-]*+|true|false)\s*+>\s*+:"
)
"""A literal of plain numbers, from its `<` to the colon before its type."""

_EXPONENT_OF_INTEGER = re.compile(r"(?<![0-9.])[0-9]++[eE]")
"""`1e5` is a number in JSON, but not in MLIR."""

Number = int | float


def read_numbers(text: str) -> tuple[list[Number], list[int]] | None:
    """The numbers of a literal in order, and the lengths of its nested lists, `[]` for one number.

    None for what is not made of rectangular lists of decimal numbers.
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
    """The constant of a type with these elements; None if they do not fit it plainly."""
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
    """A number, or the infinity that it is rounded to in a type."""
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
    """Whether all values are what xDSL normalises them to, without asking it one by one."""
    return -(1 << (width - 1)) <= min(values) and max(values) < 1 << (width - 1)

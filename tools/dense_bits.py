"""The bytes of `dense<"0x...">`: how MLIR stores elements, and how xDSL does.

mlir-opt and iree-opt print constants of more than a hundred elements so. MLIR gives every element
whole bytes, without bits beyond its width; xDSL rounds the bytes up to a power of two and extends
the sign. Elements of `i1` are packed eight to a byte by MLIR 22, and take a byte each later.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, RankedStructure
from xdsl.ir import Attribute

_SAME_BYTES = (8, 16, 32, 64)
"""Widths of integers that are stored alike."""


def _width(element: Attribute) -> int | None:
    return cast(IntegerType, element).width.data if isinstance(element, IntegerType) else None


def from_stored(data: bytes, literal_type: RankedStructure[Any]) -> bytes | None:
    """What xDSL keeps for the bytes that MLIR keeps; None if they are too few or too many."""
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
        return None
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
    """The bytes that MLIR keeps of a constant; None where its versions differ in that."""
    element: Any = constant.get_element_type()
    width = _width(element)
    if width is None or width in _SAME_BYTES:
        return constant.data.data
    if width == 1:
        return None
    size, mask = (width + 7) // 8, (1 << width) - 1
    numbers = cast(Sequence[int], constant.get_values())
    return b"".join((number & mask).to_bytes(size, "little") for number in numbers)

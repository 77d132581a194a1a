"""Element types without IR: a kind, a signedness and a number of bits.

Storage follows IREE's rules for tensors in memory (`Utils/ElementPackingUtils`):

| element | memory |
|---|---|
| a boolean | a byte |
| 2 or 4 bits | packed |
| another width | rounded up to a power of two of bytes |
| a complex number | two numbers of its part type |
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

INDEX_BITS = 64


class ElementKind(Enum):
    """How the bits of an element are interpreted."""

    INTEGER = "i"
    SIGNED = "si"
    UNSIGNED = "ui"
    FLOAT = "f"
    COMPLEX = "complex"
    INDEX = "index"


@dataclass(frozen=True, slots=True)
class ElementType:
    """One element type, named as in MLIR (`i8`, `ui4`, `f8E4M3FNUZ`, `complex<f32>`).

    `bits` is the width of the whole element: 64 for `complex<f32>`.
    """

    name: str
    kind: ElementKind
    bits: int
    part: ElementType | None = None
    """The type of the real and imaginary parts of a complex number."""

    @property
    def is_float(self) -> bool:
        return self.kind is ElementKind.FLOAT

    @property
    def storage_bits(self) -> int:
        """The bits that one element takes in a dense tensor: a power of two."""
        if self.part is not None:
            return 2 * self.part.storage_bits
        if self.bits == 1:
            return 8
        power = next_power_of_two(self.bits)
        if self.bits < 8 and self.bits != power:
            return 8
        return power

    def __str__(self) -> str:
        return self.name


_INTEGER = re.compile(r"(i|si|ui)([1-9]\d*)")
_FLOAT = re.compile(r"(?:f|tf)(\d+)(?:E\d+M\d+\w*)?")


@lru_cache(maxsize=256)
def element_type(name: str) -> ElementType:
    """Return the element type with a name as in MLIR. Raises `ValueError` for any other name."""
    if match := _INTEGER.fullmatch(name):
        return ElementType(name, ElementKind(match[1]), int(match[2]))
    if name == "index":
        return ElementType(name, ElementKind.INDEX, INDEX_BITS)
    if name == "bf16":
        return ElementType(name, ElementKind.FLOAT, 16)
    if name == "tf32":
        return ElementType(name, ElementKind.FLOAT, 19)
    if match := _FLOAT.fullmatch(name):
        return ElementType(name, ElementKind.FLOAT, int(match[1]))
    if name.startswith("complex<") and name.endswith(">"):
        part = element_type(name[len("complex<") : -1])
        return ElementType(name, ElementKind.COMPLEX, 2 * part.bits, part)
    raise ValueError(f"unknown element type '{name}'")


def next_power_of_two(value: int) -> int:
    """Return the least power of two that is not less than a positive `value`."""
    return 1 << (value - 1).bit_length()


def as_unsigned(value: int, width: int) -> int:
    """Return the integer that the lowest `width` bits of `value` are without a sign."""
    return value & ((1 << width) - 1)


def as_signed(value: int, width: int) -> int:
    """Return the integer that the lowest `width` bits of `value` are if the highest is a sign."""
    bits = as_unsigned(value, width)
    return bits - (1 << width) if bits >> (width - 1) else bits


def integer_range(width: int, *, is_signed: bool) -> tuple[int, int]:
    """Return the smallest and the largest integer of a width."""
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if is_signed else (0, (1 << width) - 1)

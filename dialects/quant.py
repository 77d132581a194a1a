"""The types of MLIR's `quant` dialect: integers that represent real numbers by a scale."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import AnyFloat, IntegerType
from xdsl.ir import Attribute, Data, Dialect, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ..tiling.element_types import integer_range


@dataclass(frozen=True, slots=True)
class Quantization:
    """The mapping of stored integers to real numbers: `scale * (stored - zero_point)`."""

    storage: IntegerType
    """The signless type of the stored integers."""
    is_signed: bool
    expressed: Attribute
    minimum: int
    maximum: int
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int | None = None
    """The dimension along which scales differ; `None` for a single scale."""


def _storage_range(parser: AttrParser) -> tuple[IntegerType, int, int, str]:
    """Parse `i8` or `u8`, also as `si8` or `ui8`, or `i8<-127:127>`.

    Return type, minimum, maximum and the letter `i` or `u`.
    """
    position = parser.pos
    word = parser.parse_identifier()
    word = {"si": "i", "ui": "u"}.get(word[:2], word[:2]) + word[2:]
    if word[:1] not in ("i", "u") or not word[1:].isdecimal() or not 0 < int(word[1:]) <= 32:
        parser.raise_error(f"expected a storage type such as i8 or u8, got {word}", position)
    width = int(word[1:])
    low, high = integer_range(width, is_signed=word[0] == "i")
    if parser.parse_optional_punctuation("<"):
        position = parser.pos
        minimum = parser.parse_integer(allow_boolean=False)
        parser.parse_punctuation(":")
        maximum = parser.parse_integer(allow_boolean=False)
        parser.parse_punctuation(">")
        if not low <= minimum < maximum <= high:
            parser.raise_error(f"{minimum}:{maximum} does not fit {word}", position)
        low, high = minimum, maximum
    return IntegerType(width), low, high, word[0]


def _scale(parser: AttrParser) -> tuple[float, int]:
    """Parse `0.1` or `0.1:3`; return scale and zero point."""
    position = parser.pos
    scale = float(parser.parse_number())
    if not scale > 0:
        parser.raise_error(f"expected a scale above 0, got {scale}", position)
    zero = parser.parse_integer() if parser.parse_optional_punctuation(":") else 0
    return scale, zero


@irdl_attr_definition
class UniformQuantizedType(Data[Quantization], TypeAttribute):
    """`!quant.uniform<i8:f32, 0.5:-128>`, or with a scale per slice `<i8:f32:1, {0.1, 0.2:3}>`."""

    name = "quant.uniform"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Quantization:
        with parser.in_angle_brackets():
            storage, low, high, letter = _storage_range(parser)
            parser.parse_punctuation(":")
            position = parser.pos
            expressed = parser.parse_type()
            if not isinstance(expressed, AnyFloat):
                parser.raise_error(f"expected a float type, got {expressed}", position)
            axis = None
            if parser.parse_optional_punctuation(":"):
                axis = parser.parse_integer(allow_boolean=False, allow_negative=False)
            parser.parse_punctuation(",")
            if axis is None:
                pairs = [_scale(parser)]
            else:
                pairs = parser.parse_comma_separated_list(
                    parser.Delimiter.BRACES, lambda: _scale(parser)
                )
        scales, zeros = zip(*pairs, strict=True)
        is_signed = letter == "i"
        return Quantization(storage, is_signed, expressed, low, high, scales, zeros, axis)

    def print_parameter(self, printer: Printer) -> None:
        q = self.data
        width = q.storage.width.data
        letter = "i" if q.is_signed else "u"
        full = integer_range(width, is_signed=q.is_signed)
        limits = "" if (q.minimum, q.maximum) == full else f"<{q.minimum}:{q.maximum}>"
        pairs = [
            f"{scale!r}" + (f":{zero}" if zero else "")
            for scale, zero in zip(q.scales, q.zero_points, strict=True)
        ]
        scales = pairs[0] if q.axis is None else "{" + ", ".join(pairs) + "}"
        axis = "" if q.axis is None else f":{q.axis}"
        printer.print_string(f"<{letter}{width}{limits}:{q.expressed}{axis}, {scales}>")


def quantization(element: Attribute) -> Quantization | None:
    """Return the quantisation of an element type; `None` for other types."""
    return element.data if isinstance(element, UniformQuantizedType) else None


Quant = Dialect("quant", [], [UniformQuantizedType])

"""Lists of sizes in which `?` stands for one that is not known: `[?, 33, 40]`."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i64
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ..tiling.packed_layouts import DYNAMIC_TILE

DYNAMIC_SIZE = DYNAMIC_TILE
"""How `?` is kept: as MLIR's `ShapedType::kDynamic`."""


def parse_sizes(parser: AttrParser) -> ArrayAttr[IntegerAttr]:
    """`[?, 33, 40]`."""

    def parse_one() -> IntegerAttr:
        if parser.parse_optional_punctuation("?") is not None:
            return IntegerAttr(DYNAMIC_SIZE, i64)
        return IntegerAttr(parser.parse_integer(), i64)

    return ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_one))


def print_sizes(printer: Printer, sizes: ArrayAttr[IntegerAttr]) -> None:
    """The inverse of `parse_sizes`."""

    def print_one(size: IntegerAttr) -> None:
        number = size.value.data
        printer.print_string("?" if number == DYNAMIC_SIZE else str(number))

    with printer.in_square_brackets():
        printer.print_list(sizes, print_one)


def known_sizes(sizes: ArrayAttr[IntegerAttr]) -> tuple[int | None, ...]:
    """The sizes as numbers, `None` for one that is not known."""
    numbers = (size.value.data for size in sizes)
    return tuple(None if number == DYNAMIC_SIZE else number for number in numbers)

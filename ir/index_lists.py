"""Lists of static and dynamic numbers: `[1, %i]` is `(1, DYNAMIC_INDEX)` and `(%i,)`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.printer import Printer

ValueT = TypeVar("ValueT")

INDEX = IndexType()

SQUARE = Parser.Delimiter.SQUARE


def parse_index_list(
    parser: Parser, delimiter: Parser.Delimiter = SQUARE
) -> tuple[list[int], list[UnresolvedOperand]]:
    """Parse `[1, %i]` into the static list (`DYNAMIC_INDEX` for `%i`) and the operands.

    Raises ParseError if a number does not fit in 64 bits.
    """
    numbers: list[int] = []
    operands: list[UnresolvedOperand] = []

    def element() -> None:
        operand = parser.parse_optional_unresolved_operand()
        if operand is None:
            position = parser.pos
            number = parser.parse_integer(allow_boolean=False)
            if not DYNAMIC_INDEX < number < 2**63:
                parser.raise_error(f"{number} does not fit in 64 bits", position, parser.pos)
            numbers.append(number)
        else:
            numbers.append(DYNAMIC_INDEX)
            operands.append(operand)

    parser.parse_comma_separated_list(delimiter, element)
    return numbers, operands


def print_index_list(
    printer: Printer,
    numbers: Sequence[int],
    operands: Sequence[SSAValue],
    delimiter: Parser.Delimiter = SQUARE,
) -> None:
    """Print a static list with operands in place of `DYNAMIC_INDEX`; `?` for missing operands."""
    remaining = iter(operands)

    def element(number: int) -> None:
        if number != DYNAMIC_INDEX:
            printer.print_int(number)
        elif (operand := next(remaining, None)) is not None:
            printer.print_ssa_value(operand)
        else:
            printer.print_string("?")

    with printer.delimited(*(delimiter.value or ("", ""))):
        printer.print_list(numbers, element)


def mixed_list(numbers: Iterable[int], values: Iterable[ValueT]) -> tuple[int | ValueT, ...]:
    """Return the static list with the values in place of `DYNAMIC_INDEX`.

    Surplus dynamic entries, which are an error elsewhere, stay `DYNAMIC_INDEX`.
    """
    remaining = iter(values)
    return tuple(next(remaining, n) if n == DYNAMIC_INDEX else n for n in numbers)


def split_list(mixed: Sequence[int | SSAValue]) -> tuple[list[int], list[SSAValue]]:
    """Split a mixed list into the static list and the values; the inverse of `mixed_list`."""
    numbers = [item if isinstance(item, int) else DYNAMIC_INDEX for item in mixed]
    return numbers, [item for item in mixed if not isinstance(item, int)]


SLICE_LISTS = ("static_offsets", "static_sizes", "static_strides")
"""The properties that hold the static part of a slice."""


def index_array(entries: Sequence[int | SSAValue]) -> DenseArrayBase[IntegerType]:
    """Return the static part of a mixed list, with `DYNAMIC_INDEX` for each value."""
    return DenseArrayBase.from_list(i64, split_list(entries)[0])


def slice_properties(
    offsets: Sequence[int | SSAValue],
    sizes: Sequence[int | SSAValue],
    strides: Sequence[int | SSAValue] | None = None,
) -> dict[str, Attribute]:
    """Return the static offset, size and stride properties of a slice; the default stride is 1."""
    lists = offsets, sizes, [1] * len(sizes) if strides is None else strides
    return dict(zip(SLICE_LISTS, map(index_array, lists), strict=True))


def parse_size_list(parser: AttrParser) -> ArrayAttr[IntegerAttr]:
    """Parse a list of sizes such as `[?, 33, 40]`."""

    def parse_one() -> IntegerAttr:
        if parser.parse_optional_punctuation("?") is not None:
            return IntegerAttr(DYNAMIC_INDEX, i64)
        return IntegerAttr(parser.parse_integer(), i64)

    return ArrayAttr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_one))


def print_size_list(printer: Printer, sizes: Attribute) -> None:
    """Print a list of sizes; the inverse of `parse_size_list`."""

    def print_one(size: IntegerAttr) -> None:
        number = size.value.data
        printer.print_string("?" if number == DYNAMIC_INDEX else str(number))

    with printer.in_square_brackets():
        printer.print_list(cast("ArrayAttr[IntegerAttr]", sizes), print_one)


def known_sizes(sizes: ArrayAttr[IntegerAttr]) -> tuple[int | None, ...]:
    """Return the sizes as integers; `None` for dynamic ones."""
    numbers = (size.value.data for size in sizes)
    return tuple(None if number == DYNAMIC_INDEX else number for number in numbers)

"""Directives for integer properties and mixed static and dynamic lists."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
    i32,
    i64,
)
from xdsl.ir import Operation
from xdsl.irdl import OpDef
from xdsl.parser import Parser
from xdsl.printer import Printer

from ..attribute_access import number_list
from ..index_lists import INDEX, parse_index_list, print_index_list
from .assembly_format import DIRECTIVES, Directive, Parsed, PrintsProperty, directive, values


@dataclass(frozen=True, slots=True)
class IntegerValue(PrintsProperty):
    """An integer property without its type, such as `0`; negative ones only if `signed`."""

    name: str
    type: IntegerType | IndexType
    signed: bool = False

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        position = parser.pos
        number = parser.parse_integer(allow_boolean=False, allow_negative=self.signed)
        if not -(2**63) <= number < 2**63:
            parser.raise_error(f"{number} does not fit in 64 bits", position, parser.pos)
        parsed.attributes[self.name] = IntegerAttr(number, self.type)

    def print(self, printer: Printer, operation: Operation) -> None:
        number = cast(IntegerAttr, operation.get_attr_or_prop(self.name))
        printer.print_string(str(number.value.data))

    def fits(self, operation: Operation) -> bool:
        number = operation.get_attr_or_prop(self.name)
        if number is None:
            return True
        value = cast(IntegerAttr, number).value.data
        return (self.signed or value >= 0) and number == IntegerAttr(value, self.type)


_INTEGERS: dict[str, tuple[IntegerType | IndexType, bool]] = {
    "index": (INDEX, False),
    "int": (i64, False),
    "int32": (i32, False),
    "signed-index": (INDEX, True),
    "signed-int": (i64, True),
    "uint32": (IntegerType(32, Signedness.UNSIGNED), False),
}
"""The type of an integer property for each directive, and whether the integer may be negative."""


def _integer(
    type_: IntegerType | IndexType, signed: bool, definition: OpDef, name: str
) -> Directive:
    return IntegerValue(name, type_, signed)


DIRECTIVES.update({word: partial(_integer, *row) for word, row in _INTEGERS.items()})


@directive("numbers")
@dataclass(frozen=True, slots=True)
class Numbers(PrintsProperty):
    """A property that is an array of i64: `[1, 0]`."""

    name: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        numbers = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        parsed.attributes[self.name] = DenseArrayBase.from_list(i64, numbers)

    def print(self, printer: Printer, operation: Operation) -> None:
        numbers = number_list(operation.get_attr_or_prop(self.name))
        with printer.in_square_brackets():
            printer.print_list(numbers, printer.print_int)


@directive("dynamic-list")
@dataclass(frozen=True, slots=True)
class DynamicList:
    """A mixed list `[0, %n]`: static numbers in a property, operands for dynamic entries."""

    name: str
    numbers: str
    delimiter: Parser.Delimiter = Parser.Delimiter.SQUARE

    @property
    def anchor(self) -> str:
        """The name that says whether an optional group with the list is present."""
        return self.numbers

    @property
    def printed_attributes(self) -> tuple[str, ...]:
        return (self.numbers,)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        numbers, parsed.operands[self.name] = parse_index_list(parser, self.delimiter)
        parsed.attributes[self.numbers] = DenseArrayBase.from_list(i64, numbers)

    def print(self, printer: Printer, operation: Operation) -> None:
        numbers = number_list(operation.get_attr_or_prop(self.numbers))
        print_index_list(printer, numbers, values(operation, self.name), self.delimiter)

    def fits(self, operation: Operation) -> bool:
        static = operation.get_attr_or_prop(self.numbers)
        return static is None or cast("DenseArrayBase[IntegerType]", static).elt_type == i64


@directive("dynamic-tuple")
def _dynamic_tuple(definition: OpDef, name: str, numbers: str) -> Directive:
    """`dynamic-tuple($operands, $numbers)`: a mixed list in parentheses, `(0, %n)`."""
    return DynamicList(name, numbers, Parser.Delimiter.PAREN)

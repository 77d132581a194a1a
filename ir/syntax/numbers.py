"""Directives for integer properties and mixed static and dynamic lists."""

from __future__ import annotations

from dataclasses import dataclass
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
from ..index_lists import parse_index_list, print_index_list
from .assembly_format import INDEX, Directive, Parsed, PrintsProperty, directive, values


@dataclass(frozen=True, slots=True)
class IntegerValue(PrintsProperty):
    """A non-negative integer property without its type, such as `0`."""

    name: str
    type: IntegerType | IndexType

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        number = parser.parse_integer(allow_boolean=False, allow_negative=False)
        parsed.attributes[self.name] = IntegerAttr(number, self.type)

    def print(self, printer: Printer, operation: Operation) -> None:
        number = cast(IntegerAttr, operation.get_attr_or_prop(self.name))
        printer.print_string(str(number.value.data))

    def fits(self, operation: Operation) -> bool:
        number = operation.get_attr_or_prop(self.name)
        if number is None:
            return True
        value = cast(IntegerAttr, number).value.data
        return value >= 0 and number == IntegerAttr(value, self.type)


@directive("index")
def _index(definition: OpDef, name: str) -> Directive:
    """`index($a)`: an integer of type index."""
    return IntegerValue(name, INDEX)


@directive("int")
def _int(definition: OpDef, name: str) -> Directive:
    """`int($a)`: an integer of type i64."""
    return IntegerValue(name, i64)


@directive("int32")
def _int32(definition: OpDef, name: str) -> Directive:
    """`int32($a)`: an integer of type i32."""
    return IntegerValue(name, i32)


@directive("uint32")
def _uint32(definition: OpDef, name: str) -> Directive:
    """`uint32($a)`: an integer of type ui32."""
    return IntegerValue(name, IntegerType(32, Signedness.UNSIGNED))


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
        return cast("DenseArrayBase[IntegerType]", static).elt_type == i64


@directive("dynamic-tuple")
def _dynamic_tuple(definition: OpDef, name: str, numbers: str) -> Directive:
    """`dynamic-tuple($operands, $numbers)`: a mixed list in parentheses, `(0, %n)`."""
    return DynamicList(name, numbers, Parser.Delimiter.PAREN)

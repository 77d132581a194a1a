"""Directives of syntax rows for regions, structs of attributes, and symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, IndexType, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, Region
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..symbols import VISIBILITY, verify_visibility
from .rows import Parsed, is_plain

INDEX = IndexType()


@dataclass(frozen=True, slots=True)
class WorkgroupCountRegion:
    """` workgroups(%a: index) -> (index, index, index) {...}`, or nothing."""

    name: str
    keyword: str = "workgroups"

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        if parser.parse_optional_keyword(self.keyword) is None:
            return
        arguments = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=True)
        )
        parser.parse_punctuation("->")
        position = parser.pos
        results = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        if results != [INDEX] * 3:
            parser.raise_error("expected (index, index, index)", position)
        parsed.regions[self.name] = parser.parse_region(arguments)

    def print(self, printer: Printer, operation: Operation) -> None:
        region = cast(Region, getattr(operation, self.name))
        if not region.blocks:
            return
        printer.print_string(f" {self.keyword}(")
        printer.print_list(region.blocks[0].args, printer.print_block_argument)
        printer.print_string(") -> (index, index, index) ")
        printer.print_region(region, print_entry_block_args=False)


@dataclass(frozen=True, slots=True)
class RegionBody:
    """` {...}`; with `terminator` false, a last operation without operands is not printed."""

    name: str
    terminator: bool = True

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.regions[self.name] = parser.parse_region()

    def print(self, printer: Printer, operation: Operation) -> None:
        region = cast(Region, getattr(operation, self.name))
        last = region.blocks[0].last_op if region.blocks else None
        hidden = not self.terminator and is_plain(last)
        printer.print_string(" ")
        printer.print_region(region, print_block_terminators=not hidden)


ParseField = Callable[[AttrParser], Attribute]


def parse_struct(
    parser: AttrParser, fields: Mapping[str, ParseField], required: Sequence[str] = ()
) -> dict[str, Attribute]:
    """Read keys in any order. An unknown, repeated or missing key is an error."""
    found: dict[str, Attribute] = {}
    parser.parse_punctuation("<")
    if parser.parse_optional_punctuation(">") is None:
        while True:
            position = parser.pos
            key = parser.parse_identifier()
            if key not in fields or key in found:
                parser.raise_error(f"duplicate or unknown struct parameter name: {key}", position)
            parser.parse_punctuation("=")
            found[key] = fields[key](parser)
            if parser.parse_optional_punctuation(",") is None:
                break
        parser.parse_punctuation(">")
    for key in required:
        if key not in found:
            parser.raise_error(f"struct is missing required parameter: {key}")
    return found


def print_struct(
    printer: Printer, fields: Sequence[tuple[str, Callable[[], None] | Attribute | None]]
) -> None:
    """Write keys in order. A value is an attribute, a function that prints it, or absent."""

    def print_field(pair: tuple[str, Callable[[], None] | Attribute | None]) -> None:
        key, value = pair
        printer.print_string(f"{key} = ")
        if isinstance(value, Attribute):
            printer.print_attribute(value)
        elif value is not None:
            value()

    with printer.in_angle_brackets():
        printer.print_list([pair for pair in fields if pair[1] is not None], print_field)


@dataclass(frozen=True, slots=True)
class Symbol:
    """`@name`, kept as a string property; `flat` keeps it as a reference."""

    name: str
    reference: bool = False

    @property
    def printed_attributes(self) -> tuple[str, ...]:
        return (self.name,)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        symbol = parser.parse_symbol_name()
        parsed.attributes[self.name] = SymbolRefAttr(symbol) if self.reference else symbol

    def print(self, printer: Printer, operation: Operation) -> None:
        attribute = operation.get_attr_or_prop(self.name)
        if isinstance(attribute, SymbolRefAttr):
            printer.print_symbol_name(attribute.root_reference.data)
        elif isinstance(attribute, StringAttr):
            printer.print_symbol_name(attribute.data)

    def fits(self, operation: Operation) -> bool:
        attribute = operation.get_attr_or_prop(self.name)
        return not isinstance(attribute, SymbolRefAttr) or not attribute.nested_references


@dataclass(frozen=True, slots=True)
class Visibility:
    """` private`, ` public`, ` nested`, or nothing."""

    @property
    def printed_attributes(self) -> tuple[str, ...]:
        return ("sym_visibility",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        found = parser.parse_optional_keyword_in(VISIBILITY)
        if found is not None:
            parsed.attributes["sym_visibility"] = StringAttr(found)

    def print(self, printer: Printer, operation: Operation) -> None:
        attribute = operation.get_attr_or_prop("sym_visibility")
        if isinstance(attribute, StringAttr):
            printer.print_string(f" {attribute.data}")

    def verify(self, operation: Operation) -> None:
        verify_visibility(operation)


@dataclass(frozen=True, slots=True)
class EntryPoints:
    """`@executable::@export`, or several in braces, in the property `entry_points`."""

    @property
    def printed_attributes(self) -> tuple[str, ...]:
        return ("entry_points",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        def parse_one() -> SymbolRefAttr:
            attribute = parser.parse_attribute()
            if not isinstance(attribute, SymbolRefAttr):
                parser.raise_error("expected an entry point such as @executable::@export")
            return attribute

        points = parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, parse_one)
        parsed.attributes["entry_points"] = ArrayAttr(points or [parse_one()])

    def print(self, printer: Printer, operation: Operation) -> None:
        points = cast("ArrayAttr[SymbolRefAttr]", operation.get_attr_or_prop("entry_points"))
        if len(points) == 1:
            printer.print_attribute(points.data[0])
            return
        with printer.in_braces():
            printer.print_list(points, printer.print_attribute)

    def verify(self, operation: Operation) -> None:
        if not cast("ArrayAttr[SymbolRefAttr]", operation.get_attr_or_prop("entry_points")):
            raise VerifyException("expects at least one entry point")

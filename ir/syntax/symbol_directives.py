"""Directives for symbols: references, visibility and entry points of dispatches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr, SymbolRefAttr
from xdsl.ir import Operation, Region
from xdsl.irdl import OpDef
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..index_lists import INDEX
from ..symbols import VISIBILITY, find_symbol, verify_visibility, visibility
from .assembly_format import Directive, Parsed, PrintsProperty, directive, values
from .directives import property_classes


@directive("@$")
def _symbol(definition: OpDef, name: str) -> Directive:
    return Symbol(name, property_classes(definition, name) == {SymbolRefAttr})


@dataclass(frozen=True, slots=True)
class Symbol(PrintsProperty):
    """A symbol name `@name`, stored as a string or as a reference."""

    name: str
    reference: bool

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


def parse_visibility(parser: Parser) -> StringAttr | None:
    """Read a symbol's visibility; without one, the symbol is public."""
    word = parser.parse_optional_keyword_in(VISIBILITY)
    return None if word is None else StringAttr(word)


@dataclass(frozen=True, slots=True)
class Visibility:
    """` private`, ` public` or ` nested`. A symbol without one is public, and printed so."""

    printed_attributes: ClassVar[tuple[str, ...]] = ("sym_visibility",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        found = parse_visibility(parser)
        if found is not None:
            parsed.attributes["sym_visibility"] = found

    def print(self, printer: Printer, operation: Operation) -> None:
        printer.print_string(f" {visibility(operation)}")

    def verify(self, operation: Operation) -> None:
        verify_visibility(operation)


@dataclass(frozen=True, slots=True)
class EntryPoints:
    """The property `entry_points`: `@executable::@export`, or several of them in braces."""

    printed_attributes: ClassVar[tuple[str, ...]] = ("entry_points",)

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
        given = len(values(operation, "workload"))
        for point, export in exports_of(operation):
            region = getattr(export, "workgroup_count", None)
            block = region.blocks.first if isinstance(region, Region) else None
            wanted = given if block is None else list(block.arg_types).count(INDEX)
            if wanted != given:
                raise VerifyException(
                    f"{point} takes a workload of {wanted} values, but is given {given}"
                )


def exports_of(dispatch: Operation) -> Iterator[tuple[SymbolRefAttr, Operation]]:
    """Yield the entry points of a dispatch with their exports, for those that can be resolved."""
    points = cast("ArrayAttr[SymbolRefAttr]", dispatch.get_attr_or_prop("entry_points"))
    for point in points:
        found = find_symbol(dispatch, point.root_reference.data)
        for name in point.nested_references:
            found = None if found is None else find_symbol(found, name.data)
        if found is not None:
            yield point, found

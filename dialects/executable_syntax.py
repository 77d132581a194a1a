"""How executables and their exports are written, in `flow` and in `stream`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Block, Operation, Region
from xdsl.parser import Parser
from xdsl.printer import Printer

from ..ir.syntax.directives import RegionBody, Symbol, Visibility, WorkgroupCountRegion
from ..ir.syntax.rows import ATTRIBUTES_WITH_KEYWORD, Parsed, Syntax


@dataclass(frozen=True, slots=True)
class ExecutableBody(RegionBody):
    """` {...}` whose terminator is implied."""

    end: type[Operation] = Operation

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        region = parser.parse_region()
        if not region.blocks:
            region.add_block(Block())
        if not isinstance(region.block.last_op, self.end):
            region.block.add_op(self.end.create())
        parsed.regions[self.name] = region

    def fits(self, operation: Operation) -> bool:
        blocks = cast(Region, getattr(operation, self.name)).blocks
        return len(blocks) == 1 and isinstance(blocks[0].last_op, self.end)


EXECUTABLE_SYNTAX: Syntax = (
    Visibility(),
    " ",
    Symbol("sym_name"),
    ATTRIBUTES_WITH_KEYWORD,
)


@dataclass(frozen=True, slots=True)
class ExportName:
    """`@function`, or `@function as("alias")` if the export has a name of its own."""

    @property
    def printed_attributes(self) -> tuple[str, ...]:
        return ("sym_name", "function_ref")

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        name = parser.parse_symbol_name()
        parsed.attributes["function_ref"] = SymbolRefAttr(name)
        if parser.parse_optional_keyword("as") is not None:
            with parser.in_parens():
                name = StringAttr(parser.parse_str_literal())
        parsed.attributes["sym_name"] = name

    def print(self, printer: Printer, operation: Operation) -> None:
        name = cast(StringAttr, operation.properties["sym_name"])
        function = cast(SymbolRefAttr, operation.properties["function_ref"]).root_reference
        printer.print_symbol_name(function.data)
        if function != name:
            printer.print_string(" as(")
            printer.print_string_literal(name.data)
            printer.print_string(")")

    def fits(self, operation: Operation) -> bool:
        return not cast(SymbolRefAttr, operation.properties["function_ref"]).nested_references


EXPORT_SYNTAX: Syntax = (
    Visibility(),
    " ",
    ExportName(),
    WorkgroupCountRegion("workgroup_count"),
    ATTRIBUTES_WITH_KEYWORD,
)

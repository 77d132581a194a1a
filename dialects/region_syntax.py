"""Directives for regions: the body of an operation, and how many workgroups a dispatch has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, Region
from xdsl.parser import Parser
from xdsl.printer import Printer

from .syntax import Parsed, is_plain

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

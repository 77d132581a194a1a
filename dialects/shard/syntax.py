"""Directives for the text of `shard` ops, and the names of their results."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, cast

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, OpDef
from xdsl.parser import Parser
from xdsl.printer import Printer

from ...ir.syntax.assembly_format import Optional, Parsed, PrintsProperty, directive
from ...ir.syntax.operations import SyntaxOperation
from .attributes import (
    AxesArrayAttr,
    AxesAttr,
    IndicesAttr,
    indices_attribute,
    parse_axes,
    print_axes,
)


class NamedResults(SyntaxOperation, ABC):
    """An op that suggests SSA names for its results, as upstream's printer does.

    A name that the text gives takes precedence.
    """

    RESULT_NAMES: ClassVar[tuple[str, ...]] = ()
    """One name for each result; the last one is reused for further results. None by default."""

    def result_names(self) -> tuple[str, ...]:
        """Return the suggested names for this op."""
        return self.RESULT_NAMES

    def __post_init__(self) -> None:
        if _has_defaults(type(self)):
            super().__post_init__()
        names = self.result_names()
        if names:
            for position, result in enumerate(self.results):
                result.name_hint = names[min(position, len(names) - 1)]


@cache
def _has_defaults(operation: type[IRDLOperation]) -> bool:
    """Return whether any property or attribute of an op class has a default value.

    Annotations have none, and they are the most frequent ops of a program.
    """
    definition = operation.get_irdl_definition()
    members = (*definition.properties.values(), *definition.attributes.values())
    return any(member.default_value is not None for member in members)


@directive("axes")
@dataclass(frozen=True, slots=True)
class AxesValue(PrintsProperty):
    """A list of grid axes: `[0, 1]`."""

    name: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.attributes[self.name] = parse_axes(parser)

    def print(self, printer: Printer, operation: Operation) -> None:
        print_axes(printer, cast(AxesAttr, operation.properties[self.name]))


@directive("axes-of-dimensions")
@dataclass(frozen=True, slots=True)
class AxesOfDimensions(PrintsProperty):
    """A list of grid axes for each dimension: `[[0], []]`."""

    name: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.attributes[self.name] = AxesArrayAttr.parse_lists(parser)

    def print(self, printer: Printer, operation: Operation) -> None:
        cast(AxesArrayAttr, operation.properties[self.name]).print_parameters(printer)


@dataclass(frozen=True, slots=True)
class Keyword:
    """A keyword, and another one that is read as the same."""

    word: str
    synonym: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        if not self.parse_optional(parser, parsed):
            parser.raise_error(f"expected '{self.word}'")

    def parse_optional(self, parser: Parser, parsed: Parsed) -> bool:
        words = (self.word, self.synonym)
        return parser.parse_optional_keyword_in(words) is not None

    def print(self, printer: Printer, operation: Operation) -> None:
        printer.print_string(self.word)


GRID_AXES = Optional(
    (" ", Keyword("grid_axes", "mesh_axes"), " = ", AxesValue("grid_axes")), "grid_axes"
)
"""`grid_axes = [0, 1]`, or nothing if there are no axes."""


_EXPECTED = "expected dimensions such as 2x?x4"


@directive("dimensions")
def _dimensions(definition: OpDef, name: str) -> Dimensions:
    return Dimensions(name, definition.name)


@dataclass(frozen=True, slots=True)
class Dimensions(PrintsProperty):
    """`2x?x4`, or `[]` if there are no dimensions."""

    name: str
    operation: str
    """The name of the operation, for errors."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        dimensions: list[int] = []
        if parser.parse_optional_punctuation("[") is not None:
            is_list = parser.parse_optional_punctuation("]") is not None
        else:
            dimensions = parser.parse_dimension_list()
            # If the text after a dimension is invalid, such as the `q` of `2xq`, the parser stops
            # before the `x`.
            is_list = bool(dimensions) and parser.parse_optional_keyword("x") is None
            start = parser.pos
            if is_list and (rest := parser.parse_optional_identifier()) is not None:
                end = parser.pos
                text = rest.removeprefix("x")
                parser.raise_error(f"invalid dimension '{text}', {_EXPECTED}", start + 1, end)
        if not is_list:
            parser.raise_error(
                self._no_list() if not dimensions else f"invalid dimension, {_EXPECTED}"
            )
        parsed.attributes[self.name] = indices_attribute(dimensions)

    def _no_list(self) -> str:
        return (
            f"custom op '{self.operation}' Failed parsing dimension list. Did you mean an empty "
            f'list? It must be denoted by "[]". {_EXPECTED.capitalize()}'
        )

    def print(self, printer: Printer, operation: Operation) -> None:
        dimensions = cast(IndicesAttr, operation.properties[self.name]).get_values()
        if dimensions:
            printer.print_dimension_list(dimensions)
        else:
            printer.print_string("[]")


def grid_reference(grid: str | SymbolRefAttr) -> SymbolRefAttr:
    """Return a reference to a grid that is given by name or by reference."""
    return SymbolRefAttr(StringAttr(grid)) if isinstance(grid, str) else grid

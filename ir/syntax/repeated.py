"""A directive for lists written entry by entry, such as `[(%a : T)[%n], (%b : U)[%m]]`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AnyAttr, OpDef, OperandDef, PropertyDef
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .assembly_format import (
    Parsed,
    Pieces,
    Syntax,
    compile_syntax,
    parse_pieces,
    print_pieces,
    values,
)
from .lines import print_lines
from .resource_directives import operand_key, verify_columns


class _Entry:
    """One entry of an operation's lists, presented as an operation with single values."""

    def __init__(self, operation: Operation, columns: Sequence[str], index: int) -> None:
        self._operation = operation
        self._columns = columns
        self._index = index

    def __getattr__(self, name: str) -> SSAValue | None:
        found = getattr(self._operation, name, None)
        return found[self._index] if name in self._columns and found is not None else found

    def get_attr_or_prop(self, name: str) -> Attribute:
        array = cast("ArrayAttr[Attribute]", self._operation.get_attr_or_prop(name))
        return array.data[self._index]


@dataclass(eq=False)
class Repeated:
    """Lists of values of equal length, and array properties of that length.

    `entry` is the syntax of one entry, as if each list were a single value. The values `shared`,
    such as the scope before each key, must be the same in every entry. With `in_lines` each entry
    is printed on a line of its own.
    """

    entry: Syntax
    shared: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()
    delimiter: Parser.Delimiter = Parser.Delimiter.BRACES
    in_lines: bool = True

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the lists, in the order of the text."""
        pieces = (self.entry,) if isinstance(self.entry, str) else self.entry
        formats = " ".join(piece for piece in pieces if isinstance(piece, str))
        names = dict.fromkeys(re.findall(r"\$(\w+)", formats))
        return tuple(name for name in names if name not in (*self.shared, *self.arrays))

    @cached_property
    def _compiled(self) -> Pieces:
        single = [(name, OperandDef(AnyAttr())) for name in (*self.columns, *self.shared)]
        arrays = {name: PropertyDef(AnyAttr()) for name in self.arrays}
        return compile_syntax(OpDef("entry", operands=[*single], properties={**arrays}), self.entry)

    @property
    def printed_attributes(self) -> tuple[str, ...]:
        return self.arrays

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        for name in self.columns:
            parsed.operands.setdefault(name, [])
        entries: list[Parsed] = []

        def parse_entry() -> None:
            entries.append(Parsed())
            parse_pieces(parser, entries[-1], self._compiled)

        parser.parse_comma_separated_list(self.delimiter, parse_entry)
        position = parser.pos
        for entry in entries:
            if self._shared(entry) != self._shared(entries[0]):
                parser.raise_error("expected the same values in every entry", position)
            for name, operands in entry.operands.items():
                before = parsed.operands.get(name, []) if name in self.columns else []
                parsed.operands[name] = [*before, *operands]
            for name, types in entry.types.items():
                before_types = parsed.types.get(name, []) if name in self.columns else []
                parsed.types[name] = [*before_types, *types]
        for name in self.arrays:
            parsed.attributes[name] = ArrayAttr(entry.attributes[name] for entry in entries)

    def print(self, printer: Printer, operation: Operation) -> None:
        def print_entry(index: int) -> None:
            entry = _Entry(operation, self.columns, index)
            print_pieces(printer, cast(Operation, entry), self._compiled)

        entries, brackets = range(self._length(operation)), _BRACKETS[self.delimiter]
        if self.in_lines:
            print_lines(printer, entries, print_entry, brackets)
            return
        with printer.delimited(*brackets):
            printer.print_list(entries, print_entry)

    def verify(self, operation: Operation) -> None:
        verify_columns(operation, *self.columns)
        for name in self.arrays:
            found = len(cast("ArrayAttr[Attribute]", operation.get_attr_or_prop(name)))
            if found != self._length(operation):
                raise VerifyException(
                    f"expected {self._length(operation)} {name}, one for each of "
                    f"{self.columns[0]}, found {found}"
                )

    def _shared(self, entry: Parsed) -> dict[str, list[tuple[str, int]] | list[Attribute]]:
        """Return the values of an entry that are outside of `columns`, and their types."""
        keys = {n: [*map(operand_key, operands)] for n, operands in entry.operands.items()}
        found = [*keys.items(), *((f"type of {n}", types) for n, types in entry.types.items())]
        return {n: each for n, each in found if n.removeprefix("type of ") not in self.columns}

    def _length(self, operation: Operation) -> int:
        return len(values(operation, self.columns[0]))


_BRACKETS = {
    Parser.Delimiter.BRACES: ("{", "}"),
    Parser.Delimiter.SQUARE: ("[", "]"),
    Parser.Delimiter.NONE: ("", ""),
}

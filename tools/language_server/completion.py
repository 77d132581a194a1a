"""Completion at a position of a text: operations and defined names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from xdsl.context import Context

from ...ir.attribute_access import symbol_name
from .analysis import Analysis, Piece, alias_names
from .hover import documentation

_OPERATION = re.compile(r'(?:^|=|\{|\}|\))[ \t]*"?([a-zA-Z_][\w.]*)?$', re.ASCII)
"""A line prefix after which an operation may follow, with the part typed so far."""

_NAME = re.compile(r"([%@#!])([\w$.-]*)$", re.ASCII)


class Kind(Enum):
    """The kind of a completion."""

    OPERATION = "operation"
    DIALECT = "dialect"
    VALUE = "value"
    SYMBOL = "symbol"
    ALIAS = "alias"


@dataclass(frozen=True, slots=True)
class Entry:
    """A completion of what was typed."""

    label: str
    kind: Kind
    detail: str
    typed: int
    """The number of characters before the cursor that it replaces."""


class Operations:
    """The operations of all dialects by name. Dialects are imported at the first use."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[str, str] | None = None

    @property
    def are_known(self) -> bool:
        """Return whether the dialects have been imported."""
        return self._known is not None

    def all(self) -> dict[str, str]:
        """Return the documentation of each operation by name."""
        if self._known is None:
            found: dict[str, str] = {}
            for name in sorted(self._context.registered_dialect_names):
                try:
                    operations = self._context.get_dialect(name).operations
                    found.update((op.name, documentation(op)) for op in operations)
                except Exception:
                    # A broken dialect of another package must not hide the others.
                    continue
            self._known = found
        return self._known


def completions_at(
    text: str, offset: int, analysis: Analysis | None, operations: Operations
) -> list[Entry]:
    """Return the completions at an offset; the analysis may be of an earlier text."""
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    if "//" in line:
        return []
    if (name := _NAME.search(line)) is not None:
        if analysis is None:
            return []
        piece = analysis.piece_at(offset)
        return list(_names(piece, offset - piece.base, name[1], name[2]))
    if (match := _OPERATION.search(line)) is not None:
        return list(_operations(operations, match[1] or ""))
    return []


def _operations(operations: Operations, typed: str) -> Iterator[Entry]:
    known = operations.all()
    if "." not in typed:
        for dialect in sorted({name.partition(".")[0] for name in known}):
            if dialect.startswith(typed):
                yield Entry(dialect, Kind.DIALECT, "dialect", len(typed))
    for name in sorted(known):
        if name.startswith(typed):
            yield Entry(name, Kind.OPERATION, known[name].partition("\n")[0], len(typed))


def _names(piece: Piece, offset: int, mark: str, typed: str) -> Iterator[Entry]:
    size = 1 + len(typed)
    match mark:
        case "%":
            for name, kind in sorted(_values(piece, offset).items()):
                if name.startswith(typed):
                    yield Entry(f"%{name}", Kind.VALUE, kind, size)
        case "@":
            symbols = {symbol_name(op): op.name for op in piece.parser.places.extents}
            for symbol in sorted(filter(None, symbols)):
                if symbol.startswith(typed):
                    yield Entry(f"@{symbol}", Kind.SYMBOL, symbols[symbol], size)
        case _:
            for alias in sorted(set(alias_names(piece))):
                if alias.startswith(mark + typed):
                    yield Entry(alias, Kind.ALIAS, "alias", size)


def _values(piece: Piece, offset: int) -> dict[str, str]:
    """Return the values defined before an offset in the enclosing function, with their types."""
    around = piece.operations_around(offset)
    extents = [piece.parser.places.extents[op] for op in around if symbol_name(op) is not None]
    begin = extents[0].start if extents else 0
    content = piece.source.content
    return {
        content[start + 1 : end]: ", ".join(str(value.type) for value in values)
        for start, end, values in piece.parser.places.definitions
        if begin <= start < offset
    }

"""The outline of a text: its symbols and their nesting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from ...ir.attribute_access import operation_name, symbol_name
from ...ir.regions import inner_operations
from .analysis import Analysis, Piece
from .reused_functions import Extent


@dataclass(frozen=True, slots=True)
class Entry:
    """A symbol or module in the outline; offsets are relative to the file."""

    name: str
    detail: str
    operation: str
    """The name of the operation."""
    extent: Extent
    place: Extent
    children: tuple[Entry, ...]


def outline(analysis: Analysis) -> list[Entry]:
    """Return the outline of a text."""
    found: list[Entry] = []
    for piece in analysis.pieces:
        if piece.module is not None:
            is_written = piece.module in piece.parser.places.extents
            entries = [_entry(piece, piece.module)] if is_written else _inside(piece, piece.module)
            found += entries
    return found


def _inside(piece: Piece, table: Operation) -> Iterator[Entry]:
    for operation in inner_operations(table):
        if operation in piece.parser.places.extents and (
            symbol_name(operation) is not None or isinstance(operation, ModuleOp)
        ):
            yield _entry(piece, operation)


def _entry(piece: Piece, operation: Operation) -> Entry:
    extent, place, base = (
        piece.parser.places.extents[operation],
        piece.name_of(operation),
        piece.base,
    )
    symbol, name = symbol_name(operation), operation_name(operation)
    kind = operation.properties.get("function_type") or operation.properties.get("type")
    return Entry(
        name if symbol is None else f"@{symbol}",
        str(kind) if isinstance(kind, Attribute) else name,
        name,
        Extent(base + extent.start, base + extent.end),
        Extent(base + place.start, base + place.end),
        tuple(_inside(piece, operation)),
    )

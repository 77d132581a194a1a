"""Find the definition of the name at a position."""

from __future__ import annotations

import re

from xdsl.ir import Operation, Region
from xdsl.traits import IsolatedFromAbove

from ...ir.regions import inner_operations
from .analysis import Analysis, Piece, alias_definition, symbol_definition
from .reused_functions import Extent

_REFERENCE = re.compile(r'@(?:"[^"\n]*"|[\w$.-]+)(?:::@(?:"[^"\n]*"|[\w$.-]+))*', re.ASCII)


_RESULTS = re.compile(r"[ \t]*(?:%[\w$.-]+(?::\d+)?[ \t]*,?[ \t]*)+=(?!=)", re.ASCII)
"""The results of a statement at the beginning of its line."""


def definition_at(analysis: Analysis, offset: int) -> Extent | None:
    """Return the extent of the definition of the value, symbol, alias or block at an offset.

    Returns `None` if it is not found.
    """
    piece = analysis.piece_at(offset)
    found = find_definition(piece, offset - piece.base, analysis.word_around(offset))
    return None if found is None else found.moved(piece.base)


def find_definition(piece: Piece, offset: int, word: str) -> Extent | None:
    """Return the extent in the piece of the definition of a word at an offset of the piece."""
    match word[:1]:
        case "%":
            return _of_value(piece, offset, word)
        case "@":
            found = symbol_definition(piece, offset, reference_at(piece, offset))
            return None if found is None else found[1]
        case "#" | "!":
            return alias_definition(piece, word)
        case "^":
            return _of_block(piece, offset, word)
        case _:
            return None


def reference_at(piece: Piece, offset: int) -> list[str]:
    """Return the names of the reference `@a::@b` at an offset, up to the name at the offset."""
    content = piece.source.content
    begin = content.rfind("\n", 0, offset) + 1
    for match in _REFERENCE.finditer(content, begin):
        if match.start() > offset:
            break
        if offset <= match.end():
            end = content.find("::", offset, match.end())
            written = content[match.start() : end if end >= 0 else match.end()]
            return [name.removeprefix("@").strip('"') for name in written.split("::")]
    return []


def isolated_extent(piece: Piece, offset: int) -> Extent:
    """Return the extent of the innermost isolated operation around an offset, or of the piece."""
    for operation in piece.operations_around(offset):
        if operation.has_trait(IsolatedFromAbove, value_if_unregistered=False):
            return piece.parser.places.extents[operation]
    return Extent(0, len(piece.source.content))


def _of_value(piece: Piece, offset: int, word: str) -> Extent | None:
    value = piece.value_at(offset)
    found = None if value is None else piece.definition_of(value)
    if found is not None:
        return found
    # In a statement with a syntax error, the last definition above is the most likely one.
    pattern = re.compile(rf"{re.escape(word)}(?![\w$.-])(?=[^=\n]*=|\s*:)", re.ASCII)
    last: Extent | None = None
    for match in pattern.finditer(piece.source.content, isolated_extent(piece, offset).start):
        if match.start() > offset:
            break
        if match.end() < offset or _is_result(piece, match.start()):
            last = Extent(match.start(), match.end())
    return last


def _is_result(piece: Piece, offset: int) -> bool:
    """Return whether a value's name at an offset is before the `=` of a statement."""
    content = piece.source.content
    start = content.rfind("\n", 0, offset) + 1
    results = _RESULTS.match(content, start)
    return results is not None and offset < results.end()


def _of_block(piece: Piece, offset: int, word: str) -> Extent | None:
    """Return the label of that name in the innermost region around an offset that has one.

    A label is followed by a colon, after its arguments.
    """
    arguments = r"\((?:[^()]|\([^()]*\))*\)"
    pattern = re.compile(rf"{re.escape(word)}(?![\w$.-])(?=\s*(?:{arguments})?\s*:)", re.ASCII)
    for operation in piece.operations_around(offset):
        extent = piece.parser.places.extents[operation]
        region = _region_at(piece, operation, offset)
        for found in pattern.finditer(piece.source.content, extent.start, extent.end):
            if piece.operations_around(found.start())[:1] == [operation] and (
                _region_at(piece, operation, found.start()) is region
            ):
                return Extent(found.start(), found.end())
    return None


def _region_at(piece: Piece, operation: Operation, offset: int) -> Region | None:
    """Return the region of an operation that has the first statement that ends after an offset."""
    extents = piece.parser.places.extents
    for inner in inner_operations(operation):
        if inner in extents and extents[inner].end >= offset:
            return inner.parent_region()
    return None

"""Find the definition of the name at a position."""

from __future__ import annotations

import re

from .analysis import Analysis, Piece, alias_definition, symbol_definition
from .reused_functions import Extent

_REFERENCE = re.compile(r'@(?:"[^"\n]*"|[\w$.-]+)(?:::@(?:"[^"\n]*"|[\w$.-]+))*', re.ASCII)


def definition_at(analysis: Analysis, offset: int) -> Extent | None:
    """Return the extent of the definition of the value, symbol, alias or block at an offset.

    Returns `None` if it is not found.
    """
    piece = analysis.piece_at(offset)
    found = _definition(analysis, piece, offset - piece.base)
    return None if found is None else Extent(found.start + piece.base, found.end + piece.base)


def _definition(analysis: Analysis, piece: Piece, offset: int) -> Extent | None:
    word = analysis.word_around(offset + piece.base)
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


def _of_value(piece: Piece, offset: int, word: str) -> Extent | None:
    value = piece.value_at(offset)
    if value is not None:
        for start, end, values in piece.parser.places.definitions:
            if any(each is value for each in values):
                return Extent(start, end)
    # In a statement with a syntax error, the last definition above is the most likely one.
    name = re.escape(word)
    pattern = re.compile(rf"{name}(?![\w$.-])(?=[^=\n]*=|\s*:)", re.ASCII)
    above = list(pattern.finditer(piece.source.content, 0, offset))
    return Extent(above[-1].start(), above[-1].end()) if above else None


def _of_block(piece: Piece, offset: int, word: str) -> Extent | None:
    pattern = re.compile(rf"^[ \t]*({re.escape(word)})(?![\w$.-])", re.MULTILINE | re.ASCII)
    around = piece.operations_around(offset)
    for operation in around:
        extent = piece.parser.places.extents[operation]
        found = pattern.search(piece.source.content, extent.start, extent.end)
        if found is not None:
            return Extent(found.start(1), found.end(1))
    return None

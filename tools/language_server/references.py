"""Find all occurrences of the name at a position, and rename it.

A name occurs where it is written and has the same definition. So references are right wherever
definitions are, in statements with errors, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .analysis import Analysis, Piece
from .definitions import find_definition, isolated_extent
from .reused_functions import Extent

_NAME = r'[%@#!^](?:\d+(?![\w$.-])|[a-zA-Z_$.-][\w$.-]*|"[^"\n]*")'
_TOKEN = re.compile(rf'//[^\n]*|({_NAME})|"(?:[^"\\\n]|\\.)*"', re.ASCII)
"""A name, or text without names: a comment or a string."""

_PLAIN = re.compile(r"\d+|[a-zA-Z_$.-][\w$.-]*", re.ASCII)
_ALIAS = re.compile(r"[a-zA-Z_][\w$]*", re.ASCII)
_SYMBOL = re.compile(r"[a-zA-Z_][\w$.]*", re.ASCII)
_NOT_IN_QUOTES = re.compile(r'["\\\n]')
_KINDS = {"%": "a value", "^": "a block", "#": "an alias", "!": "an alias", "@": "a symbol"}


@dataclass(frozen=True, slots=True)
class References:
    """The occurrences of one name; offsets are relative to the file."""

    name: str
    """The name as it is written, with its prefix character."""
    asked: Extent
    """The occurrence at the position that was asked about."""
    definition: Extent
    occurrences: list[Extent]
    """All of them in textual order, with the definition."""


class InvalidName(ValueError):
    """A new name that cannot be used; the text says why."""


def references_at(analysis: Analysis, offset: int) -> References | None:
    """Return the occurrences of the value, symbol, alias or block at an offset.

    Returns `None` if its definition is not found, or is not written with its prefix character. So
    it does in comments and strings.
    """
    piece, word = analysis.piece_at(offset), analysis.word_around(offset)
    target = find_definition(piece, offset - piece.base, word)
    if target is None:
        return None
    content, base = piece.source.content, piece.base
    if _unquoted(content[target.start : target.end]) != _unquoted(word):
        return None
    found = [
        extent.moved(base)
        for extent in _written(piece, word, _scope(piece, target, word))
        if find_definition(piece, extent.start, word) == target
    ]
    asked = [extent for extent in found if extent.start <= offset <= extent.end]
    return References(word, asked[-1], target.moved(base), found) if asked else None


def renamed(analysis: Analysis, found: References, name: str) -> str:
    """Return the text that takes the place of each occurrence.

    `name` may have the prefix character. Raises InvalidName if it is no name of this kind, or
    already has another meaning where the old one is defined.
    """
    mark = found.name[0]
    plain = name.removeprefix(mark)
    new = f"{mark}{plain}"
    if mark == "@":
        plain = plain.strip('"')
        new = f"@{plain}" if _SYMBOL.fullmatch(plain) else f'@"{plain}"'
        is_name = plain and not _NOT_IN_QUOTES.search(plain)
    else:
        is_name = (_PLAIN if mark in "%^" else _ALIAS).fullmatch(plain)
    if not is_name:
        raise InvalidName(f"'{name}' is not a name of {_KINDS[mark]}")
    piece = analysis.piece_at(found.definition.start)
    start = found.definition.start - piece.base
    scope = _scope(piece, Extent(start, start), mark)
    for extent in _written(piece, new, scope):
        other = find_definition(piece, extent.start, new)
        if other is None or other.start != start:
            position = analysis.positions("utf-8").position(extent.start + piece.base)
            raise InvalidName(f"{new} is in use in line {position[0] + 1}")
    return new


def _scope(piece: Piece, definition: Extent, word: str) -> Extent:
    """Return the part of the text in which a name can have its meaning."""
    if word[0] in "%^":
        return isolated_extent(piece, definition.start)
    return Extent(0, len(piece.source.content))


def _written(piece: Piece, word: str, scope: Extent) -> list[Extent]:
    """Return all places of a name outside of comments and strings, whatever it means there."""
    return [
        Extent(match.start(), match.end())
        for match in _TOKEN.finditer(piece.source.content, scope.start, scope.end)
        if match[1] is not None and _unquoted(match[1]) == _unquoted(word)
    ]


def _unquoted(name: str) -> str:
    return name.replace('"', "")

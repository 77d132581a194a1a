"""Convert offsets to the editor's positions: lines, and code units of an encoding."""

from __future__ import annotations

import re
from bisect import bisect_right

_LINE_END = re.compile(r"\r\n|\n|\r")
_UNIT_BYTES = {"utf-8": 1, "utf-16": 2, "utf-32": 4}

Position = tuple[int, int]
"""A line and a character in it, both zero-based."""


class Positions:
    """Converts offsets of a text to positions and back."""

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self.text = text
        self._bytes = _UNIT_BYTES[encoding]
        self._codec = encoding if encoding == "utf-8" else f"{encoding}-le"
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def position(self, offset: int) -> Position:
        """Return the position of an offset."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self._starts, offset) - 1
        return line, self._units(self.text[self._starts[line] : offset])

    def offset(self, line: int, character: int) -> int:
        """Return the offset of a position; clamped to the end of its line."""
        if line < 0 or line >= len(self._starts):
            return 0 if line < 0 else len(self.text)
        start = self._starts[line]
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)
        content = self.text[start:end].rstrip("\r\n")
        if content.isascii():
            return start + max(0, min(character, len(content)))
        offset = start
        for char in content:
            character -= self._units(char)
            if character < 0:
                break
            offset += 1
        return offset

    def replaced(self, start: Position, end: Position, text: str) -> str:
        """Return the text with the part between two positions replaced."""
        first, last = self.offset(*start), self.offset(*end)
        return self.text[:first] + text + self.text[max(first, last) :]

    def _units(self, text: str) -> int:
        if text.isascii():
            return len(text)
        return len(text.encode(self._codec, "surrogatepass")) // self._bytes


def rest_of_line(text: str, offset: int) -> str:
    """Return the text from an offset to the end of its line."""
    end = text.find("\n", offset)
    return text[offset : end if end >= 0 else len(text)]

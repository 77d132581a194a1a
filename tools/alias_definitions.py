"""Aliases of attributes and types, `#map = affine_map<...>`: named as MLIR's printer names them.

MLIR sorts what it abbreviates by depth of nesting, then attributes before types, then by name, and
then in the order in which it meets them; equal names get numbers. The depth of an alias that nests
no other is one. What encloses an alias is one deeper, be it abbreviated itself or not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_MARK = "\ud800"
"""Encloses the index of an alias in unfinished text: text that was read as UTF-8 cannot hold it."""

_MARKED = re.compile(f"{_MARK}([0-9]+){_MARK}")


@dataclass(frozen=True, slots=True)
class _Alias:
    name: str
    definition: str
    """The text of the attribute or type, with marks."""
    depth: int
    is_type: bool


class AliasDefinitions:
    """The aliases of one text.

    Their names are known only when all have been met, so the text has marks until it is finished.
    """

    def __init__(self) -> None:
        self._aliases: list[_Alias] = []
        self._marks: dict[str, str] = {}

    def mark(self, name: str, definition: str, *, depth: int, is_type: bool) -> str:
        """What to print for an attribute or type with this text."""
        mark = self._marks.get(definition)
        if mark is None:
            mark = f"{_MARK}{len(self._aliases)}{_MARK}"
            self._marks[definition] = mark
            self._aliases.append(_Alias(name, definition, depth, is_type))
        return mark

    def finish(self, text: str) -> str:
        """The definitions, one a line, and the text with names for marks."""
        if not self._aliases:
            return text
        order = sorted(
            range(len(self._aliases)),
            key=lambda index: (
                self._aliases[index].depth,
                self._aliases[index].is_type,
                self._aliases[index].name,
            ),
        )
        names = self._numbered(order)

        def named(match: re.Match[str]) -> str:
            return names[int(match[1])]

        definitions = [f"{names[index]} = {self._aliases[index].definition}\n" for index in order]
        return _MARKED.sub(named, "".join((*definitions, text)))

    def _numbered(self, order: list[int]) -> dict[int, str]:
        counts: dict[str, int] = {}
        used: set[str] = set()
        names: dict[int, str] = {}
        for index in order:
            alias = self._aliases[index]
            while True:
                count = counts.get(alias.name, 0)
                counts[alias.name] = count + 1
                separator = "_" if alias.name[-1].isdigit() else ""
                name = f"{alias.name}{separator}{count}" if count else alias.name
                if name not in used:
                    break
            used.add(name)
            names[index] = f"{'!' if alias.is_type else '#'}{name}"
        return names

"""Aliases of attributes and types, `"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr, TupleType
from xdsl.ir import Attribute

from ..attribute_access import parts_of

_LARGEST_INLINE_TUPLE = 16
"""Longer tuple types have an alias, as in MLIR."""


def alias_name(attribute: Attribute) -> str | None:
    """The name, without a number, that an attribute or type is abbreviated to; None: it is not."""
    name = _NAMES.get(attribute.name)
    return name(attribute) if name is not None else None


def _executable_target(attribute: Attribute) -> str:
    return f"executable_target_{_identifier(_string(attribute, 'format'))}"


def _device_target(attribute: Attribute) -> str:
    name = f"device_target_{_identifier(_string(attribute, 'identifier'))}"
    configuration: Attribute | None = getattr(attribute, "configuration", None)
    if isinstance(configuration, DictionaryAttr):
        ordinal = configuration.data.get("ordinal")
        if isinstance(ordinal, IntegerAttr):
            return f"{name}_{_identifier(str(cast(IntegerAttr, ordinal).value.data))}_"
    return name


def _tuple(attribute: Attribute) -> str | None:
    long = isinstance(attribute, TupleType) and len(attribute.types) > _LARGEST_INLINE_TUPLE
    return "tuple" if long else None


def _string(attribute: Attribute, field: str) -> str:
    value: Attribute | None = getattr(attribute, field, None)
    return value.data if isinstance(value, StringAttr) else ""


def _identifier(text: str) -> str:
    """IREE's fragment of a symbol's name: one `_` for each byte that is no letter or digit."""
    return re.sub(rb"[^a-z0-9_]", b"_", text.lower().encode()).decode()


def _always(name: str) -> Callable[[Attribute], str]:
    return lambda _: name


_NAMES: dict[str, Callable[[Attribute], str | None]] = {
    "affine_map": _always("map"),
    "affine_set": _always("set"),
    "hal.device.target": _device_target,
    "hal.executable.target": _executable_target,
    "hal.pipeline.layout": _always("pipeline_layout"),
    "iree_encoding.encoding": _always("encoding"),
    "iree_encoding.layout": _always("encoding"),
    "iree_encoding.testing": _always("encoding"),
    "iree_encoding.unknown": _always("encoding"),
    "tuple": _tuple,
}
"""By the name of an attribute or type."""


class AliasSizes:
    """Counts attributes; what is shared is looked at once and counted as often as it stands."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Attribute, int]] = {}
        """By identity, with the attribute itself, so that no other gets its identity."""

    def size(self, attribute: Attribute) -> int:
        """The number of attributes that an attribute consists of, itself included."""
        known = self._known.get(id(attribute))
        if known is None:
            count = 1 + sum(self.size(part) for part in parts_of(attribute))
            known = self._known[id(attribute)] = attribute, count
        return known[1]


LOCATION = "loc"
"""The name of aliases of locations, which are defined below the text: others would hide it."""

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

        above: list[str] = []
        below: list[str] = []
        for index in order:
            alias = self._aliases[index]
            place = below if alias.name == LOCATION else above
            place.append(f"{names[index]} = {alias.definition}\n")
        end = ["\n", *below] if below else []
        return _MARKED.sub(named, "".join((*above, text, *end)))

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

"""Aliases of attributes and types in printed IR, such as `#map` or `#encoding1`.

The choice of attributes and the names are those of MLIR and IREE.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ShapedType, StringAttr, TupleType
from xdsl.ir import Attribute

from ..attribute_replacer import parts_of

_MAX_INLINE_TUPLE = 16
"""Tuple types with more elements get an alias, as in MLIR."""


def alias_name(attribute: Attribute) -> str | None:
    """Return the alias of an attribute or type, without a number; `None` if it has no alias."""
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


def _composite(attribute: Attribute) -> str:
    shape: ShapedType = getattr(attribute, "type")  # noqa: B009
    return f"composite_of_{prod(shape.get_shape())}b"


def _tuple(attribute: Attribute) -> str | None:
    long = isinstance(attribute, TupleType) and len(attribute.types) > _MAX_INLINE_TUPLE
    return "tuple" if long else None


def _string(attribute: Attribute, field: str) -> str:
    value: Attribute | None = getattr(attribute, field, None)
    return value.data if isinstance(value, StringAttr) else ""


def _identifier(text: str) -> str:
    """Return IREE's form of a string in a symbol name: `_` for each byte but letters and digits."""
    return re.sub(rb"[^a-z0-9_]", b"_", text.lower().encode()).decode()


def _always(name: str) -> Callable[[Attribute], str]:
    return lambda _: name


_NAMES: dict[str, Callable[[Attribute], str | None]] = {
    "affine_map": _always("map"),
    "affine_set": _always("set"),
    "hal.device.target": _device_target,
    "hal.executable.target": _executable_target,
    "hal.pipeline.layout": _always("pipeline_layout"),
    "iree_codegen.compilation_info": _always("compilation"),
    "iree_codegen.lowering_config": _always("config"),
    "iree_codegen.translation_info": _always("translation"),
    "iree_cpu.lowering_config": _always("config"),
    "iree_encoding.encoding": _always("encoding"),
    "iree_encoding.layout": _always("encoding"),
    "iree_encoding.testing": _always("encoding"),
    "iree_encoding.unknown": _always("encoding"),
    "tuple": _tuple,
    "util.composite": _composite,
}
"""Functions that choose the alias, by attribute or type name."""


class AliasSizes:
    """Counts nested attributes. Shared ones are visited once but counted at each occurrence."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Attribute, int]] = {}
        """Attribute and count by `id`. Keeping the attribute alive keeps its `id` unique."""

    def size(self, attribute: Attribute) -> int:
        """Return the number of attributes that an attribute consists of, including itself."""
        known = self._known.get(id(attribute))
        if known is None:
            count = 1 + sum(self.size(part) for part in parts_of(attribute))
            known = self._known[id(attribute)] = attribute, count
        return known[1]


LOCATION = "loc"
"""The alias of locations. They are defined after the IR, because they would obscure it above."""

_MARK = "\ud800"
"""Delimits the index of an alias in unfinished text. Text decoded from UTF-8 cannot contain it."""

_MARKED = re.compile(f"{_MARK}([0-9]+){_MARK}")


@dataclass(frozen=True, slots=True)
class _Alias:
    name: str
    definition: str
    """The text of the attribute or type, with marks in place of nested aliases."""
    depth: int
    is_type: bool


class AliasDefinitions:
    """The alias definitions of one text.

    Names are assigned once all aliases are known, so the text contains marks until `finish`.
    """

    def __init__(self) -> None:
        self._aliases: list[_Alias] = []
        self._marks: dict[str, str] = {}

    def mark(self, name: str, definition: str, *, depth: int, is_type: bool) -> str:
        """Return the mark to print in place of an attribute or type with this text."""
        mark = self._marks.get(definition)
        if mark is None:
            mark = f"{_MARK}{len(self._aliases)}{_MARK}"
            self._marks[definition] = mark
            self._aliases.append(_Alias(name, definition, depth, is_type))
        return mark

    def finish(self, text: str) -> str:
        """Return the definitions, one per line, and the text, with names in place of marks."""
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

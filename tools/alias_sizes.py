"""How much text an alias stands for, when the aliases in it are written out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute, ParametrizedAttribute


class AliasSizes:
    """Counts attributes; what is shared is looked at once and counted as often as it stands."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Attribute, int]] = {}
        """By identity, with the attribute itself, so that no other gets its identity."""

    def size(self, attribute: Attribute) -> int:
        """The number of attributes that an attribute consists of, itself included."""
        known = self._known.get(id(attribute))
        if known is None:
            count = 1 + sum(self.size(part) for part in _parts(attribute))
            known = self._known[id(attribute)] = attribute, count
        return known[1]


def _parts(attribute: Attribute) -> Iterable[Attribute]:
    if isinstance(attribute, ArrayAttr):
        return cast("ArrayAttr[Any]", attribute).data
    if isinstance(attribute, DictionaryAttr):
        return attribute.data.values()
    return attribute.parameters if isinstance(attribute, ParametrizedAttribute) else ()

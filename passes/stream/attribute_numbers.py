"""Small numbers for attributes, so that equal ones are compared and looked up at no cost.

Hashing an attribute walks all of it, and tensor types with encodings are large. Here an attribute
is known by the numbers of its parts: what is new is only its outermost part, as the encodings
inside of types are mostly objects that were seen before.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import cast

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, ParametrizedAttribute


class AttributeNumbers:
    """Equal attributes have equal numbers."""

    def __init__(self) -> None:
        self._by_identity: dict[int, int] = {}
        self._by_value: dict[Hashable, int] = {}
        self._kept: list[Attribute] = []
        """Every object seen: an identity is only good while its object lives."""

    def number(self, attribute: Attribute) -> int:
        """The number of an attribute; a new one if none like it was seen before."""
        found = self._by_identity.get(id(attribute))
        if found is None:
            self._kept.append(attribute)
            found = self._by_value.setdefault(self._value(attribute), len(self._by_value))
            self._by_identity[id(attribute)] = found
        return found

    def _value(self, attribute: Attribute) -> Hashable:
        """Something that is equal for equal attributes: its class and the numbers of its parts."""
        if isinstance(attribute, ParametrizedAttribute):
            return type(attribute), *map(self.number, attribute.parameters)
        if isinstance(attribute, ArrayAttr):
            return ArrayAttr, *map(self.number, cast("ArrayAttr[Attribute]", attribute).data)
        return attribute

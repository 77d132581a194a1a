"""Small numbers for attributes, so that equal ones are compared and looked up at no cost.

Hashing an attribute walks all of it, and tensor types with encodings are large. The parser gives
one object to equal spellings, so most look-ups end at the object's identity.
"""

from __future__ import annotations

from xdsl.ir import Attribute


class AttributeNumbers:
    """Equal attributes have equal numbers."""

    def __init__(self) -> None:
        self._by_identity: dict[int, int] = {}
        self._by_value: dict[Attribute, int] = {}
        self._kept: list[Attribute] = []
        """Every object seen: an identity is only good while its object lives."""

    def number(self, attribute: Attribute) -> int:
        """The number of an attribute; a new one if none like it was seen before."""
        found = self._by_identity.get(id(attribute))
        if found is None:
            self._kept.append(attribute)
            found = self._by_value.setdefault(attribute, len(self._by_value))
            self._by_identity[id(attribute)] = found
        return found

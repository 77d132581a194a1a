"""Walk nested attributes, and replace them in operations as MLIR's AttrTypeReplacer does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.rewriter import Rewriter


def parts_of(attribute: Attribute) -> Iterable[Attribute]:
    """Return the attributes and types that an attribute directly contains."""
    return _reader_of_parts(type(attribute))(attribute)


@lru_cache(maxsize=1024)
def _reader_of_parts(kind: type[Attribute]) -> Callable[[Any], Iterable[Attribute]]:
    """Return what reads the parts of attributes of a class, which are many more than classes."""
    if issubclass(kind, ArrayAttr):
        return attrgetter("data")
    if issubclass(kind, DictionaryAttr):
        return lambda attribute: attribute.data.values()
    if issubclass(kind, ParametrizedAttribute):
        return attrgetter("parameters")
    return lambda attribute: ()


def nested_attributes(attribute: Attribute, seen: set[int]) -> Iterator[Attribute]:
    """Yield an attribute and all attributes nested in it, except those whose `id` is in `seen`.

    Adds the `id` of each yielded attribute to `seen`. Most nested attributes are the same objects,
    and comparing them by value is expensive.
    """
    pending = [attribute]
    while pending:
        part = pending.pop()
        if id(part) not in seen:
            seen.add(id(part))
            yield part
            pending += parts_of(part)


class AttributeReplacer(ABC):
    """Replaces attributes and the attributes nested in them; caches the replacement of each."""

    def __init__(self) -> None:
        self._replaced: dict[Attribute, Attribute] = {}

    @abstractmethod
    def replacement(self, attribute: Attribute) -> Attribute | None:
        """Return the complete replacement of an attribute; `None` to recurse into its parts."""

    def replace(self, attribute: Attribute) -> Attribute:
        """Return the attribute with everything nested in it replaced."""
        known = self._replaced.get(attribute)
        if known is None:
            known = self.replacement(attribute)
            if known is None:
                known = self._rebuilt(attribute)
            self._replaced[attribute] = known
        return known

    def _rebuilt(self, attribute: Attribute) -> Attribute:
        if isinstance(attribute, ArrayAttr):
            items = cast("ArrayAttr[Attribute]", attribute).data
            return ArrayAttr([self.replace(item) for item in items])
        if isinstance(attribute, DictionaryAttr):
            return DictionaryAttr({k: self.replace(each) for k, each in attribute.data.items()})
        if isinstance(attribute, ParametrizedAttribute):
            parameters = tuple(self.replace(parameter) for parameter in attribute.parameters)
            if parameters != attribute.parameters:
                return type(attribute).new(parameters)
        return attribute

    def replace_in(self, operation: Operation) -> None:
        """Replace in an operation's attributes and the types of its results and block arguments."""
        for group in (operation.properties, operation.attributes):
            for name, attribute in group.items():
                group[name] = self.replace(attribute)
        arguments = (block.args for region in operation.regions for block in region.blocks)
        for value in chain(operation.results, *arguments):
            type_ = self.replace(value.type)
            if type_ is not value.type:
                Rewriter.replace_value_with_new_type(value, type_)

"""Structural keys of code, equal for code that differs only in value names."""

from __future__ import annotations

from collections.abc import Hashable
from typing import cast

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Block, Operation, ParametrizedAttribute, Region, SSAValue


class Structures:
    """Computes hashable keys of code; code with equal keys is structurally identical."""

    def __init__(self) -> None:
        self._numbers = AttributeNumbers()

    def of_block(self, block: Block) -> Hashable:
        """Return the key of a block that uses no values from outside."""
        return self._block(block, {})

    def of_operation(self, operation: Operation) -> Hashable | None:
        """Return the key of an operation in which only the types of its operands matter.

        Return `None` if it uses values or blocks from outside otherwise.
        """
        types = tuple([self._numbers.number(operand.type) for operand in operation.operands])
        try:
            return types, self._contents(operation, {})
        except KeyError:
            return None

    def _block(self, block: Block, values: dict[SSAValue | Block, int]) -> Hashable:
        for argument in block.args:
            values[argument] = len(values)
        types = tuple(self._numbers.number(argument.type) for argument in block.args)
        return types, tuple(self._operation(operation, values) for operation in block.ops)

    def _operation(self, operation: Operation, values: dict[SSAValue | Block, int]) -> Hashable:
        operands = tuple([values[operand] for operand in operation.operands])
        for result in operation.results:
            values[result] = len(values)
        return operands, self._contents(operation, values)

    def _contents(self, operation: Operation, values: dict[SSAValue | Block, int]) -> Hashable:
        return (
            type(operation),
            tuple([values[block] for block in operation.successors]),
            tuple([self._numbers.number(result.type) for result in operation.results]),
            self._dictionary(operation.properties),
            self._dictionary(operation.attributes),
            tuple([self._region(region, values) for region in operation.regions]),
        )

    def _region(self, region: Region, values: dict[SSAValue | Block, int]) -> Hashable:
        for block in region.blocks:
            values[block] = len(values)
        return tuple([self._block(block, values) for block in region.blocks])

    def _dictionary(self, entries: dict[str, Attribute]) -> Hashable:
        return tuple(sorted([(key, self._numbers.number(value)) for key, value in entries.items()]))


class AttributeNumbers:
    """Assigns numbers to attributes; equal attributes get equal numbers."""

    def __init__(self) -> None:
        self._by_identity: dict[int, int] = {}
        self._by_value: dict[Hashable, int] = {}
        self._kept: list[Attribute] = []
        """Keeps attributes alive, since an `id` is unique only during an object's lifetime."""

    def number(self, attribute: Attribute) -> int:
        """Return the number of an attribute; a new number if no equal attribute was seen before."""
        found = self._by_identity.get(id(attribute))
        if found is None:
            self._kept.append(attribute)
            found = self._by_value.setdefault(self._value(attribute), len(self._by_value))
            self._by_identity[id(attribute)] = found
        return found

    def _value(self, attribute: Attribute) -> Hashable:
        """Return a key that is equal for equal attributes: class and parameter numbers."""
        if isinstance(attribute, ParametrizedAttribute):
            return type(attribute), *map(self.number, attribute.parameters)
        if isinstance(attribute, ArrayAttr):
            return ArrayAttr, *map(self.number, cast("ArrayAttr[Attribute]", attribute).data)
        return attribute

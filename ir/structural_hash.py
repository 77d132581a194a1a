"""Structural keys of code, equal for code that differs only in value names."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import cast

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Block, Operation, ParametrizedAttribute, Region, SSAValue

NOTHING = frozenset[str]()


class Structures:
    """Computes hashable keys of code; code with equal keys is structurally identical."""

    def __init__(self) -> None:
        self._numbers = AttributeNumbers()

    def of_operations(
        self,
        operations: Iterable[Operation],
        numbers: dict[SSAValue | Block, int],
        ignored: frozenset[str],
    ) -> Hashable:
        """Return the key of operations, in order, that use numbered values and one another.

        The results get the next numbers. Attributes of the operations, but not of those nested in
        them, may differ if they are `ignored`.
        """
        return tuple([self._operation(operation, numbers, ignored) for operation in operations])

    def of_types(self, values: Iterable[SSAValue]) -> Hashable:
        """Return the key of the types of values."""
        return tuple([self._numbers.number(value.type) for value in values])

    def of_operation(self, operation: Operation) -> Hashable | None:
        """Return the key of an operation in which only the types of its operands matter.

        Return `None` if it uses values or blocks from outside otherwise.
        """
        try:
            return self.of_types(operation.operands), self._contents(operation, {})
        except KeyError:
            return None

    def _block(self, block: Block, values: dict[SSAValue | Block, int]) -> Hashable:
        for argument in block.args:
            values[argument] = len(values)
        return self.of_types(block.args), self.of_operations(block.ops, values, NOTHING)

    def _operation(
        self,
        operation: Operation,
        values: dict[SSAValue | Block, int],
        ignored: frozenset[str],
    ) -> Hashable:
        operands = tuple([values[operand] for operand in operation.operands])
        for result in operation.results:
            values[result] = len(values)
        return operands, self._contents(operation, values, ignored)

    def _contents(
        self,
        operation: Operation,
        values: dict[SSAValue | Block, int],
        ignored: frozenset[str] = NOTHING,
    ) -> Hashable:
        return (
            type(operation),
            tuple([values[block] for block in operation.successors]),
            tuple([self._numbers.number(result.type) for result in operation.results]),
            self._dictionary(operation.properties, NOTHING),
            self._dictionary(operation.attributes, ignored),
            tuple([self._region(region, values) for region in operation.regions]),
        )

    def _region(self, region: Region, values: dict[SSAValue | Block, int]) -> Hashable:
        for block in region.blocks:
            values[block] = len(values)
        return tuple([self._block(block, values) for block in region.blocks])

    def _dictionary(self, entries: dict[str, Attribute], ignored: frozenset[str]) -> Hashable:
        kept = [(k, self._numbers.number(v)) for k, v in entries.items() if k not in ignored]
        return tuple(sorted(kept))


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

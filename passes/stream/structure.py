"""Whether code is alike: in every operation, type and attribute, but for the names of values."""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from .attribute_numbers import AttributeNumbers


class Structures:
    """Keys of code; code with equal keys is alike. Attributes are compared by number."""

    def __init__(self) -> None:
        self._numbers = AttributeNumbers()

    def of_block(self, block: Block) -> Hashable:
        """The key of a block that uses nothing from outside."""
        return self._block(block, {})

    def _block(self, block: Block, values: dict[SSAValue, int]) -> Hashable:
        for argument in block.args:
            values[argument] = len(values)
        types = tuple(self._numbers.number(argument.type) for argument in block.args)
        return types, tuple(self._operation(operation, values) for operation in block.ops)

    def _operation(self, operation: Operation, values: dict[SSAValue, int]) -> Hashable:
        operands = tuple(values[operand] for operand in operation.operands)
        for result in operation.results:
            values[result] = len(values)
        return (
            operation.name,
            operands,
            tuple(self._numbers.number(result.type) for result in operation.results),
            self._dictionary(operation.properties),
            self._dictionary(operation.attributes),
            tuple(self._region(region, values) for region in operation.regions),
        )

    def _region(self, region: Region, values: dict[SSAValue, int]) -> Hashable:
        return tuple(self._block(block, values) for block in region.blocks)

    def _dictionary(self, entries: dict[str, Attribute]) -> Hashable:
        return tuple(sorted((key, self._numbers.number(value)) for key, value in entries.items()))

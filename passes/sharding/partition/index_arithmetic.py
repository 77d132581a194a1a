"""Index arithmetic put before an operation, folded where numbers are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, SymbolRefAttr
from xdsl.ir import Operation, SSAValue

from ....dialects.shard.attributes import AxesAttr
from ....dialects.shard.dialect import GridShapeOp
from ....dialects.shard.syntax import INDEX
from ....sharding.grid import Grid
from ....sharding.sharding import Axes

Index: TypeAlias = int | SSAValue
"""A non-negative number, known now or as an `index` value."""


@dataclass
class IndexArithmetic:
    """Inserts operations before `anchor`, with its location."""

    anchor: Operation
    _constants: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])

    def insert(self, operation: Operation) -> Operation:
        """Insert an operation before the anchor."""
        block = self.anchor.parent
        if block is None:
            raise ValueError(f"{self.anchor.name} is in no block")
        operation.location = self.anchor.location
        block.insert_op_before(operation, self.anchor)
        return operation

    def value(self, index: Index) -> SSAValue:
        """A number as a value."""
        if isinstance(index, SSAValue):
            return index
        if index not in self._constants:
            constant = self.insert(arith.ConstantOp(IntegerAttr(index, INDEX)))
            self._constants[index] = constant.results[0]
        return self._constants[index]

    def add(self, left: Index, right: Index) -> Index:
        """`left + right`."""
        if isinstance(left, int) and isinstance(right, int):
            return left + right
        if 0 in (left, right):
            return right if left == 0 else left
        return self.insert(arith.AddiOp(self.value(left), self.value(right))).results[0]

    def multiply(self, left: Index, right: Index) -> Index:
        """`left * right`."""
        if isinstance(left, int) and isinstance(right, int):
            return left * right
        if 0 in (left, right):
            return 0
        if 1 in (left, right):
            return right if left == 1 else left
        return self.insert(arith.MuliOp(self.value(left), self.value(right))).results[0]

    def divide(self, left: Index, right: Index) -> Index:
        """`left / right`, rounded down."""
        if isinstance(left, int) and isinstance(right, int):
            return left // right
        if right == 1:
            return left
        return self.insert(arith.DivUIOp(self.value(left), self.value(right), INDEX)).results[0]

    def remainder(self, left: Index, right: Index) -> Index:
        """`left` modulo `right`."""
        if isinstance(left, int) and isinstance(right, int):
            return left % right
        if right == 1:
            return 0
        return self.insert(arith.RemUIOp(self.value(left), self.value(right), INDEX)).results[0]

    def extents(self, symbol: SymbolRefAttr, grid: Grid, axes: Axes) -> list[Index]:
        """The extents of a grid along axes, asked for at run time where they are not known."""
        unknown = [axis for axis in axes if grid.shape[axis] is None]
        found: dict[int, SSAValue] = {}
        if unknown:
            asked = self.insert(GridShapeOp(symbol, unknown))
            found = dict(zip(unknown, asked.results, strict=True))
        return [found[axis] if (n := grid.shape[axis]) is None else n for axis in axes]

    def coordinates(
        self, number: Index, extents: Sequence[Index], axes: Sequence[int]
    ) -> list[Index]:
        """The coordinates along `axes`, at least one, of a row-major number among the extents."""
        found: dict[int, Index] = {}
        slowest = min(axes)
        stride: Index = 1
        for axis in reversed(range(slowest, len(extents))):
            if axis in axes:
                quotient = self.divide(number, stride)
                found[axis] = self.remainder(quotient, extents[axis]) if axis else quotient
            if axis > slowest:
                stride = self.multiply(stride, extents[axis])
        return [found[axis] for axis in axes]

    def linear_index(self, coordinates: Sequence[Index], extents: Sequence[Index]) -> Index:
        """The row-major number of coordinates, one for each extent."""
        number: Index = 0
        for coordinate, extent in zip(coordinates, extents, strict=True):
            number = self.add(self.multiply(number, extent), coordinate)
        return number


def listed_axes(operation: Operation, name: str) -> Axes:
    """The grid axes that a property lists; none where it is absent."""
    listed = operation.properties.get(name)
    return cast(AxesAttr, listed).get_values() if isinstance(listed, DenseArrayBase) else ()

"""Arithmetic on where a process is: extents of a grid, coordinates, numbers of processes."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Operation, SSAValue

from ...ir.index import INDEX, IndexArithmetic, IndexOrInt
from ...ir.locations import builder_before
from ...sharding.grid import Grid
from ...sharding.sharding import Axes
from .collectives import AllReduceOp
from .grids import GridShapeOp, ProcessMultiIndexOp


class ProcessArithmetic(IndexArithmetic, ABC):
    """Index arithmetic of a program that all processes of a grid run."""

    def extent(self, grid: Grid, axis: int) -> IndexOrInt:
        """The number of processes along an axis, asked for at run time where it is not known."""
        known = grid.shape[axis]
        return self.insert(GridShapeOp(grid.name, [axis])) if known is None else known

    def parts(self, grid: Grid, axes: Axes) -> IndexOrInt:
        """The number of processes along several axes together."""
        total: IndexOrInt = 1
        for axis in axes:
            total = self.multiply(total, self.extent(grid, axis))
        return total

    def own_coordinates(self, grid: Grid, axes: Axes) -> Sequence[SSAValue]:
        """Where this process is along some axes."""
        if not axes:
            return ()
        operation = ProcessMultiIndexOp(grid.name, axes)
        self.insert(operation)
        return operation.results

    def position(self, grid: Grid, axes: Axes) -> IndexOrInt:
        """The number of this process among those along `axes`, the first listed slowest."""
        total: IndexOrInt = 0
        for axis, coordinate in zip(axes, self.own_coordinates(grid, axes), strict=True):
            total = self.add(self.multiply(total, self.extent(grid, axis)), coordinate)
        return total

    def sum_over(self, grid: Grid, axes: Axes, number: SSAValue) -> SSAValue:
        """The sum of an index over the processes along some axes; they meet for it."""
        one = TensorType(i64, [1])
        wide = self.insert(arith.IndexCastOp(number, i64))
        packed = self.insert(tensor.FromElementsOp.create(operands=[wide], result_types=[one]))
        total = self.insert(AllReduceOp(packed, grid.name, axes))
        first = self.insert(tensor.ExtractOp(total, [self.index(0)], i64))
        return self.insert(arith.IndexCastOp(first, INDEX))

    def coordinates(self, grid: Grid, number: IndexOrInt, axes: Sequence[int]) -> list[IndexOrInt]:
        """The coordinates along `axes`, at least one, of the process of a row-major number."""
        found: dict[int, IndexOrInt] = {}
        slowest = min(axes)
        stride: IndexOrInt = 1
        for axis in reversed(range(slowest, grid.rank)):
            extent = self.extent(grid, axis)
            if axis in axes:
                quotient = self.divide(number, stride)
                found[axis] = self.remainder(quotient, extent) if axis else quotient
            if axis > slowest:
                stride = self.multiply(stride, extent)
        return [found[axis] for axis in axes]


class ArithmeticBefore(ProcessArithmetic):
    """Inserts operations before another, with its location; constants once."""

    def __init__(self, anchor: Operation) -> None:
        self.anchor = anchor
        self._constants: dict[int, SSAValue] = {}

    def insert(self, operation: Operation) -> SSAValue:
        self.put(operation)
        return operation.results[0]

    def put(self, operation: Operation) -> None:
        """Insert an operation that may have no result."""
        builder_before(self.anchor).insert(operation)

    def index(self, number: IndexOrInt) -> SSAValue:
        if isinstance(number, SSAValue):
            return number
        if number not in self._constants:
            self._constants[number] = super().index(number)
        return self._constants[number]

"""Builders of index arithmetic with grid extents, coordinates and process numbers."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Operation, SSAValue

from ...ir.index import IndexArithmetic, IndexOrInt
from ...ir.index_lists import INDEX
from ...ir.locations import builder_before
from ...sharding.grid import Grid
from ...sharding.sharding import Axes
from .collectives import AllReduceOp
from .grids import GridShapeOp, ProcessMultiIndexOp


class ProcessArithmetic(IndexArithmetic, ABC):
    """Index arithmetic in an SPMD program, which all processes of a grid run."""

    def extent(self, grid: Grid, axis: int) -> IndexOrInt:
        """Return the number of processes along an axis; if dynamic, emit a `shard.grid_shape`."""
        known = grid.shape[axis]
        return self.insert(GridShapeOp(grid.name, [axis])) if known is None else known

    def parts(self, grid: Grid, axes: Axes) -> IndexOrInt:
        """Return the number of processes along several axes together."""
        total: IndexOrInt = 1
        for axis in axes:
            total = self.multiply(total, self.extent(grid, axis))
        return total

    def own_coordinates(self, grid: Grid, axes: Axes) -> Sequence[SSAValue]:
        """Emit and return the coordinates of this process along some axes."""
        if not axes:
            return ()
        operation = ProcessMultiIndexOp(grid.name, axes)
        self.insert(operation)
        return operation.results

    def position(self, grid: Grid, axes: Axes) -> IndexOrInt:
        """Return the row-major number of this process in its group, the first of `axes` slowest."""
        total: IndexOrInt = 0
        for axis, coordinate in zip(axes, self.own_coordinates(grid, axes), strict=True):
            total = self.add(self.multiply(total, self.extent(grid, axis)), coordinate)
        return total

    def sum_over(self, grid: Grid, axes: Axes, number: SSAValue) -> SSAValue:
        """Emit the sum of an index over the processes along some axes, with an `all_reduce`."""
        one = TensorType(i64, [1])
        wide = self.insert(arith.IndexCastOp(number, i64))
        packed = self.insert(tensor.FromElementsOp.create(operands=[wide], result_types=[one]))
        total = self.insert(AllReduceOp(packed, grid.name, axes))
        first = self.insert(tensor.ExtractOp(total, [self.index(0)], i64))
        return self.insert(arith.IndexCastOp(first, INDEX))

    def coordinates(self, grid: Grid, number: IndexOrInt, axes: Sequence[int]) -> list[IndexOrInt]:
        """Return the coordinates along `axes` of the process with a given row-major number.

        `axes` must not be empty.
        """
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
    """Inserts ops before an anchor op, with its location; each constant only once."""

    def __init__(self, anchor: Operation) -> None:
        self.anchor = anchor
        self._constants: dict[int, SSAValue] = {}

    def insert(self, operation: Operation) -> SSAValue:
        self.put(operation)
        return operation.results[0]

    def put(self, operation: Operation) -> None:
        """Insert an op, which need not have a result."""
        builder_before(self.anchor).insert(operation)

    def index(self, number: IndexOrInt) -> SSAValue:
        if isinstance(number, SSAValue):
            return number
        if number not in self._constants:
            self._constants[number] = super().index(number)
        return self._constants[number]

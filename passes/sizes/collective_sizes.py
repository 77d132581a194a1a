"""How large the results of collectives are, where the processes' shares differ.

What is joined is as large as all pieces together, which nobody knows alone: where a `tensor.cast`
does not say it, the processes add up their sizes by an `all_reduce` of one number. What is split
follows the rule of `shard.shard_shape`: of `n` pieces the last `size mod n` have one element more.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import OpResult, SSAValue

from ...dialects.shard.boundary import enclosing_grid
from ...dialects.shard.process_arithmetic import ProcessArithmetic
from ...ir.index import IndexOrInt
from ...sharding.collectives import COLLECTIVES, CollectiveRow
from ...sharding.grid import Grid
from ..sharding.annotations.access import axes_of, dimension_of, grid_name
from .dimension_sizes import DimensionSizes, Rule, SizeArithmetic, size_rule


def _rule(row: CollectiveRow) -> Rule:
    """A dimension is as long as before, one piece of it, or the pieces of all."""

    def rule(sizes: DimensionSizes, value: OpResult, index: int) -> IndexOrInt | None:
        grid = enclosing_grid(value.op, grid_name(value.op))
        divided = bool(row.divides) and dimension_of(value.op, row.divides) == index
        joined = bool(row.joins) and dimension_of(value.op, row.joins) == index
        if not divided and not joined:
            return sizes.size(value.op.operands[0], index)
        if grid is None or (divided and joined):
            return _stated(value, index)
        arithmetic = _ProcessSizes(sizes, value, grid)
        return arithmetic.share(index) if divided else arithmetic.total(index)

    return rule


def _stated(value: SSAValue, index: int) -> int | None:
    """The size that a cast of a result names."""
    for use in value.uses:
        if use.operation.name != "tensor.cast":
            continue
        type_ = use.operation.results[0].type
        if isinstance(type_, TensorType) and (size := type_.get_shape()[index]) != DYNAMIC_INDEX:
            return size
    return None


class _ProcessSizes(SizeArithmetic, ProcessArithmetic):
    """Numbers in front of a collective."""

    def __init__(self, sizes: DimensionSizes, value: OpResult, grid: Grid) -> None:
        super().__init__(sizes, value)
        self._axes = axes_of(value.op)
        self._grid = grid

    def total(self, index: int) -> IndexOrInt:
        """The sizes of a dimension on all processes of the group together."""
        stated = _stated(self._value, index)
        if stated is not None:
            return stated
        own = self._sizes.size(self._value.op.operands[0], index)
        if isinstance(own, int):
            return self.multiply(own, self.parts(self._grid, self._axes))
        return self.sum_over(self._grid, self._axes, own)

    def share(self, index: int) -> IndexOrInt:
        """The size of this process's piece of a dimension of the operand."""
        size = self._sizes.size(self._value.op.operands[0], index)
        processes = self.parts(self._grid, self._axes)
        small, larger = self.divide(size, processes), self.remainder(size, processes)
        if larger == 0:
            return small
        first_larger = self.index(self.subtract(processes, larger))
        position = self.index(self.position(self._grid, self._axes))
        is_larger = self.insert(arith.CmpiOp(position, first_larger, "uge"))
        more = self.index(self.add(small, 1))
        return self.insert(arith.SelectOp(is_larger, more, self.index(small)))


for _name, _row in COLLECTIVES.items():
    size_rule(_name)(_rule(_row))

"""Rules for the sizes of collectives' results, where shards differ in size.

A joined dimension is as long as the pieces of all processes together, which no process knows
alone. Unless a `tensor.cast` of the result states it, the processes sum their sizes by an
`all_reduce` of one number. A divided dimension follows `shard.shard_shape`: of `n` pieces the last
`size mod n` have one element more.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import OpResult, SSAValue

from ...dialects.shard.boundary import enclosing_grid
from ...dialects.shard.process_arithmetic import ProcessArithmetic
from ...ir.index import IndexOrInt
from ...sharding.collective_rows import COLLECTIVES, CollectiveRow
from ...sharding.grid import Grid
from ..sharding.annotations.access import axes_of, dimension_of, grid_name
from .dimension_sizes import DimensionSizes, Rule, SizeArithmetic, program_size_rule


def _rule(row: CollectiveRow) -> Rule:
    """Return the rule of a collective: a dimension keeps its size, is divided, or joined."""

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
    """Return the static size in the type of a `tensor.cast` of a result, if there is one."""
    for use in value.uses:
        if use.operation.name != "tensor.cast":
            continue
        type_ = use.operation.results[0].type
        if isinstance(type_, TensorType) and (size := type_.get_shape()[index]) != DYNAMIC_INDEX:
            return size
    return None


class _ProcessSizes(SizeArithmetic, ProcessArithmetic):
    """Index arithmetic that inserts before a collective."""

    def __init__(self, sizes: DimensionSizes, value: OpResult, grid: Grid) -> None:
        super().__init__(sizes, value)
        self._axes = axes_of(value.op)
        self._grid = grid

    def total(self, index: int) -> IndexOrInt:
        """Return the sum of a dimension's sizes over the processes of the group."""
        stated = _stated(self._value, index)
        if stated is not None:
            return stated
        own = self._sizes.size(self._value.op.operands[0], index)
        if isinstance(own, int):
            return self.multiply(own, self.parts(self._grid, self._axes))
        return self.sum_over(self._grid, self._axes, own)

    def share(self, index: int) -> IndexOrInt:
        """Return the size of this process's piece of a dimension of the operand."""
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
    program_size_rule(_name)(_rule(_row))

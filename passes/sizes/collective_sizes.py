"""How large the results of collectives are, where the processes' shares differ.

What is joined is as large as all pieces together, which nobody knows alone: where a `tensor.cast`
does not say it, the processes add up their sizes by an `all_reduce` of one number. What is split
follows the rule of `shard.shard_shape`: of `n` pieces the last `size mod n` have one element more.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, TensorType, i64
from xdsl.dialects.tensor import ExtractOp, FromElementsOp
from xdsl.ir import Operation, OpResult, SSAValue

from ...dialects.shard.dialect import AllReduceOp, GridShapeOp, ProcessMultiIndexOp
from ...ir.locations import builder_before
from ...sharding.sharding import ReductionKind
from ..sharding.simplify.collectives import axes_of, dimension_of, grid_name
from .dimension_sizes import DimensionSizes, Rule, Size, size_rule

INDEX = IndexType()


@size_rule(
    "shard.all_reduce",
    "shard.broadcast",
    "shard.recv",
    "shard.reduce",
    "shard.send",
    "shard.shift",
    "shard.update_halo",
)
def _same(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """Everybody gets as much as they bring."""
    return sizes.size(value.op.operands[0], index)


def _joined(axis_name: str) -> Rule:
    """All pieces of the group together along one dimension."""

    def rule(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
        if index != dimension_of(value.op, axis_name):
            return sizes.size(value.op.operands[0], index)
        return _SizeArithmetic(sizes, value).total(index)

    return rule


def _divided(axis_name: str) -> Rule:
    """One piece of as many as the group has processes."""

    def rule(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
        if index != dimension_of(value.op, axis_name):
            return sizes.size(value.op.operands[0], index)
        return _SizeArithmetic(sizes, value).share(index)

    return rule


@size_rule("shard.all_to_all")
def _exchanged(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """Everybody's piece along one dimension, joined along the other."""
    split = dimension_of(value.op, "split_axis")
    joined = dimension_of(value.op, "concat_axis")
    if index not in (split, joined):
        return sizes.size(value.op.operands[0], index)
    if split == joined:
        return _stated(value, index)
    arithmetic = _SizeArithmetic(sizes, value)
    return arithmetic.share(index) if index == split else arithmetic.total(index)


def _stated(value: SSAValue, index: int) -> int | None:
    """The size that a cast of a result names."""
    for use in value.uses:
        if use.operation.name != "tensor.cast":
            continue
        type_ = use.operation.results[0].type
        if isinstance(type_, TensorType) and (size := type_.get_shape()[index]) != DYNAMIC_INDEX:
            return size
    return None


class _SizeArithmetic:
    """Numbers in front of a collective."""

    def __init__(self, sizes: DimensionSizes, value: OpResult) -> None:
        self._sizes = sizes
        self._value = value
        self._builder = builder_before(value.op)
        self._axes = axes_of(value.op)
        self._grid = grid_name(value.op)

    def total(self, index: int) -> Size:
        """The sizes of a dimension on all processes of the group together."""
        stated = _stated(self._value, index)
        if stated is not None:
            return stated
        own = self._sizes.size(self._value.op.operands[0], index)
        if isinstance(own, int):
            return self._add(arith.MuliOp(self._number(own), self._processes()))
        brought = self._add(arith.IndexCastOp(own, i64))
        one = TensorType(i64, [1])
        pieces = self._add(FromElementsOp.create(operands=[brought], result_types=[one]))
        summed = self._add(AllReduceOp(pieces, self._grid, self._axes, ReductionKind.SUM))
        first = self._add(ExtractOp(summed, [self._number(0)], i64))
        return self._add(arith.IndexCastOp(first, INDEX))

    def share(self, index: int) -> Size:
        """The size of this process's piece of a dimension of the operand."""
        size = self._as_value(self._sizes.size(self._value.op.operands[0], index))
        processes = self._processes()
        small = self._add(arith.DivUIOp(size, processes))
        larger = self._add(arith.RemUIOp(size, processes))
        first_larger = self._add(arith.SubiOp(processes, larger))
        is_larger = self._add(arith.CmpiOp(self._rank(), first_larger, "uge"))
        return self._add(
            arith.SelectOp(is_larger, self._add(arith.AddiOp(small, self._number(1))), small)
        )

    def _processes(self) -> SSAValue:
        total = self._number(1)
        for axis in self._axes:
            total = self._add(arith.MuliOp(total, self._add(GridShapeOp(self._grid, [axis]))))
        return total

    def _rank(self) -> SSAValue:
        """Where this process is in its group, the first axis slowest."""
        rank = self._number(0)
        for axis in self._axes:
            scaled = self._add(arith.MuliOp(rank, self._add(GridShapeOp(self._grid, [axis]))))
            here = self._add(ProcessMultiIndexOp(self._grid, [axis]))
            rank = self._add(arith.AddiOp(scaled, here))
        return rank

    def _as_value(self, size: Size) -> SSAValue:
        return size if isinstance(size, SSAValue) else self._number(size)

    def _number(self, number: int) -> SSAValue:
        return self._sizes.constant(number, self._value)

    def _add(self, operation: Operation) -> SSAValue:
        operation.location = self._value.op.location
        return self._builder.insert(operation).results[0]


size_rule("shard.all_gather", "shard.gather")(_joined("gather_axis"))
size_rule("shard.all_slice")(_divided("slice_axis"))
size_rule("shard.reduce_scatter", "shard.scatter")(_divided("scatter_axis"))

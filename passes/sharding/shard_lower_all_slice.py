"""`shard-lower-all-slice`: lower `shard.all_slice` to `tensor.extract_slice`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, cf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.shard.process_arithmetic import ArithmeticBefore
from ...ir.diagnostics import OperationError
from ...ir.index import IndexOrInt
from ...sharding.collective_rows import ALL_SLICE
from .annotations.access import axes_of, grid_of

NOT_DIVISIBLE = (
    "Slicing a tensor with axis size that is not exactly divisible by the grid process group size "
    "is not supported."
)
"""The message of the run-time assertion, as in MLIR."""


@dataclass(frozen=True)
class ShardLowerAllSlicePass(ModulePass):
    """Replace `shard.all_slice` by the local slice that each process extracts.

    If a size is known only at run time, an assertion checks that it is divisible.
    """

    name = "shard-lower-all-slice"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for operation in list(op.walk()):
            if operation.name == ALL_SLICE.operation:
                lower_all_slice(operation)


def lower_all_slice(operation: Operation) -> None:
    """Lower one operation: process `i` of a group of `n` extracts the `i`-th of `n` equal pieces.

    Raises OperationError if the grid is not defined or the pieces are not equal.
    """
    grid = grid_of(operation)
    axes = axes_of(operation, "grid_axes")
    dimension = cast(IntegerAttr, operation.properties["slice_axis"]).value.data
    source, result = operation.operands[0], operation.results[0]
    arithmetic = ArithmeticBefore(operation)

    sizes = [_size(source, d, arithmetic) for d in range(len(_shape(source.type)))]
    group = arithmetic.parts(grid, axes)
    _check_divisible(sizes[dimension], group, arithmetic)
    piece = arithmetic.divide(sizes[dimension], group)
    position = arithmetic.position(grid, axes)

    offsets: list[IndexOrInt] = [0] * len(sizes)
    offsets[dimension] = arithmetic.multiply(position, piece)
    sizes[dimension] = piece
    result_type = cast("TensorType[Attribute]", result.type)
    slice_type = TensorType(
        result_type.element_type,
        [size if isinstance(size, int) else DYNAMIC_INDEX for size in sizes],
    )
    if 0 in slice_type.get_shape():
        # MLIR rejects a slice at offset 0 of a dimension without elements.
        new = tensor.EmptyOp([size for size in sizes if not isinstance(size, int)], slice_type)
    else:
        new = tensor.ExtractSliceOp(source, offsets, sizes, [1] * len(sizes), slice_type)
    value = arithmetic.insert(new)
    if slice_type != result_type:
        value = arithmetic.insert(tensor.CastOp(value, result_type))
    value.name_hint = result.name_hint
    result.replace_all_uses_with(value)
    Rewriter.erase_op(operation)


def _shape(value_type: Attribute) -> tuple[int, ...]:
    return cast("TensorType[Attribute]", value_type).get_shape()


def _size(value: SSAValue, dimension: int, arithmetic: ArithmeticBefore) -> IndexOrInt:
    size = _shape(value.type)[dimension]
    if size != DYNAMIC_INDEX:
        return size
    return arithmetic.insert(tensor.DimOp(value, arithmetic.index(dimension)))


def _check_divisible(size: IndexOrInt, group: IndexOrInt, arithmetic: ArithmeticBefore) -> None:
    remainder = arithmetic.remainder(size, group)
    if remainder == 0:
        return
    if isinstance(remainder, int):
        raise OperationError(
            arithmetic.anchor, f"slices {size} elements into {group} pieces of unequal size"
        )
    zero = arithmetic.index(0)
    equal = arithmetic.insert(arith.CmpiOp(remainder, zero, "eq"))
    arithmetic.put(cf.AssertOp(equal, NOT_DIVISIBLE))

"""`shard-lower-all-slice`: lower `shard.all_slice` to `tensor.extract_slice`."""

from __future__ import annotations

from xdsl.dialects import arith, cf, tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from ...dialects.shard.process_arithmetic import ArithmeticBefore
from ...ir.diagnostics import OperationError
from ...ir.index import IndexOrInt
from ...ir.tensor_types import shape_of
from ...sharding.collective_rows import ALL_SLICE
from ..manager.module_pass import module_pass
from .annotations.access import axes_of, dimension_of, grid_of
from .partition.local_types import tensor_type_of, with_shape

NOT_DIVISIBLE = (
    "Slicing a tensor with axis size that is not exactly divisible by the grid process group size "
    "is not supported."
)
"""The message of the run-time assertion, as in MLIR."""


@module_pass("shard-lower-all-slice")
def shard_lower_all_slice(module: ModuleOp) -> None:
    """Replace `shard.all_slice` by the local slice that each process extracts.

    If a size is known only at run time, an assertion checks that it is divisible.
    """
    for operation in list(module.walk()):
        if operation.name == ALL_SLICE.operation:
            lower_all_slice(operation)


def lower_all_slice(operation: Operation) -> None:
    """Lower one operation: process `i` of a group of `n` extracts the `i`-th of `n` equal pieces.

    Raises OperationError if the grid is not defined or the pieces are not equal.
    """
    grid = grid_of(operation)
    axes = axes_of(operation)
    dimension = dimension_of(operation, ALL_SLICE.divides)
    source, result = operation.operands[0], operation.results[0]
    arithmetic = ArithmeticBefore(operation)

    sizes: list[IndexOrInt] = [
        arithmetic.insert(tensor.DimOp(source, arithmetic.index(d))) if size is None else size
        for d, size in enumerate(shape_of(tensor_type_of(source)))
    ]
    group = arithmetic.parts(grid, axes)
    _check_divisible(sizes[dimension], group, arithmetic)
    piece = arithmetic.divide(sizes[dimension], group)
    position = arithmetic.position(grid, axes)

    offsets: list[IndexOrInt] = [0] * len(sizes)
    offsets[dimension] = arithmetic.multiply(position, piece)
    sizes[dimension] = piece
    extents = [size if isinstance(size, int) else None for size in sizes]
    result_type = tensor_type_of(result)
    slice_type = with_shape(result_type, extents)
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

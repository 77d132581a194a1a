"""`shard-lower-process-multi-index`: coordinates of a process as arithmetic on its number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.shard.dialect import ProcessLinearIndexOp
from ..imports.import_annotations import import_mesh
from .annotations.access import grid_of
from .partition.index_arithmetic import IndexArithmetic, listed_axes


@dataclass(frozen=True)
class ShardLowerProcessMultiIndexPass(ModulePass):
    """Replace `shard.process_multi_index` by divisions of `shard.process_linear_index`."""

    name = "shard-lower-process-multi-index"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        import_mesh(op)
        for operation in list(op.walk()):
            if operation.name == "shard.process_multi_index":
                lower_process_multi_index(operation)


def lower_process_multi_index(operation: Operation) -> None:
    """Replace one operation. Processes are numbered row-major: the last axis is the fastest.

    Raises OperationError where the grid is not defined.
    """
    grid = grid_of(operation)
    symbol = cast(SymbolRefAttr, operation.properties["grid"])
    axes = listed_axes(operation, "axes") or tuple(range(grid.rank))
    arithmetic = IndexArithmetic(operation)
    number = arithmetic.insert(ProcessLinearIndexOp(symbol)).results[0]
    extents = arithmetic.extents(symbol, grid, tuple(range(grid.rank)))
    coordinates = arithmetic.coordinates(number, extents, axes)
    for result, coordinate in zip(operation.results, coordinates, strict=True):
        result.replace_all_uses_with(arithmetic.value(coordinate))
    Rewriter.erase_op(operation)

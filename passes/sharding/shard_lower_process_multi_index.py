"""`shard-lower-process-multi-index`: compute coordinates from the linear index of a process."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from ...dialects.shard.grids import ProcessLinearIndexOp
from ...dialects.shard.process_arithmetic import ArithmeticBefore
from ..manager.module_pass import module_pass
from .annotations.access import axes_of, grid_of


@module_pass("shard-lower-process-multi-index")
def shard_lower_process_multi_index(module: ModuleOp) -> None:
    """Replace `shard.process_multi_index` by divisions of `shard.process_linear_index`."""
    for operation in list(module.walk()):
        if operation.name == "shard.process_multi_index":
            lower_process_multi_index(operation)


def lower_process_multi_index(operation: Operation) -> None:
    """Lower one operation. Processes are numbered row-major: the last axis varies fastest.

    Raises OperationError if the grid is not defined.
    """
    grid = grid_of(operation)
    axes = axes_of(operation, "axes") or tuple(range(grid.rank))
    arithmetic = ArithmeticBefore(operation)
    number = arithmetic.insert(ProcessLinearIndexOp(grid.name))
    coordinates = arithmetic.coordinates(grid, number, axes)
    for result, coordinate in zip(operation.results, coordinates, strict=True):
        result.replace_all_uses_with(arithmetic.index(coordinate))
    Rewriter.erase_op(operation)

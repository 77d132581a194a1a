"""Elide waits for timepoints that other timepoints cover.

    %u = stream.cmd.execute await(%t) => ...
    %w = stream.timepoint.join max(%t, %u) => !stream.timepoint

Since `%u` is reached after `%t`, `%w` is replaced by `%u`. Immediate timepoints, and those that the
host has awaited, need not be waited for.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.stream.regions import TimepointAwaitOp, TimepointImmediateOp, TimepointJoinOp
from ...dialects.stream.types import TimepointType
from ...ir.host_programs import FUNCTIONS_AND_INITIALIZERS
from ...ir.regions import inner_blocks
from ...ir.syntax.assembly_format import values

TIMEPOINT = TimepointType()
Timepoints = frozenset[SSAValue]


@dataclass(frozen=True)
class ElideTimepointsPass(ModulePass):
    """Drop timepoints that are known to be reached when others are."""

    name = "iree-stream-elide-timepoints"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if function.name in FUNCTIONS_AND_INITIALIZERS:
                for block in function.regions[0].blocks:
                    _elide(block, {}, frozenset())


def _elide(block: Block, covered: dict[SSAValue, Timepoints], reached: Timepoints) -> None:
    """Elide timepoints in a block, given those that each one covers and those already reached."""

    def covered_by(timepoint: SSAValue) -> Timepoints:
        return covered.get(timepoint, frozenset()) | {timepoint}

    for operation in tuple(block.ops):
        if isinstance(operation, TimepointJoinOp):
            waits = [t for t in dict.fromkeys(operation.operands) if t not in reached]
            needed = [
                timepoint
                for timepoint in waits
                if not any(
                    timepoint in covered_by(other) for other in waits if other is not timepoint
                )
            ] or [operation.operands[0]]
            if len(needed) == 1:
                Rewriter.replace_op(operation, [], needed)
                continue
            operation.operands = needed
            covered[operation.result_timepoint] = frozenset().union(*map(covered_by, needed))
        elif isinstance(operation, TimepointImmediateOp):
            reached |= {operation.result_timepoint}
        elif isinstance(operation, TimepointAwaitOp):
            reached = _awaited(operation, reached, covered_by(operation.await_timepoint))
        else:
            _record(operation, covered, reached)


def _awaited(wait: TimepointAwaitOp, reached: Timepoints, covered: Timepoints) -> Timepoints:
    """Return the timepoints reached after an await; erase the await if it waits for nothing."""
    if wait.await_timepoint in reached:
        Rewriter.replace_op(wait, [], wait.resource_operands)
    return reached | covered


def _record(operation: Operation, covered: dict[SSAValue, Timepoints], reached: Timepoints) -> None:
    """Record what the timepoints of an operation cover; process the regions of host operations."""
    if operation.name.startswith("stream."):
        waits = values(operation, "await_timepoint")
        reached = reached.union(waits, *(covered.get(timepoint, ()) for timepoint in waits))
        covered |= {result: reached for result in operation.results if result.type == TIMEPOINT}
        return
    for inner in inner_blocks(operation):
        _elide(inner, covered, reached)

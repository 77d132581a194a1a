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

    def by(timepoint: SSAValue) -> Timepoints:
        return covered.get(timepoint, frozenset()) | {timepoint}

    for operation in tuple(block.ops):
        if isinstance(operation, TimepointJoinOp):
            waits = [each for each in dict.fromkeys(operation.operands) if each not in reached]
            needed = [
                each for each in waits if all(each is o or each not in by(o) for o in waits)
            ] or [operation.operands[0]]
            if len(needed) == 1:
                operation.result_timepoint.replace_all_uses_with(needed[0])
                Rewriter.erase_op(operation)
                continue
            operation.operands = needed
            covered[operation.result_timepoint] = frozenset().union(*map(by, needed))
        elif isinstance(operation, TimepointImmediateOp):
            reached |= {operation.result_timepoint}
        elif isinstance(operation, TimepointAwaitOp):
            reached = _awaited(operation, reached, by(operation.await_timepoint))
        else:
            _note(operation, covered, reached)


def _awaited(wait: TimepointAwaitOp, reached: Timepoints, covered: Timepoints) -> Timepoints:
    """Return the timepoints reached after an await; erase the await if it waits for nothing."""
    if wait.await_timepoint in reached:
        for result, operand in zip(wait.results_, wait.resource_operands, strict=True):
            result.replace_all_uses_with(operand)
        Rewriter.erase_op(wait)
    return reached | covered


def _note(operation: Operation, covered: dict[SSAValue, Timepoints], reached: Timepoints) -> None:
    """Record what the timepoints of an operation cover; process the regions of host operations."""
    if operation.name.startswith("stream."):
        waits = values(operation, "await_timepoint")
        found = reached.union(waits, *(covered.get(each, ()) for each in waits))
        covered |= {result: found for result in operation.results if result.type == TIMEPOINT}
        return
    for inner in inner_blocks(operation):
        _elide(inner, covered, reached)

"""Elide waits for timepoints that other timepoints cover.

    %u = stream.cmd.execute await(%t) => ...
    %w = stream.timepoint.join max(%t, %u) => !stream.timepoint

Since `%u` is reached after `%t`, `%w` is replaced by `%u`. Immediate timepoints, and those that the
host has awaited, need not be waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import Rewriter

from ...dialects.stream.regions import TimepointAwaitOp, TimepointJoinOp
from ...ir.host_programs import FUNCTIONS_AND_INITIALIZERS
from ...ir.regions import inner_blocks
from ..manager.module_pass import module_pass
from .analysis.timepoint_cover import TimepointCover, Timepoints


@module_pass("iree-stream-elide-timepoints")
def elide_timepoints(module: ModuleOp) -> None:
    """Drop timepoints that are known to be reached when others are."""
    cover = TimepointCover(module)
    for function in module.body.block.ops:
        if function.name in FUNCTIONS_AND_INITIALIZERS:
            for block in function.regions[0].blocks:
                _elide(block, cover, cover.immediate)


def _elide(block: Block, cover: TimepointCover, reached: Timepoints) -> None:
    """Elide timepoints in a block, given those that are already reached."""
    for operation in tuple(block.ops):
        if isinstance(operation, TimepointJoinOp) and operation.operands:
            needed = _needed(operation.operands, cover, reached)
            if len(needed) == 1:
                Rewriter.replace_op(operation, [], needed)
            else:
                operation.operands = needed
        elif isinstance(operation, TimepointAwaitOp):
            timepoint = operation.await_timepoint
            if cover.contains(reached, timepoint):
                Rewriter.replace_op(operation, [], operation.resource_operands)
            reached |= cover.covered_by(timepoint)
        elif not operation.name.startswith("stream."):
            for inner in inner_blocks(operation):
                _elide(inner, cover, reached)


def _needed(
    timepoints: Sequence[SSAValue], cover: TimepointCover, reached: Timepoints
) -> Sequence[SSAValue]:
    """Return the timepoints that have to be reached for all of them to be; at least one."""
    missing = [each for each in dict.fromkeys(timepoints) if not cover.contains(reached, each)]
    sets = [cover.covered_by(each) for each in missing]
    by_later = [*accumulate(reversed(sets), int.__or__, initial=0)][-2::-1]
    needed: list[SSAValue] = []
    covered = 0
    for timepoint, own, later in zip(missing, sets, by_later, strict=True):
        if not cover.contains(covered | later, timepoint):
            needed.append(timepoint)
            covered |= own
    return needed or [timepoints[0]]

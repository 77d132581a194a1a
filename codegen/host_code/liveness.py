"""Compute the liveness of values in a region: the step that reads each for the last time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, Region, SSAValue

from ...ir.regions import captured, successors
from ..kernels.elements.kernel_text import IndexConstant, KernelText, SizeConstant
from ..kernels.schedule import Schedule


@dataclass(frozen=True, slots=True)
class BlockLiveness:
    """The liveness of a block's values.

    - `unread`: arguments that nothing reads;
    - `dead[i]`: values that step `i` is the last to read, and results of step `i` without a reader;
    - `live_in`: values that are alive where the block begins.
    """

    unread: tuple[SSAValue, ...]
    dead: tuple[tuple[SSAValue, ...], ...]
    live_in: frozenset[SSAValue]


def region_liveness(
    region: Region, schedule: Callable[[Block], Schedule]
) -> dict[Block, BlockLiveness]:
    """Compute the liveness of values that the region's own blocks define, to a fixpoint."""
    blocks = list(region.blocks)
    own = {value for block in blocks for value in _defined(block)}
    reads = {block: _block_reads(schedule(block)) for block in blocks}
    live_in: dict[Block, set[SSAValue]] = {block: set() for block in blocks}
    live_out: dict[Block, set[SSAValue]] = {block: set() for block in blocks}
    changed = len(blocks) > 1
    while changed:
        changed = False
        for block in reversed(blocks):
            after: set[SSAValue] = set()
            for successor in successors(block):
                after |= live_in[successor] - set(successor.args)
            used = {value for step in reads[block] for value in step}
            before = (used | after) & own - _defined(block)
            if after != live_out[block] or before != live_in[block]:
                live_out[block], live_in[block], changed = after, before, True
    return {
        block: _block_liveness(block, schedule(block), reads[block], own, live_in, live_out)
        for block in blocks
    }


def _block_liveness(
    block: Block,
    schedule: Schedule,
    reads: Sequence[Sequence[SSAValue]],
    own: set[SSAValue],
    live_in: dict[Block, set[SSAValue]],
    live_out: dict[Block, set[SSAValue]],
) -> BlockLiveness:
    candidates = own & (_defined(block) | live_in[block]) - live_out[block]
    last: dict[SSAValue, int] = {argument: -1 for argument in block.args if argument in candidates}
    for position, values in enumerate(reads):
        for value in values:
            if value in candidates:
                last[value] = position
        if position < len(schedule.steps):
            for result in schedule.steps[position].operation.results:
                if result in candidates:
                    last[result] = position
    dead: list[list[SSAValue]] = [[] for _ in (*reads, None)]
    for value, position in last.items():
        dead[position + 1].append(value)
    unread, *others = (tuple(values) for values in dead)
    return BlockLiveness(unread, tuple(others), frozenset(live_in[block]))


def _defined(block: Block) -> set[SSAValue]:
    return {*block.args, *(result for operation in block.ops for result in operation.results)}


def _block_reads(schedule: Schedule) -> list[list[SSAValue]]:
    """Return the values that each step reads, then those of the terminator."""
    reads = [_step_reads(step.operation, step.kernel) for step in schedule.steps]
    end = schedule.terminator
    reads.append([] if end is None else [*end.operands, *captured(end)])
    return reads


def _step_reads(operation: Operation, kernel: KernelText | None) -> list[SSAValue]:
    if kernel is None:
        return [*operation.operands, *captured(operation)]
    constants = [
        constant.value if isinstance(constant, IndexConstant) else constant.tensor
        for constant in kernel.constants
        if isinstance(constant, IndexConstant | SizeConstant)
    ]
    return [each for each in (*kernel.reads, *constants) if isinstance(each, SSAValue)]

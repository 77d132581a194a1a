"""Partition operations whose first operand is shifted against the result, by fetching sections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from xdsl.ir import Operation, SSAValue

from ....sharding.factors import FactorKind, Window
from ....sharding.local_shape import shard_offsets
from ....sharding.sharding import Axes
from .by_rule import choose, record_sizes, run_replicated
from .chosen_sharding import OpSharding
from .partitioner import Partitioner
from .reductions import finish_result
from .registry import partition
from .sections import Interval, Padding, Section, fetch_sections

ReadInterval = Callable[[int, int, int], Interval]
"""Return the operand interval that result interval [start, end) of a dimension needs.

The arguments are dimension, start and end.
"""

EmitShifted = Callable[[Partitioner, OpSharding, list[SSAValue]], SSAValue]
"""Emit a process's part of the result, given its section of the first operand and the others."""


def rule_windows(op_sharding: OpSharding, operand: int = 0) -> dict[int, Window]:
    """Return the windows in the rule of an operation, by dimension of the operand."""
    return {each.dimension: each for each in op_sharding.rule.windows if each.operand == operand}


@dataclass(frozen=True, slots=True)
class Shift:
    """A split dimension of the first operand that is shifted against the result."""

    dimension: int
    axes: Axes
    parts: list[Interval]
    """The interval of the result that each process along the axes computes."""


def shifts(op_sharding: OpSharding) -> list[Shift]:
    """Return the split dimensions of the first operand that are shifted against the result."""
    found: list[Shift] = []
    for dimension, factors in enumerate(op_sharding.rule.operands[0]):
        for number in factors:
            factor = op_sharding.rule.factors[number]
            if factor.kind is FactorKind.PERMUTATION and op_sharding.axes(number):
                assert factor.size is not None
                limits = shard_offsets(factor.size, op_sharding.loop_sharding(number), 0)
                found.append(Shift(dimension, op_sharding.axes(number), list(pairwise(limits))))
    return found


def with_sections(
    partitioner: Partitioner,
    operation: Operation,
    emit: EmitShifted,
    read: ReadInterval | None = None,
) -> None:
    """Partition an operation whose first operand is shifted against its only result.

    `read` overrides the windows of the operation's rule.
    """
    op_sharding = choose(partitioner, operation)
    if op_sharding is None or not op_sharding.is_split:
        run_replicated(partitioner, operation)
        return
    windows = rule_windows(op_sharding)
    sections: list[Section] = []
    for shift in shifts(op_sharding):
        of_part = windows[shift.dimension].read if read is None else partial(read, shift.dimension)
        intervals = [of_part(start, end) for start, end in shift.parts]
        sections.append(Section(shift.dimension, shift.axes, intervals))
    made = emit(
        partitioner, op_sharding, operands_with_sections(partitioner, op_sharding, sections)
    )
    record_sizes(partitioner, op_sharding)
    finish_result(partitioner, op_sharding, 0, made)


def with_sections_of(*names: str) -> Callable[[EmitShifted], EmitShifted]:
    """Register the decorated function as the `emit` of `with_sections` for these operations."""

    def register(emit: EmitShifted) -> EmitShifted:
        partition(*names)(partial(with_sections, emit=emit))
        return emit

    return register


def operands_with_sections(
    partitioner: Partitioner, op_sharding: OpSharding, sections: list[Section]
) -> list[SSAValue]:
    """Fetch the sections of the first operand, and the shards of the others."""
    first, *others = zip(op_sharding.operation.operands, op_sharding.operand_shardings, strict=True)
    source = fetch_sections(partitioner, *first, sections)
    return [source, *(partitioner.value(*other) for other in others)]


def paddings_of(op_sharding: OpSharding) -> list[Padding]:
    """Return the padding that processes add to their sections where windows exceed the operand."""
    windows = rule_windows(op_sharding)
    paddings: list[Padding] = []
    for shift in shifts(op_sharding):
        window = windows[shift.dimension]
        spans = [window.span(start, end) for start, end in shift.parts]
        widths = [window.beyond(start, end) for start, end in shift.parts]
        sizes = [end - start for start, end in spans]
        paddings.append(Padding(shift.dimension, shift.axes, widths, sizes))
    return paddings

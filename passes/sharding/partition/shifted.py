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
from .by_rule import choose, record_sizes, run_whole
from .chosen_sharding import OpSharding
from .partitioner import Partitioner
from .reductions import finish_result
from .registry import partition
from .section_fetch import Interval, Padding, Section
from .sections import fetch_sections

Read = Callable[[int, int, int], Interval]
"""Return the operand interval that result interval [start, end) of a dimension needs.

The arguments are dimension, start and end.
"""

EmitShifted = Callable[[Partitioner, OpSharding, list[SSAValue]], SSAValue]
"""Emit a process's part of the result, given its section of the first operand and the others."""


def windows_by_dimension(spread: OpSharding, operand: int = 0) -> dict[int, Window]:
    """Return the windows in the rule of an operation, by dimension of the operand."""
    return {each.dimension: each for each in spread.rule.windows if each.operand == operand}


@dataclass(frozen=True, slots=True)
class Shift:
    """A split dimension of the first operand that is shifted against the result."""

    dimension: int
    axes: Axes
    parts: list[Interval]
    """The interval of the result that each process along the axes computes."""


def shifts(spread: OpSharding) -> list[Shift]:
    """Return the split dimensions of the first operand that are shifted against the result."""
    found: list[Shift] = []
    for dimension, factors in enumerate(spread.rule.operands[0]):
        for number in factors:
            factor = spread.rule.factors[number]
            if factor.kind is FactorKind.PERMUTATION and spread.axes(number):
                assert factor.size is not None
                limits = shard_offsets(factor.size, spread.loop_sharding(number), 0)
                found.append(Shift(dimension, spread.axes(number), list(pairwise(limits))))
    return found


def with_sections(
    partitioner: Partitioner,
    operation: Operation,
    emit: EmitShifted,
    read: Read | None = None,
) -> None:
    """Partition an operation whose first operand is shifted against its only result.

    `read` overrides the windows of the operation's rule.
    """
    spread = choose(partitioner, operation)
    if spread is None or not spread.is_split:
        run_whole(partitioner, operation)
        return
    windows = windows_by_dimension(spread)
    sections: list[Section] = []
    for shift in shifts(spread):
        of_part = windows[shift.dimension].read if read is None else partial(read, shift.dimension)
        intervals = [of_part(start, end) for start, end in shift.parts]
        sections.append(Section(shift.dimension, shift.axes, intervals))
    made = emit(partitioner, spread, operands_with_sections(partitioner, spread, sections))
    record_sizes(partitioner, spread)
    finish_result(partitioner, spread, 0, made)


def with_sections_of(*names: str) -> Callable[[EmitShifted], EmitShifted]:
    """Register the decorated function as the `emit` of `with_sections` for these operations."""

    def register(emit: EmitShifted) -> EmitShifted:
        partition(*names)(partial(with_sections, emit=emit))
        return emit

    return register


def operands_with_sections(
    partitioner: Partitioner, spread: OpSharding, sections: list[Section]
) -> list[SSAValue]:
    """Fetch the sections of the first operand, and the shards of the others."""
    first, *others = zip(spread.operation.operands, spread.operand_shardings, strict=True)
    source = fetch_sections(partitioner, *first, sections)
    return [source, *(partitioner.value(*other) for other in others)]


def paddings_of(spread: OpSharding) -> list[Padding]:
    """Return the padding that processes add to their sections where windows exceed the operand."""
    windows = windows_by_dimension(spread)
    paddings: list[Padding] = []
    for shift in shifts(spread):
        window = windows[shift.dimension]
        spans = [window.span(start, end) for start, end in shift.parts]
        widths = [window.beyond(start, end) for start, end in shift.parts]
        sizes = [end - start for start, end in spans]
        paddings.append(Padding(shift.dimension, shift.axes, widths, sizes))
    return paddings

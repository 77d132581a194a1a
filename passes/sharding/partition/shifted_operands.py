"""Partition operations whose first operand is shifted against the result, by fetching sections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from xdsl.ir import Operation, SSAValue

from ....sharding.factors import FactorKind, Window
from ....sharding.sharding import Axes
from .by_rule import choose, record_sizes, run_replicated
from .fetch_sections import Interval, Padding, Section, fetch_sections
from .partitioner import OpSharding, Partitioner
from .reductions import finish_result
from .registry import partition

ReadInterval = Callable[[int, int, int], Interval]
"""Return the operand interval that result interval [start, end) of a dimension needs.

The arguments are dimension, start and end.
"""

EmitShifted = Callable[[OpSharding, list[SSAValue]], SSAValue]
"""Emit a process's part of the result, given its section of the first operand and the others."""


def rule_windows(chosen: OpSharding, operand: int = 0) -> dict[int, Window]:
    """Return the windows in the rule of an operation, by dimension of the operand."""
    return {each.dimension: each for each in chosen.rule.windows if each.operand == operand}


@dataclass(frozen=True, slots=True)
class Shift:
    """A split dimension of the first operand that is shifted against the result."""

    dimension: int
    axes: Axes
    parts: list[Interval]
    """The interval of the result that each process along the axes computes."""

    @property
    def lengths(self) -> list[int]:
        """The number of elements that each process computes."""
        return [end - start for start, end in self.parts]


def shifts(chosen: OpSharding) -> list[Shift]:
    """Return the split dimensions of the first operand that are shifted against the result."""
    found: list[Shift] = []
    for dimension, factors in enumerate(chosen.rule.operands[0]):
        for number in factors:
            axes, kind = chosen.axes(number), chosen.rule.factors[number].kind
            if axes and kind is FactorKind.PERMUTATION:
                found.append(Shift(dimension, axes, chosen.loop_parts(number)))
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
    chosen = choose(partitioner, operation)
    if chosen is None or not chosen.is_split:
        run_replicated(partitioner, operation)
        return
    windows = rule_windows(chosen)
    sections: list[Section] = []
    for shift in shifts(chosen):
        of_part = windows[shift.dimension].read if read is None else partial(read, shift.dimension)
        intervals = [of_part(start, end) for start, end in shift.parts]
        sections.append(Section(shift.dimension, shift.axes, intervals))
    made = emit(chosen, operands_with_sections(chosen, sections))
    record_sizes(chosen)
    finish_result(chosen, 0, chosen.emitter.cast(made, chosen.local_type))


def with_sections_of(*names: str) -> Callable[[EmitShifted], EmitShifted]:
    """Register the decorated function as the `emit` of `with_sections` for these operations."""

    def register(emit: EmitShifted) -> EmitShifted:
        partition(*names)(partial(with_sections, emit=emit))
        return emit

    return register


def operands_with_sections(chosen: OpSharding, sections: list[Section]) -> list[SSAValue]:
    """Fetch the sections of the first operand, and the shards of the others."""
    first, *others = zip(chosen.operation.operands, chosen.operand_shardings, strict=True)
    source = fetch_sections(chosen.partitioner, *first, sections)
    return [source, *(chosen.partitioner.value(*other) for other in others)]


def paddings_of(chosen: OpSharding) -> list[Padding]:
    """Return the padding that processes add to their sections where windows exceed the operand."""
    windows = rule_windows(chosen)
    paddings: list[Padding] = []
    for shift in shifts(chosen):
        window = windows[shift.dimension]
        spans = [window.span(start, end) for start, end in shift.parts]
        widths = [window.beyond(start, end) for start, end in shift.parts]
        sizes = [end - start for start, end in spans]
        paddings.append(Padding(shift.dimension, shift.axes, widths, sizes))
    return paddings

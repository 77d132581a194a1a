"""Operations whose first operand is shifted against the result: sections of it are fetched."""

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
from .op_sharding import OpSharding
from .partitioner import Partitioner
from .reductions import finish_result
from .registry import partition
from .sections import fetch_sections
from .slice_exchange import Interval, Padding, Section

Read = Callable[[int, int, int], Interval]
"""`read(dimension, start, end)`: what an interval of the result is made from, in the operand."""

EmitShifted = Callable[[Partitioner, OpSharding, list[SSAValue]], SSAValue]
"""Emits what gives a process's part of the result from its sections and other operands."""


def windows_by_dimension(spread: OpSharding, operand: int = 0) -> dict[int, Window]:
    """What is read of the dimensions of an operand, where its rule says so."""
    return {each.dimension: each for each in spread.rule.windows if each.operand == operand}


@dataclass(frozen=True, slots=True)
class Shift:
    """A split dimension of the first operand that is shifted against the result."""

    dimension: int
    axes: Axes
    parts: list[Interval]
    """What the processes along the axes make of the result."""


def shifts(spread: OpSharding) -> list[Shift]:
    """The split dimensions of the first operand that are shifted against the result."""
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
    """Spread an operation whose first operand is shifted against its only result.

    What it reads is what its rule says, if not `read`.
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
    """Register what emits operations of these names, as `with_sections` has it emitted."""

    def register(emit: EmitShifted) -> EmitShifted:
        partition(*names)(partial(with_sections, emit=emit))
        return emit

    return register


def operands_with_sections(
    partitioner: Partitioner, spread: OpSharding, sections: list[Section]
) -> list[SSAValue]:
    """Sections of the first operand, and the shards of the others."""
    first, *others = zip(spread.operation.operands, spread.operand_shardings, strict=True)
    source = fetch_sections(partitioner, *first, sections)
    return [source, *(partitioner.value(*other) for other in others)]


def paddings_of(spread: OpSharding) -> list[Padding]:
    """What processes add to their sections where windows reach beyond the operand."""
    windows = windows_by_dimension(spread)
    paddings: list[Padding] = []
    for shift in shifts(spread):
        window = windows[shift.dimension]
        spans = [window.span(start, end) for start, end in shift.parts]
        widths = [window.beyond(start, end) for start, end in shift.parts]
        sizes = [end - start for start, end in spans]
        paddings.append(Padding(shift.dimension, shift.axes, widths, sizes))
    return paddings

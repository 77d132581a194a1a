"""Tensors that a body reads along its loops: each process fetches the part of its loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from ...sharding.factor_placement import placement
from .lookups import where_split
from .partition_by_rule import SpreadOperation
from .partitioner import Partitioner
from .rules.captured_reads import Loops, reads_along_loops


@dataclass(frozen=True, slots=True)
class LocalRead:
    """An operand of a read that counts from where this process's part of the loop begins."""

    read: Operation
    operand: int
    index: SSAValue


def captured_parts(
    partitioner: Partitioner, spread: SpreadOperation, except_for: SSAValue | None
) -> dict[SSAValue, tuple[SSAValue, Loops]]:
    """The local parts of the tensors of which this process's loops read only a part."""
    parts: dict[SSAValue, tuple[SSAValue, Loops]] = {}
    for table, loops in reads_along_loops(spread.operation, spread.rule).items():
        if table is except_for:
            continue
        followed = tuple(loop if loop is not None and spread.axes(loop) else None for loop in loops)
        held = where_split(partitioner, table)
        if partitioner.creation_of(held) is not None or partitioner.sharding_of(held) is None:
            continue
        factors = tuple(() if loop is None else (loop,) for loop in followed)
        sharding = placement(spread.grid, factors, spread.assignment)
        if not sharding.is_replicated:
            parts[table] = partitioner.demand(held, sharding), followed
    return parts


def local_reads(
    made: Operation, parts: Mapping[SSAValue, tuple[SSAValue, Loops]]
) -> list[LocalRead]:
    """Where a local operation reads parts, with the indices as they are before any shift."""
    loops = dict(parts.values())
    return [
        LocalRead(read, 1 + dimension, read.operands[1 + dimension])
        for region in made.regions
        for read in region.walk()
        if read.name == "tensor.extract" and read.operands[0] in loops
        for dimension, loop in enumerate(loops[read.operands[0]])
        if loop is not None
    ]

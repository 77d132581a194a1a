"""Fetch the slices of captured tensors that a process's part of the loops reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from ....ir.attribute_access import block_of
from ....ir.index import IndexOrInt
from ....sharding.op_sharding import tensor_sharding
from ..rules.captured_reads import AlongLoop, loop_index, reads_along_loops
from .fetch_sections import Interval, Section, fetch_sections
from .partitioner import OpSharding, Partitioner, shape
from .table_lookup import TableLookup, ungathered_source

HERE = "here"
"""Marks a dimension whose slice begins where this process's part of the loop begins."""


@dataclass(frozen=True, slots=True)
class CapturedSlice:
    """The local slice of a tensor that a body reads.

    `begins[d]` is where the slice begins in dimension `d` of the whole tensor, or `HERE`; `None` if
    the slice covers the dimension.
    """

    value: SSAValue
    begins: tuple[IndexOrInt | str | None, ...]


@dataclass(frozen=True, slots=True)
class LocalRead:
    """One index operand of a read of a slice, with the loop index from which it is computed."""

    read: Operation
    operand: int
    index: SSAValue
    begin: IndexOrInt | str

    def apply(self, partitioner: Partitioner) -> None:
        """Make the index, which refers to the whole tensor, relative to the slice's begin."""
        if isinstance(self.begin, str):
            self.read.operands[self.operand] = self.index
        elif not (isinstance(self.begin, int) and self.begin == 0):
            block = block_of(self.read)
            begin = partitioner.emitter.index(self.begin)
            shifted = arith.SubiOp(self.read.operands[self.operand], begin)
            block.insert_op_before(shifted, self.read)
            self.read.operands[self.operand] = shifted.result


def captured_slices(
    chosen: OpSharding, except_for: SSAValue | None
) -> dict[SSAValue, CapturedSlice]:
    """Fetch the local slices of tensors of which this process's loops read only a part."""
    slices: dict[SSAValue, CapturedSlice] = {}
    for table, loops in reads_along_loops(chosen.operation, chosen.rule).items():
        if table is except_for:
            continue
        held = ungathered_source(chosen.partitioner, table)
        is_made_here = chosen.partitioner.rematerializable_of(held) is not None
        if is_made_here or chosen.partitioner.sharding_of(held) is None:
            continue
        followed = [along if _follows_loop(along, chosen) else None for along in loops]
        factors = tuple(() if along is None else (along.loop,) for along in followed)
        sharding = tensor_sharding(chosen.grid, factors, chosen.assignment)
        if sharding.is_replicated:
            continue
        sections: list[Section] = []
        begins: list[IndexOrInt | str | None] = []
        for dimension, along in enumerate(followed):
            if along is None or along.is_exact:
                begins.append(None if along is None else HERE)
                continue
            intervals = _intervals(chosen, along, shape(held)[dimension] or 0)
            axes = chosen.axes(along.loop)
            sections.append(Section(dimension, axes, intervals))
            starts = [start if start < end else 0 for start, end in intervals]
            begins.append(chosen.emitter.own(starts, chosen.grid, axes))
        value = fetch_sections(chosen.partitioner, held, sharding, sections)
        slices[table] = CapturedSlice(value, tuple(begins))
    return slices


def _follows_loop(along: AlongLoop | None, chosen: OpSharding) -> bool:
    """Return whether a process needs only the part of a dimension that its part of a loop reads."""
    if along is None or not chosen.axes(along.loop):
        return False
    return along.is_exact or chosen.grid.is_static


def _intervals(chosen: OpSharding, along: AlongLoop, extent: int) -> list[Interval]:
    """Return the intervals of a dimension that the parts of a loop read."""
    return [
        (max(start + along.low, 0), min(end + along.high, extent)) if start < end else (0, 0)
        for start, end in chosen.loop_parts(along.loop)
    ]


def followed_slice(lookup: TableLookup, value: SSAValue) -> CapturedSlice:
    """Return the slice of a lookup table that is read where its rows are held."""
    return CapturedSlice(value, tuple(None if loop is None else HERE for loop in lookup.loops))


def local_reads(made: Operation, slices: Mapping[SSAValue, CapturedSlice]) -> list[LocalRead]:
    """Return the reads of slices in a local operation, with the loop indices before any shift."""
    known = {captured.value: captured for captured in slices.values()}
    return [
        LocalRead(read, 1 + dimension, loop_index(read.operands[1 + dimension])[0], begin)
        for region in made.regions
        for read in region.walk()
        if read.name == "tensor.extract" and read.operands[0] in known
        for dimension, begin in enumerate(known[read.operands[0]].begins)
        if begin is not None
    ]

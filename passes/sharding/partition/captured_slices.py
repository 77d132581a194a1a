"""Fetch the parts of captured tensors that a process's part of the loops reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from ....ir.attribute_access import block_of
from ....ir.index import IndexOrInt
from ....sharding.local_shape import shard_offsets
from ....sharding.op_sharding import tensor_sharding
from ..rules.captured_reads import Along, loop_index, reads_along_loops
from .chosen_sharding import OpSharding
from .partitioner import Partitioner, shape
from .section_fetch import Interval, Section
from .sections import fetch_sections
from .table_lookup import Lookup, where_split

HERE = "here"
"""Marks a dimension whose part begins where this process's part of the loop begins."""


@dataclass(frozen=True, slots=True)
class Part:
    """The local part of a tensor that a body reads.

    `begins[d]` is where the part begins in dimension `d` of the whole tensor, or `HERE`; `None` if
    the part covers the dimension.
    """

    value: SSAValue
    begins: tuple[IndexOrInt | str | None, ...]


@dataclass(frozen=True, slots=True)
class LocalRead:
    """One index operand of a read of a part, with the loop index from which it is computed."""

    read: Operation
    operand: int
    index: SSAValue
    begin: IndexOrInt | str

    def apply(self, partitioner: Partitioner) -> None:
        """Make the index, which refers to the whole tensor, relative to the part's begin."""
        if isinstance(self.begin, str):
            self.read.operands[self.operand] = self.index
        elif not (isinstance(self.begin, int) and self.begin == 0):
            block = block_of(self.read)
            begin = partitioner.emitter.index(self.begin)
            shifted = arith.SubiOp(self.read.operands[self.operand], begin)
            block.insert_op_before(shifted, self.read)
            self.read.operands[self.operand] = shifted.result


def captured_parts(
    partitioner: Partitioner, spread: OpSharding, except_for: SSAValue | None
) -> dict[SSAValue, Part]:
    """Fetch the local parts of tensors of which this process's loops read only a part."""
    parts: dict[SSAValue, Part] = {}
    for table, loops in reads_along_loops(spread.operation, spread.rule).items():
        if table is except_for:
            continue
        held = where_split(partitioner, table)
        if partitioner.creation_of(held) is not None or partitioner.sharding_of(held) is None:
            continue
        followed = [place if _is_followed(place, spread) else None for place in loops]
        factors = tuple(() if place is None else (place.loop,) for place in followed)
        sharding = tensor_sharding(spread.grid, factors, spread.assignment)
        if sharding.is_replicated:
            continue
        sections: list[Section] = []
        begins: list[IndexOrInt | str | None] = []
        for dimension, place in enumerate(followed):
            if place is None or place.is_exact:
                begins.append(None if place is None else HERE)
                continue
            intervals = _intervals(spread, place, shape(held)[dimension] or 0)
            axes = spread.axes(place.loop)
            position = partitioner.emitter.position(spread.grid, axes)
            sections.append(Section(dimension, axes, intervals))
            begins.append(
                partitioner.emitter.element(
                    [start if start < end else 0 for start, end in intervals], position
                )
            )
        value = fetch_sections(partitioner, held, sharding, sections)
        parts[table] = Part(value, tuple(begins))
    return parts


def _is_followed(place: Along | None, spread: OpSharding) -> bool:
    """Return whether a process needs only the part of a dimension that its part of a loop reads."""
    if place is None or not spread.axes(place.loop):
        return False
    return place.is_exact or spread.grid.is_static


def _intervals(spread: OpSharding, place: Along, extent: int) -> list[Interval]:
    """Return the intervals of a dimension that the parts of a loop read."""
    size = spread.rule.factors[place.loop].size
    assert size is not None
    return [
        (max(start + place.low, 0), min(end + place.high, extent)) if start < end else (0, 0)
        for start, end in pairwise(shard_offsets(size, spread.loop_sharding(place.loop), 0))
    ]


def followed_part(lookup: Lookup, value: SSAValue) -> Part:
    """Return the part of a lookup table that is read where its rows are held."""
    return Part(value, tuple(None if loop is None else HERE for loop in lookup.loops))


def local_reads(made: Operation, parts: Mapping[SSAValue, Part]) -> list[LocalRead]:
    """Return the reads of parts in a local operation, with the loop indices before any shift."""
    known = {part.value: part for part in parts.values()}
    return [
        LocalRead(read, 1 + dimension, loop_index(read.operands[1 + dimension])[0], begin)
        for region in made.regions
        for read in region.walk()
        if read.name == "tensor.extract" and read.operands[0] in known
        for dimension, begin in enumerate(known[read.operands[0]].begins)
        if begin is not None
    ]

"""Look up rows of a split table where they are held, without gathering the table.

If a body yields `tensor.extract %table[%i, %j]` of a table that is split by rows, every process
runs it on the rows that it holds: rows of other processes give zero, and the results of the
processes that hold the table together are summed. This is how an embedding is split over the
vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType
from xdsl.ir import Operation, SSAValue

from ....ir.attribute_access import block_of
from ....ir.index import IndexOrInt
from ....ir.locations import made_by
from ....ir.regions import captured, replace_other_uses
from ....ir.tensor_types import ranked, tensor_bytes
from ....sharding.collective_rows import ALL_GATHER, ALL_REDUCE
from ....sharding.cost import group_size, local_fraction
from ....sharding.local_shape import shard_offsets
from ....sharding.sharding import Axes, Sharding
from ..annotations.access import SHARD
from ..rules.captured_reads import reads_along_loops
from .local_types import tensor_type_of
from .partitioner import OpSharding, Partitioner, shape
from .reductions import scalar_attribute


@dataclass(frozen=True, slots=True)
class TableLookup:
    """A table that an operation's body reads at single elements, and its sharding."""

    table: SSAValue
    """The tensor that the body reads."""
    held: SSAValue
    """The same tensor before an annotation that requires it to be gathered."""
    sharding: Sharding
    """The sharding of `held`."""
    loops: tuple[int | None, ...] = ()
    """For each dimension the split loop along which it is read, or `None`; may be empty."""

    @property
    def axes(self) -> Axes:
        """The axes that split the table in dimensions that are not read along a split loop."""
        return tuple(
            axis
            for dimension, axes in enumerate(self.sharding.dimension_axes)
            if not self.follows(dimension)
            for axis in axes
        )

    def follows(self, dimension: int) -> bool:
        """Return whether each process needs only the part of a dimension that its loops read."""
        return bool(self.loops) and self.loops[dimension] is not None

    @property
    def gathered(self) -> Sharding:
        """The sharding of the table after a gather along `axes`."""
        held = enumerate(self.sharding.dimension_axes)
        return Sharding(
            self.sharding.grid,
            tuple(axes if self.follows(dimension) else () for dimension, axes in held),
        )

    def along(self, chosen: OpSharding) -> TableLookup:
        """Return the lookup with dimensions split like the loops along which they are read."""
        found = reads_along_loops(chosen.operation, chosen.rule).get(self.table)
        if found is None or self.sharding.offsets:
            return self
        loops = tuple(
            along.loop if along is not None and along.is_exact and chosen.axes(along.loop) else None
            for along in found
        )
        axes = tuple(
            held if loop is None else chosen.axes(loop)
            for loop, held in zip(loops, self.sharding.dimension_axes, strict=True)
        )
        if len({axis for own in axes for axis in own}) < sum(map(len, axes)):
            return self
        return replace(self, sharding=Sharding(self.sharding.grid, axes), loops=loops)


def find_table_lookup(partitioner: Partitioner, operation: Operation) -> TableLookup | None:
    """Return the lookup that computes the only result of an operation, or `None`."""
    if operation.name != "linalg.generic" or len(operation.results) != 1:
        return None
    region = operation.regions[0]
    terminator = region.blocks[0].last_op
    yielded = None if terminator is None else made_by(terminator.operands[0], "tensor.extract")
    if yielded is None or yielded.parent_op() is not operation:
        return None
    table = yielded.operands[0]
    if table not in captured(region) or partitioner.rematerializable_of(table) is not None:
        return None
    held = ungathered_source(partitioner, table)
    sharding = partitioner.sharding_of(held)
    if sharding is None:
        return None
    for inner in region.walk():
        if table not in inner.operands:
            continue
        if inner.name != "tensor.extract" or inner.parent_op() is not operation:
            return None
        if any(reader.operation is not terminator for reader in inner.results[0].uses):
            return None
    return TableLookup(table, held, sharding) if _is_filled(table, sharding) else None


def ungathered_source(partitioner: Partitioner, table: SSAValue) -> SSAValue:
    """Return the tensor before annotations that require it to be gathered."""
    at = table
    while partitioner.sharding_of(at) is None:
        if (annotation := made_by(at, SHARD)) is None:
            return at
        at = annotation.operands[0]
    return at


def _is_filled(table: SSAValue, sharding: Sharding) -> bool:
    """Return whether every process holds a nonempty shard without pending reductions."""
    sizes = shape(table)
    element = ranked(table)
    if sharding.partials or sharding.halos or not sharding.grid.is_static or element is None:
        return False
    if not isinstance(element.element_type, AnyFloat | IntegerType | IndexType):
        return False
    for dimension, (size, axes) in enumerate(zip(sizes, sharding.dimension_axes, strict=True)):
        if not axes:
            continue
        if size is None:
            return False
        limits = shard_offsets(size, sharding, dimension)
        if any(start == end for start, end in pairwise(limits)):
            return False
    return True


def is_cheaper_than_gather(lookup: TableLookup, result: SSAValue, placed: Sharding) -> bool:
    """Return whether summing the results sends less than gathering the table."""
    group = group_size(lookup.sharding.grid, lookup.axes)
    summed = tensor_bytes(result) * local_fraction(placed) * ALL_REDUCE.sent(group)
    held = tensor_bytes(lookup.table) * local_fraction(lookup.sharding)
    return summed < held * ALL_GATHER.sent(group)


def mask_reads(
    partitioner: Partitioner, lookup: TableLookup, made: Operation, local: SSAValue
) -> None:
    """Make the body read local rows, and zero for rows of other processes.

    It is -0.0, which changes no float that it is added to.
    """
    emitter = partitioner.emitter
    intervals: dict[int, tuple[IndexOrInt, IndexOrInt]] = {}
    for dimension, axes in enumerate(lookup.sharding.dimension_axes):
        if axes and not lookup.follows(dimension):
            size = partitioner.global_size(lookup.table, dimension)
            intervals[dimension] = emitter.shard_interval(size, lookup.sharding, dimension)
    element = tensor_type_of(local)
    number = -0.0 if isinstance(element.element_type, AnyFloat) else 0
    zero = emitter.insert(arith.ConstantOp(scalar_attribute(number, element.element_type)))
    first = emitter.index(0)
    for read in [use.operation for use in local.uses if use.operation.name == "tensor.extract"]:
        if read.parent_op() is not made:
            continue
        block = block_of(read)
        inside: SSAValue | None = None
        for dimension, (start, length) in intervals.items():
            there = arith.SubiOp(read.operands[1 + dimension], emitter.index(start))
            here = arith.CmpiOp(there, emitter.index(length), "ult")
            safe = arith.SelectOp(here, there, first)
            block.insert_ops_before([there, here, safe], read)
            read.operands[1 + dimension] = safe.result
            if inside is None:
                inside = here.result
            else:
                both = arith.AndIOp(inside, here.result)
                block.insert_op_before(both, read)
                inside = both.result
        assert inside is not None
        value = read.results[0]
        chosen = arith.SelectOp(inside, value, zero)
        block.insert_op_after(chosen, read)
        replace_other_uses(value, chosen.result)

"""Partition concatenations and insertions: each process fetches or writes its own part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from xdsl.dialects import arith, tensor
from xdsl.dialects.tensor import ConcatOp
from xdsl.ir import Operation, SSAValue

from ....ir.index import IndexOrInt
from ....ir.tensor_types import ranked, shape_of
from ....sharding.factors import FactorKind
from ....sharding.local_shape import shard_offsets
from ....sharding.slice_exchange import cheapest_exchange, plan_joined_exchange, sections_of_slices
from ..rules.tensor import inserted_dimensions, joined_dimension, sliced_source
from .by_rule import copy_local, finish_local, if_split
from .emit_reshard import Exchanging
from .emitter import Emitter
from .fetch_sections import Interval, Section, fetch_sections
from .local_types import with_shape
from .partitioner import OpSharding, shape
from .reductions import finish_result
from .shifted_operands import Shift, operands_with_sections, rule_windows, shifts
from .slice_operands import slice_lists, slice_with


@if_split("tensor.concat", "tosa.concat")
def concat(chosen: OpSharding) -> None:
    """Concatenate the parts of all operands that lie in this process's part of the result."""
    joined = joined_dimension(chosen.operation)
    assert joined is not None  # The rule depends on it.
    found = next((shift for shift in shifts(chosen) if shift.dimension == joined), None)
    if found is None:
        operands = chosen.partitioner.values(chosen.operation.operands, chosen.operand_shardings)
        finish_local(chosen, ConcatOp(operands, joined, chosen.local_type))
        return
    value = _rotated(chosen, found) or _joined_parts(chosen, found)
    finish_result(chosen, 0, chosen.emitter.cast(value, chosen.local_type))


def _joined_parts(chosen: OpSharding, split: Shift) -> SSAValue:
    dimension = split.dimension
    parts: list[SSAValue] = []
    for index, (value, sharding) in enumerate(
        zip(chosen.operation.operands, chosen.operand_shardings, strict=True)
    ):
        window = rule_windows(chosen, index)[dimension]
        intervals = [window.read(start, end) for start, end in split.parts]
        if any(first < end for first, end in intervals):
            section = Section(dimension, split.axes, intervals)
            parts.append(fetch_sections(chosen.partitioner, value, sharding, [section]))
    if len(parts) == 1:
        return parts[0]
    sizes = [shape(part)[dimension] for part in parts]
    extents = list(shape_of(chosen.local_type))
    extents[dimension] = None if None in sizes else sum(size or 0 for size in sizes)
    made = ConcatOp(parts, dimension, with_shape(chosen.local_type, extents))
    return chosen.emitter.insert(made)


def _rotated(chosen: OpSharding, split: Shift) -> SSAValue | None:
    """Fetch parts of one tensor together if that sends less than one part after the other.

    In a rotation of rows by one, each process sends one row in a ring.
    """
    dimension = split.dimension
    slices = [sliced_source(operand, dimension) for operand in chosen.operation.operands]
    source, sharding = slices[0][0], chosen.operand_shardings[0]
    size, held = shape(source)[dimension], chosen.partitioner.sharding_of(source)
    if size is None or any(each is not source for each, _ in slices) or sharding.partials:
        return None
    if held is not None and held.offsets:
        return None
    along = enumerate(sharding.offsets)
    kept = tuple(None if each == dimension else limits for each, limits in along)
    sharding = replace(sharding, offsets=kept)
    windows = [rule_windows(chosen, index)[dimension] for index in range(len(slices))]
    sections = sections_of_slices(windows, [first for _, first in slices], split.parts)
    owned = list(pairwise(shard_offsets(size, sharding, dimension)))
    exchange = plan_joined_exchange(owned, list(zip(*sections, strict=True)))
    apart = sum(cheapest_exchange(owned, each)[1] for each in sections)
    if exchange is None or exchange.sent >= apart:
        return None
    value = chosen.partitioner.demand(source, sharding)
    return Exchanging(chosen.emitter, dimension, chosen.grid, split.axes).emit(value, exchange)


@if_split("tensor.insert_slice")
def insert_slice(chosen: OpSharding) -> None:
    """Partition an insertion: each process writes the part that lies in its own shard."""
    written = _known_writes(chosen)
    axes = chosen.operand_shardings[1].dimension_axes
    sections = [
        Section(each.position, axes[dimension], each.taken) for dimension, each in written.items()
    ]
    operands = operands_with_sections(chosen, sections)
    finish_local(chosen, _insert_local(chosen, operands, written))


@dataclass(frozen=True, slots=True)
class _Write:
    """The statically known writes of the processes along one dimension into their shards."""

    position: int
    """The dimension of the source."""
    taken: list[Interval]
    """The interval of the source that each process writes."""
    offsets: list[int]
    """The offset in each process's shard at which it writes."""


def _known_writes(chosen: OpSharding) -> dict[int, _Write]:
    """Return the writes by dimension of the destination, where they are known statically."""
    sharding = chosen.operand_shardings[1]
    found: dict[int, _Write] = {}
    for dimension, each in enumerate(inserted_dimensions(chosen.operation) or ()):
        factor = chosen.rule.factors[chosen.rule.operands[1][dimension][0]]
        is_split = factor.kind is FactorKind.PERMUTATION and sharding.dimension_axes[dimension]
        if not is_split or not each.is_fetched or each.extent is None or each.position is None:
            continue
        offset, size, stride = each.offset, each.size, each.stride
        taken: list[Interval] = []
        offsets: list[int] = []
        for start, end in pairwise(shard_offsets(each.extent, sharding, dimension)):
            first, last = (
                min(max(-((offset - limit) // stride), 0), size) for limit in (start, end)
            )
            taken.append((first, last) if first < last else (0, 0))
            offsets.append(offset + stride * first - start if first < last else 0)
        found[dimension] = _Write(each.position, taken, offsets)
    return found


def _insert_local(
    chosen: OpSharding, operands: list[SSAValue], written: dict[int, _Write]
) -> Operation:
    emitter, operation = chosen.emitter, chosen.operation
    source, destination, *dynamic = operands
    lists = slice_lists(operation, dynamic)
    sharding = chosen.operand_shardings[1]
    whole = inserted_dimensions(operation)
    assert whole is not None  # The rule depends on it.
    offsets, sizes = lists[:2]
    inside: SSAValue | None = None
    for dimension, factors in enumerate(chosen.rule.operands[1]):
        if not sharding.dimension_axes[dimension]:
            continue
        extent = emitter.dimension(destination, dimension)
        if chosen.rule.factors[factors[0]].kind is not FactorKind.PERMUTATION:
            sizes[dimension] = extent
            continue
        if dimension in written:
            write = written[dimension]
            axes = sharding.dimension_axes[dimension]
            offsets[dimension] = emitter.own(write.offsets, chosen.grid, axes)
            sizes[dimension] = emitter.dimension(source, write.position)
            continue
        total, place = whole[dimension].extent, whole[dimension].position
        assert total is not None
        start, _ = emitter.shard_interval(total, sharding, dimension)
        there = emitter.subtract(offsets[dimension], start)
        if sizes[dimension] == 1:
            here = emitter.insert(arith.CmpiOp(emitter.index(there), emitter.index(extent), "ult"))
            inside = here if inside is None else emitter.insert(arith.AndIOp(inside, here))
            safe = arith.SelectOp(here, emitter.index(there), emitter.index(0))
            offsets[dimension] = emitter.insert(safe)
            continue
        low, first, length = _overlap(emitter, there, sizes[dimension], extent)
        offsets[dimension], sizes[dimension] = low, length
        assert place is not None
        source = emitter.slice_dimension(source, place, first, length)
    if inside is not None:
        # Only one shard contains the element: other processes write back what is there.
        target = ranked(source)
        assert target is not None
        held = tensor.ExtractSliceOp(destination, offsets, sizes, lists[2], target)
        source = emitter.insert(arith.SelectOp(inside, source, emitter.insert(held)))
    changed = [dict(enumerate(entries)) for entries in (sizes, offsets)]
    properties, numbers = slice_with(operation, dynamic, 2, *changed)
    return copy_local(chosen, [source, destination, *numbers], properties)


def _overlap(
    emitter: Emitter, there: IndexOrInt, size: IndexOrInt, extent: IndexOrInt
) -> tuple[IndexOrInt, IndexOrInt, IndexOrInt]:
    """Intersect `size` elements at offset `there` with a shard of `extent` elements.

    Returns the offset in the shard, the index of the first element, and the number of elements.
    """
    low = emitter.maximum(there, 0)
    high = emitter.minimum(emitter.add(there, size), extent)
    length = emitter.maximum(emitter.subtract(high, low), 0)
    # Offsets of an empty part must be within the tensors as well.
    first = emitter.minimum(emitter.subtract(low, there), size)
    return emitter.minimum(low, extent), first, length

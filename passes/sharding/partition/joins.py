"""Tensors that are joined and inserted: a process fetches or writes what lies in its own part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from xdsl.dialects import arith, tensor
from xdsl.dialects.tensor import ConcatOp
from xdsl.ir import Operation, SSAValue

from ....ir.index import IndexOrInt
from ....ir.tensor_types import ranked, shape_of
from ....sharding.factors import FactorKind
from ....sharding.local_shape import shard_offsets
from ....sharding.slice_exchange import MOST_PARTS, best_way, plan_joined_exchange
from ..rules.builder import integer, integers
from ..rules.tensor import cut_from, fetched_part, kept_dimensions
from .by_rule import choose, copy_with, record_sizes, run_whole, spread_by_rule
from .emit_reshard import emit_exchange, shard_interval
from .emitter import Emitter
from .local_types import local_type, tensor_type_of, with_shape
from .op_sharding import OpSharding
from .partitioner import Partitioner, shape
from .reductions import finish_result
from .registry import partition
from .sections import fetch_sections
from .shifted import Shift, operands_with_sections, shifts, windows_by_dimension
from .slice_exchange import Interval, Section, cut_out
from .slice_numbers import slice_lists, slice_with


@partition("tensor.concat")
def concat(partitioner: Partitioner, operation: Operation) -> None:
    """Join the parts of all operands that lie in this process's part of the result."""
    _join(partitioner, operation, integer(operation, "dim"))


@partition("tosa.concat")
def tosa_concat(partitioner: Partitioner, operation: Operation) -> None:
    """The same as `tensor.concat`."""
    _join(partitioner, operation, integer(operation, "axis"))


def _join(partitioner: Partitioner, operation: Operation, joined: int | None) -> None:
    spread = choose(partitioner, operation)
    if spread is None or not spread.is_split or joined is None:
        run_whole(partitioner, operation)
        return
    found = next((shift for shift in shifts(spread) if shift.dimension == joined), None)
    if found is None:
        spread_by_rule(partitioner, operation, partial(_join_whole, dimension=joined))
        return
    local = _joined_parts(partitioner, spread, found)
    finish_result(partitioner, spread, 0, local)


def _join_whole(
    partitioner: Partitioner, spread: OpSharding, operands: list[SSAValue], dimension: int
) -> Operation:
    """Join local operands that have all of the joined dimension."""
    whole = tensor_type_of(spread.operation.results[0])
    return ConcatOp(operands, dimension, local_type(whole, spread.result_shardings[0]))


def _joined_parts(partitioner: Partitioner, spread: OpSharding, split: Shift) -> SSAValue:
    whole = _rotated(partitioner, spread, split)
    if whole is not None:
        return whole
    emitter, operation, dimension = partitioner.emitter, spread.operation, split.dimension
    parts: list[SSAValue] = []
    for index, (value, sharding) in enumerate(
        zip(operation.operands, spread.operand_shardings, strict=True)
    ):
        window = windows_by_dimension(spread, index)[dimension]
        intervals = [window.read(start, end) for start, end in split.parts]
        if any(first < end for first, end in intervals):
            section = Section(dimension, split.axes, intervals)
            parts.append(fetch_sections(partitioner, value, sharding, [section]))
    whole = tensor_type_of(operation.results[0])
    target = local_type(whole, spread.result_shardings[0])
    if len(parts) == 1:
        return emitter.cast(parts[0], target)
    sizes = [shape(part)[dimension] for part in parts]
    extents = list(shape_of(target))
    extents[dimension] = None if None in sizes else sum(size or 0 for size in sizes)
    made = emitter.insert(ConcatOp(parts, dimension, with_shape(target, extents)))
    return emitter.cast(made, target)


def _rotated(partitioner: Partitioner, spread: OpSharding, split: Shift) -> SSAValue | None:
    """Parts of one tensor, joined anew: at once, if that is less than one part after the other.

    Of rows that are moved on by one, the last to the front, each process sends one in a ring.
    """
    operation, dimension = spread.operation, split.dimension
    found = [cut_from(operand, dimension) for operand in operation.operands]
    source, sharding = found[0][0], spread.operand_shardings[0]
    size, held = shape(source)[dimension], partitioner.sharding_of(source)
    if size is None or any(each is not source for each, _ in found) or sharding.partials:
        return None
    if held is not None and held.offsets:
        return None
    sharding = replace(sharding, offsets=())
    parts = [
        [windows_by_dimension(spread, index)[dimension].read(*part) for part in split.parts]
        for index in range(len(found))
    ]
    wanted = [
        [
            (first + start, first + end)
            for (_, first), (start, end) in zip(found, intervals, strict=True)
            if start < end
        ]
        for intervals in zip(*parts, strict=True)
    ]
    owned = list(pairwise(shard_offsets(size, sharding, dimension)))
    exchange = plan_joined_exchange(owned, wanted) if len(owned) <= MOST_PARTS else None
    apart = sum(
        best_way(owned, [(a + first, b + first) if a < b else (0, 0) for a, b in intervals])[1]
        for (_, first), intervals in zip(found, parts, strict=True)
    )
    if exchange is None or exchange.sent >= apart:
        return None
    value = partitioner.demand(source, sharding)
    made = emit_exchange(
        *(partitioner.emitter, value, tensor_type_of(value), dimension),
        *(spread.grid, split.axes, exchange),
    )
    target = local_type(tensor_type_of(operation.results[0]), spread.result_shardings[0])
    return partitioner.emitter.cast(made, target)


@partition("tensor.insert_slice")
def insert_slice(partitioner: Partitioner, operation: Operation) -> None:
    """Of a dimension that is written in part, each process writes what lies in its own shard."""
    spread = choose(partitioner, operation)
    if spread is None or not spread.is_split:
        run_whole(partitioner, operation)
        return
    written = _known_writes(spread)
    sections = [
        Section(each.position, spread.operand_shardings[1].dimension_axes[dimension], each.taken)
        for dimension, each in written.items()
    ]
    made = _insert_local(
        partitioner, spread, operands_with_sections(partitioner, spread, sections), written
    )
    partitioner.emitter.append(made)
    record_sizes(partitioner, spread)
    finish_result(partitioner, spread, 0, made.results[0])


@dataclass(frozen=True, slots=True)
class _Write:
    """What the processes along a dimension write into their shards."""

    position: int
    """The dimension of the source."""
    taken: list[Interval]
    """What each takes of it."""
    offsets: list[int]
    """Where each puts that in its shard."""


def _known_writes(spread: OpSharding) -> dict[int, _Write]:
    """By dimension of the destination, what is written where that is known beforehand."""
    operation = spread.operation
    kept = kept_dimensions(integers(operation, "static_sizes") or (), shape(operation.operands[0]))
    sharding = spread.operand_shardings[1]
    found: dict[int, _Write] = {}
    for dimension, factors in enumerate(spread.rule.operands[1]):
        part, extent = fetched_part(operation, dimension), shape(operation.operands[1])[dimension]
        position = None if kept is None else kept[dimension]
        if (
            spread.rule.factors[factors[0]].kind is not FactorKind.PERMUTATION
            or not sharding.dimension_axes[dimension]
            or part is None
            or extent is None
            or position is None
        ):
            continue
        offset, size, stride = part
        taken: list[Interval] = []
        offsets: list[int] = []
        for start, end in pairwise(shard_offsets(extent, sharding, dimension)):
            first, last = (
                min(max(-((offset - limit) // stride), 0), size) for limit in (start, end)
            )
            taken.append((first, last) if first < last else (0, 0))
            offsets.append(offset + stride * first - start if first < last else 0)
        found[dimension] = _Write(position, taken, offsets)
    return found


def _insert_local(
    partitioner: Partitioner,
    spread: OpSharding,
    operands: list[SSAValue],
    written: dict[int, _Write],
) -> Operation:
    emitter, operation = partitioner.emitter, spread.operation
    source, destination, *dynamic = operands
    lists = slice_lists(operation, dynamic)
    sharding = spread.operand_shardings[1]
    kept = kept_dimensions(integers(operation, "static_sizes") or (), shape(operation.operands[0]))
    offsets, sizes = lists[:2]
    inside: SSAValue | None = None
    for dimension, factors in enumerate(spread.rule.operands[1]):
        if not sharding.dimension_axes[dimension]:
            continue
        extent = emitter.dimension(destination, dimension)
        if spread.rule.factors[factors[0]].kind is not FactorKind.PERMUTATION:
            sizes[dimension] = extent
            continue
        if dimension in written:
            write = written[dimension]
            position = emitter.position(spread.grid, sharding.dimension_axes[dimension])
            offsets[dimension] = emitter.element(write.offsets, position)
            sizes[dimension] = emitter.dimension(source, write.position)
            continue
        total = shape(operation.operands[1])[dimension]
        assert total is not None and kept is not None
        start, _ = shard_interval(emitter, total, sharding, dimension)
        there = emitter.subtract(offsets[dimension], start)
        if sizes[dimension] == 1:
            here = emitter.insert(arith.CmpiOp(emitter.index(there), emitter.index(extent), "ult"))
            inside = here if inside is None else emitter.insert(arith.AndIOp(inside, here))
            safe = arith.SelectOp(here, emitter.index(there), emitter.index(0))
            offsets[dimension] = emitter.insert(safe)
            continue
        low, first, length = _overlap(emitter, there, sizes[dimension], extent)
        offsets[dimension], sizes[dimension] = low, length
        place = kept[dimension]
        assert place is not None
        source = cut_out(emitter, source, place, first, length)
    if inside is not None:
        # The one element of a dimension lies in one shard: the others write what is there.
        target = ranked(source)
        assert target is not None
        held = tensor.ExtractSliceOp(destination, offsets, sizes, lists[2], target)
        source = emitter.insert(arith.SelectOp(inside, source, emitter.insert(held)))
    changed = [dict(enumerate(entries)) for entries in (sizes, offsets)]
    properties, numbers = slice_with(operation, dynamic, 2, *changed)
    types = [spread.result_types[0]]
    return copy_with(partitioner, operation, [source, destination, *numbers], types, properties)


def _overlap(
    emitter: Emitter, there: IndexOrInt, size: IndexOrInt, extent: IndexOrInt
) -> tuple[IndexOrInt, IndexOrInt, IndexOrInt]:
    """Of `size` elements put at `there` in a shard: where the first of them is that lies in it,
    which that is, and how many do."""
    low = emitter.maximum(there, 0)
    high = emitter.minimum(emitter.add(there, size), extent)
    length = emitter.maximum(emitter.subtract(high, low), 0)
    # Where nothing is written, the place of nothing is still one in the tensors.
    first = emitter.minimum(emitter.subtract(low, there), size)
    return emitter.minimum(low, extent), first, length

"""Fetch sections: parts of a split dimension that a process reads, owned by it and by others.

Missing elements come by a halo exchange with neighbours, or in pieces from other processes. If
neither sends less than an all-gather, the dimension is gathered. The section is then sliced out.

Sections of a padded or sliced tensor are fetched from its source. A convolution that reads
rows 3 to 9 of an image that was padded by one row reads rows 2 to 8 of the image. Fetching from the
split padded image would move rows twice: once to where padding puts them, once to where windows
need them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.dialects.tensor import YieldOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ....dialects.tensor.dialect import PadOp
from ....ir.attribute_access import integers
from ....ir.index import INDEX, IndexOrInt
from ....ir.index_lists import index_array, split_list
from ....ir.tensor_types import shape_of
from ....sharding.factors import Window
from ....sharding.grid import Grid
from ....sharding.local_shape import common_size, explicit_offsets, shard_offsets
from ....sharding.sharding import Axes, Sharding
from ....sharding.slice_exchange import HaloWidths, Interval, SliceExchange, cheapest_exchange
from ..annotations.access import SHARD
from ..rules.tensor import covered_dimensions
from .by_rule import copy_with
from .emit_reshard import emit_exchange, exchange_halo, shift_index, slice_dimension
from .emitter import Emitter
from .local_types import local_type, tensor_type_of, with_shape
from .partitioner import Partitioner, shape
from .slice_numbers import slice_lists, slice_with


@dataclass(frozen=True, slots=True)
class Section:
    """The parts of one dimension that the processes along some axes read."""

    dimension: int
    axes: Axes
    intervals: Sequence[Interval] | None
    """The interval that each process reads, in their order; `None` if unknown at compile time. It
    is empty if the end is not behind the start.
    """
    at_run_time: Callable[[SSAValue], tuple[IndexOrInt, IndexOrInt]] | None = None
    """Without `intervals`: emit start and length of this process's section in the dimension."""


def _fetch_held_sections(
    partitioner: Partitioner, original: SSAValue, sharding: Sharding, sections: Sequence[Section]
) -> SSAValue:
    """Return the sections of a tensor that this process reads, fetched from the tensor itself.

    `sharding` gives the split along the other dimensions; along those of the sections, it has their
    axes.
    """
    # Offsets of the sections do not apply to the source; it keeps those in which it is held.
    offsets = list(sharding.offsets or (None,) * sharding.rank)
    held = partitioner.sharding_of(original)
    for section in sections:
        offsets[section.dimension] = None
        if (
            held is not None
            and held.grid == sharding.grid
            and held.dimension_axes[section.dimension] == section.axes
        ):
            offsets[section.dimension] = explicit_offsets(held, section.dimension)
    sharding = replace(sharding, offsets=tuple(offsets))
    exchanges = {
        section.dimension: _exchange_for(original, sharding, section) for section in sections
    }
    present = _gathered(sharding, {d for d, exchange in exchanges.items() if exchange is None})
    whole = _gathered(sharding, set(exchanges))
    if whole != present and partitioner.is_known(original, whole):
        # The gathered tensor is available already, since another user needs it.
        exchanges, present = dict.fromkeys(exchanges), whole
    value = partitioner.demand(original, present)
    for section in sections:
        value = _fetch_section(
            partitioner, original, value, present, section, exchanges[section.dimension]
        )
    return value


def _gathered(sharding: Sharding, dimensions: set[int]) -> Sharding:
    """Return the sharding with some dimensions gathered."""
    axes = tuple(
        () if dimension in dimensions else split
        for dimension, split in enumerate(sharding.dimension_axes)
    )
    # Partial values are moved like others, so pending reductions are kept.
    return replace(sharding, dimension_axes=axes)


def _exchange_for(
    original: SSAValue, sharding: Sharding, section: Section
) -> HaloWidths | SliceExchange | None:
    """Return what to exchange for a section; `None` if the dimension is to be gathered."""
    size = shape(original)[section.dimension]
    if size is None or section.intervals is None:
        return None
    owned = list(pairwise(shard_offsets(size, sharding, section.dimension)))
    return cheapest_exchange(owned, section.intervals)[0]


def _fetch_section(
    partitioner: Partitioner,
    original: SSAValue,
    value: SSAValue,
    present: Sharding,
    section: Section,
    exchange: HaloWidths | SliceExchange | None,
) -> SSAValue:
    """Fetch missing elements along one split dimension, and slice out the section."""
    emitter, dimension = partitioner.emitter, section.dimension
    intervals = section.intervals
    if isinstance(exchange, SliceExchange):
        axes = present.dimension_axes[dimension]
        return emitter.once(
            ("exchange", value, dimension, present.grid, axes, exchange),
            lambda: emit_exchange(emitter, value, dimension, present.grid, axes, exchange),
        )
    if intervals is None:
        assert section.at_run_time is not None
        first, length = section.at_run_time(value)
    else:
        position = emitter.position(present.grid, section.axes)
        origins = [0] * len(intervals)
        if exchange is not None:
            size = shape(original)[dimension]
            assert size is not None
            value = emitter.once(
                ("halo", value, dimension, present, exchange),
                lambda held=value: _with_halos(partitioner, held, present, dimension, exchange),
            )
            origins = [
                start - exchange[0] for start in shard_offsets(size, present, dimension)[:-1]
            ]
        starts = [
            start - origin if start < end else 0
            for (start, end), origin in zip(intervals, origins, strict=True)
        ]
        first = emitter.element(starts, position)
        length = emitter.element([max(end - start, 0) for start, end in intervals], position)
    return slice_dimension(emitter, value, dimension, first, length)


@dataclass(frozen=True, slots=True)
class Padding:
    """The padding that the processes along some axes add to their sections of one dimension."""

    dimension: int
    axes: Axes
    widths: Sequence[tuple[int, int]]
    """The (low, high) padding of each process."""
    sizes: Sequence[int | None]
    """The extents including padding; `None` if known only at run time."""


def local_widths(
    emitter: Emitter, grid: Grid, axes: Axes, widths: Sequence[tuple[int, int]]
) -> tuple[IndexOrInt, IndexOrInt]:
    """Emit the (low, high) padding of this process, given that of each process along `axes`."""
    position = emitter.position(grid, axes)
    low, high = zip(*widths, strict=True)
    return emitter.element(low, position), emitter.element(high, position)


def pad_with(
    emitter: Emitter, value: SSAValue, grid: Grid, paddings: Sequence[Padding], filler: SSAValue
) -> SSAValue:
    """Pad a local tensor with a scalar."""
    if all(width == (0, 0) for padding in paddings for width in padding.widths):
        return value
    held = tensor_type_of(value)
    extents = list(shape_of(held))
    low: list[IndexOrInt] = [0] * len(extents)
    high: list[IndexOrInt] = [0] * len(extents)
    for padding in paddings:
        dimension = padding.dimension
        low[dimension], high[dimension] = local_widths(emitter, grid, padding.axes, padding.widths)
        extents[dimension] = common_size(padding.sizes)
    body = Block([YieldOp(filler)], arg_types=[INDEX] * len(extents))
    return emitter.insert(PadOp(value, low, high, Region(body), with_shape(held, extents)))


def _with_halos(
    partitioner: Partitioner,
    value: SSAValue,
    present: Sharding,
    dimension: int,
    halo: tuple[int, int],
) -> SSAValue:
    """Add halos from the neighbours along one dimension."""
    if halo == (0, 0):
        return value
    tensor_type = tensor_type_of(value)
    axes: list[Axes] = [()] * present.rank
    axes[dimension] = present.dimension_axes[dimension]
    halos = [(0, 0)] * present.rank
    halos[dimension] = halo
    only = Sharding(present.grid, tuple(axes), halos=tuple(halos))
    extents = list(shape_of(tensor_type))
    core = extents[dimension]
    extents[dimension] = None if core is None else core + sum(halo)
    widened = with_shape(tensor_type, extents)
    return exchange_halo(partitioner.emitter, value, only, widened)


# Sections of padded and sliced tensors ---------------------------------------------------------

PADDING = ("static_low", "static_high")


def fetch_sections(
    partitioner: Partitioner, original: SSAValue, sharding: Sharding, sections: Sequence[Section]
) -> SSAValue:
    """Return the sections of a tensor that this process reads.

    `sharding` gives the split along the other dimensions; along those of the sections, it has their
    axes.
    """
    operation = original.owner
    while isinstance(operation, Operation) and operation.name == SHARD:
        operation = operation.operands[0].owner
    if isinstance(operation, Operation) and not sharding.partials:
        windows = _shifted_reads(operation, sharding, sections)
        if windows is not None:
            inner = [
                replace(
                    section,
                    intervals=[
                        windows[section.dimension].read(*each) for each in section.intervals or ()
                    ],
                )
                for section in sections
            ]
            source = fetch_sections(partitioner, operation.operands[0], sharding, inner)
            if operation.name == "tensor.pad":
                return _padded(partitioner, operation, source, sharding, sections, windows)
            return _sliced(partitioner, operation, source, sharding, sections)
    return _fetch_held_sections(partitioner, original, sharding, sections)


def _shifted_reads(
    operation: Operation, sharding: Sharding, sections: Sequence[Section]
) -> dict[int, Window] | None:
    """Return the windows of a padded or sliced tensor into its source, by dimension.

    Only dimensions of `sections` have one. Returns `None` if the tensor is neither padded nor
    sliced, if a window is not known statically, or if another split dimension is padded or sliced.
    """
    if operation.name == "tensor.pad":
        low, high = (integers(operation, name) for name in PADDING)
        firsts = [-each if each >= 0 else None for each in low]
        whole = [each == (0, 0) for each in zip(low, high, strict=True)]
    elif operation.name == "tensor.extract_slice":
        strides = integers(operation, "static_strides")
        offsets = integers(operation, "static_offsets")
        firsts = [
            offset if offset >= 0 and stride == 1 else None
            for offset, stride in zip(offsets, strides, strict=True)
        ]
        whole = covered_dimensions(operation, shape(operation.operands[0])) or []
    else:
        return None
    extents = shape(operation.operands[0])
    if len(extents) != len(shape(operation.results[0])) or len(whole) != len(extents):
        return None
    found: dict[int, Window] = {}
    for section in sections:
        first, extent = firsts[section.dimension], extents[section.dimension]
        if first is None or extent is None or section.intervals is None:
            return None
        found[section.dimension] = Window(0, section.dimension, extent, first=first)
    for dimension, axes in enumerate(sharding.dimension_axes):
        if axes and dimension not in found and not whole[dimension]:
            return None
    return found


def _local_shape(
    original: SSAValue, sharding: Sharding, sections: Sequence[Section]
) -> list[int | None]:
    """Return the extents of the section that each process reads; `None` where they differ."""
    extents = list(shape_of(local_type(tensor_type_of(original), sharding)))
    for section in sections:
        lengths = (max(end - start, 0) for start, end in section.intervals or ())
        extents[section.dimension] = common_size(lengths)
    return extents


def _padded(
    partitioner: Partitioner,
    operation: Operation,
    source: SSAValue,
    sharding: Sharding,
    sections: Sequence[Section],
    windows: Mapping[int, Window],
) -> SSAValue:
    """Pad sections of the source of a `tensor.pad`."""
    emitter, result = partitioner.emitter, operation.results[0]
    low, high = slice_lists(operation, _scalars(partitioner, operation), PADDING)
    starts = [partitioner.shard_start(result, d, sharding) for d in range(sharding.rank)]
    for section in sections:
        dimension, intervals = section.dimension, section.intervals or ()
        widths = [windows[dimension].beyond(*each) for each in intervals]
        low[dimension], high[dimension] = local_widths(emitter, sharding.grid, section.axes, widths)
        position = emitter.position(sharding.grid, section.axes)
        starts[dimension] = emitter.element([start for start, _ in intervals], position)
    extents = _local_shape(result, sharding, sections)
    return emit_padding(partitioner, operation, source, (low, high), starts, extents)


def emit_padding(
    partitioner: Partitioner,
    operation: Operation,
    source: SSAValue,
    widths: tuple[Sequence[IndexOrInt], Sequence[IndexOrInt]],
    starts: Sequence[IndexOrInt],
    extents: Sequence[int | None],
) -> SSAValue:
    """Emit a local `tensor.pad` whose result begins at `starts` in the whole result."""
    values = [split_list(each)[1] for each in widths]
    properties = dict(operation.properties)
    properties |= zip(PADDING, map(index_array, widths), strict=True)
    counts = [1, *map(len, values)]
    properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, counts)
    made_type = with_shape(tensor_type_of(operation.results[0]), extents)
    operands = [source, *values[0], *values[1]]
    made = copy_with(partitioner, operation, operands, [made_type], properties)
    shift_body(partitioner, made, starts)
    return partitioner.emitter.append(made).results[0]


def shift_body(partitioner: Partitioner, made: Operation, starts: Sequence[IndexOrInt]) -> None:
    """Shift the index arguments of a body so that it computes with indices in the whole tensor."""
    block = made.regions[0].blocks[0]
    for argument, start in zip(block.args, starts, strict=True):
        if argument.first_use is not None:
            shift_index(partitioner.emitter, argument, start, InsertPoint.at_start(block))


def _sliced(
    partitioner: Partitioner,
    operation: Operation,
    source: SSAValue,
    sharding: Sharding,
    sections: Sequence[Section],
) -> SSAValue:
    """Slice sections of the source of a slice along the other dimensions."""
    offsets: dict[int, IndexOrInt] = {section.dimension: 0 for section in sections}
    sizes = {
        dimension: partitioner.emitter.dimension(source, dimension)
        for dimension, axes in enumerate(sharding.dimension_axes)
        if axes or dimension in offsets
    }
    scalars = _scalars(partitioner, operation)
    properties, dynamic = slice_with(operation, scalars, 1, sizes, offsets)
    extents = _local_shape(operation.results[0], sharding, sections)
    made_type = with_shape(tensor_type_of(operation.results[0]), extents)
    made = copy_with(partitioner, operation, [source, *dynamic], [made_type], properties)
    return partitioner.emitter.append(made).results[0]


def _scalars(partitioner: Partitioner, operation: Operation) -> list[SSAValue]:
    """Return the local values of an operation's scalar operands."""
    return [partitioner.scalar(operand) for operand in operation.operands[1:]]

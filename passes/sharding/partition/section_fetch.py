"""Fetch sections: parts of a split dimension that a process reads, owned by it and by others.

Missing elements come by a halo exchange with neighbours, or in pieces from other processes. If
neither sends less than an all-gather, the dimension is gathered. The section is then sliced out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from xdsl.dialects.tensor import YieldOp
from xdsl.ir import Block, Region, SSAValue

from ....dialects.tensor.dialect import PadOp
from ....ir.index import INDEX, IndexOrInt
from ....ir.tensor_types import shape_of
from ....sharding.grid import Grid
from ....sharding.local_shape import common_size, explicit_offsets, shard_offsets
from ....sharding.sharding import Axes, Sharding
from ....sharding.slice_exchange import HaloWidths, Interval, SliceExchange, cheapest_exchange
from .emit_reshard import emit_exchange, exchange_halo, slice_dimension
from .emitter import Emitter
from .local_types import tensor_type_of, with_shape
from .partitioner import Partitioner, shape


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


def fetch_held_sections(
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

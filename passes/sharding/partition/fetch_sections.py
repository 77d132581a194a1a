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

from xdsl.dialects.builtin import DenseArrayBase, TensorType, i32
from xdsl.dialects.tensor import YieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ....dialects.tensor.dialect import PadOp
from ....ir.attribute_access import integers
from ....ir.index import IndexList, IndexOrInt
from ....ir.index_lists import INDEX, index_array, split_list
from ....ir.locations import source_behind
from ....ir.tensor_types import shape_of
from ....sharding.factors import Window
from ....sharding.grid import Grid
from ....sharding.local_shape import common_size, explicit_offsets, shard_offsets
from ....sharding.sharding import Axes, Sharding
from ....sharding.slice_exchange import HaloWidths, Interval, SliceExchange, cheapest_exchange
from ..annotations.access import SHARD
from ..rules.tensor import covered_dimensions
from .by_rule import copy_with
from .emit_reshard import Exchanging, shift_index
from .emitter import Emitter
from .local_types import local_type, tensor_type_of, with_shape
from .partitioner import Partitioner, shape
from .slice_operands import slice_lists, slice_with


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

    @property
    def lengths(self) -> list[int]:
        """The number of elements that each process reads, if known."""
        return [max(end - start, 0) for start, end in self.intervals or ()]


PADDING = ("static_low", "static_high")

LONGEST_CHAIN = 16
"""The most padded and sliced tensors in a row through which sections are fetched: each tensor of a
longer chain repeats what those before it have done.
"""


@dataclass(frozen=True, slots=True)
class _Fetch:
    """The sections of a tensor that this process reads.

    `sharding` gives the split along the other dimensions; along those of the sections, it has their
    axes.
    """

    partitioner: Partitioner
    original: SSAValue
    sharding: Sharding
    sections: Sequence[Section]
    passed: int = 0
    """The number of padded and sliced tensors whose sections are made of these."""

    def value(self) -> SSAValue:
        """Emit the sections, from the source if the tensor is a padded or sliced one."""
        operation = source_behind(self.original, SHARD).owner
        may_pass = self.passed < LONGEST_CHAIN and not self.sharding.partials
        if isinstance(operation, Operation) and may_pass:
            windows = self._shifted_reads(operation)
            if windows is not None:
                inner = [
                    replace(
                        section,
                        intervals=[
                            windows[section.dimension].read(*each)
                            for each in section.intervals or ()
                        ],
                    )
                    for section in self.sections
                ]
                passed = self.passed + 1
                fetch = replace(self, original=operation.operands[0], sections=inner, passed=passed)
                source = fetch.value()
                if operation.name == "tensor.pad":
                    return self._padded(operation, source, windows)
                return self._sliced(operation, source)
        return self._held_sections()

    def _held_sections(self) -> SSAValue:
        """Emit the sections from the tensor itself."""
        # Offsets of the sections do not apply to the source; it keeps those in which it is held.
        sharding = self.sharding
        offsets = list(sharding.offsets or (None,) * sharding.rank)
        held = self.partitioner.sharding_of(self.original)
        for section in self.sections:
            offsets[section.dimension] = None
            if (
                held is not None
                and held.grid == sharding.grid
                and held.dimension_axes[section.dimension] == section.axes
            ):
                offsets[section.dimension] = explicit_offsets(held, section.dimension)
        sharding = replace(sharding, offsets=tuple(offsets))
        exchanges = {each.dimension: self._exchange_for(each, sharding) for each in self.sections}
        present = _gathered(sharding, {d for d, exchange in exchanges.items() if exchange is None})
        whole = _gathered(sharding, set(exchanges))
        if whole != present and self.partitioner.is_known(self.original, whole):
            # The gathered tensor is available already, since another user needs it.
            exchanges, present = dict.fromkeys(exchanges), whole
        value = self.partitioner.demand(self.original, present)
        for section in self.sections:
            value = self._fetch(section, value, present, exchanges[section.dimension])
        return value

    def _exchange_for(
        self, section: Section, sharding: Sharding
    ) -> HaloWidths | SliceExchange | None:
        """Return what to exchange for a section; `None` if the dimension is to be gathered."""
        size = shape(self.original)[section.dimension]
        if size is None or section.intervals is None:
            return None
        owned = list(pairwise(shard_offsets(size, sharding, section.dimension)))
        return cheapest_exchange(owned, section.intervals)[0]

    def _fetch(
        self,
        section: Section,
        value: SSAValue,
        present: Sharding,
        exchange: HaloWidths | SliceExchange | None,
    ) -> SSAValue:
        """Fetch missing elements along one split dimension, and slice out the section."""
        emitter, dimension = self.partitioner.emitter, section.dimension
        intervals = section.intervals
        if isinstance(exchange, SliceExchange):
            axes = present.dimension_axes[dimension]
            return emitter.once(
                ("exchange", value, dimension, present.grid, axes, exchange),
                lambda: Exchanging(emitter, dimension, present.grid, axes).emit(value, exchange),
            )
        if intervals is None:
            assert section.at_run_time is not None
            first, length = section.at_run_time(value)
        else:
            position = emitter.position(present.grid, section.axes)
            origins = [0] * len(intervals)
            if exchange is not None:
                size = shape(self.original)[dimension]
                assert size is not None
                value = emitter.once(
                    ("halo", value, dimension, present, exchange),
                    lambda held=value: _with_halos(emitter, held, present, dimension, exchange),
                )
                limits = shard_offsets(size, present, dimension)
                origins = [start - exchange[0] for start in limits[:-1]]
            starts = [
                start - origin if start < end else 0
                for (start, end), origin in zip(intervals, origins, strict=True)
            ]
            first = emitter.element(starts, position)
            length = emitter.element(section.lengths, position)
        return emitter.slice_dimension(value, dimension, first, length)

    # Padded and sliced tensors

    def _shifted_reads(self, operation: Operation) -> dict[int, Window] | None:
        """Return the windows of a padded or sliced tensor into its source, by dimension.

        Only dimensions of `sections` have one. Returns `None` if the tensor is neither padded nor
        sliced, if a window is not known statically, or if another split dimension is padded or
        sliced.
        """
        reads = _reads_of_source(operation)
        if reads is None:
            return None
        firsts, whole = reads
        extents = shape(operation.operands[0])
        if len(extents) != len(shape(operation.results[0])) or len(whole) != len(extents):
            return None
        found: dict[int, Window] = {}
        for section in self.sections:
            first, extent = firsts[section.dimension], extents[section.dimension]
            if first is None or extent is None or section.intervals is None:
                return None
            found[section.dimension] = Window(0, section.dimension, extent, first=first)
        for dimension, axes in enumerate(self.sharding.dimension_axes):
            if axes and dimension not in found and not whole[dimension]:
                return None
        return found

    def _local_type(self, original: SSAValue) -> TensorType[Attribute]:
        """Return the type of the sections; extents in which processes differ are dynamic."""
        tensor_type = tensor_type_of(original)
        extents = list(shape_of(local_type(tensor_type, self.sharding)))
        for section in self.sections:
            extents[section.dimension] = common_size(section.lengths)
        return with_shape(tensor_type, extents)

    def _scalars(self, operation: Operation) -> list[SSAValue]:
        """Return the local values of an operation's scalar operands."""
        return [self.partitioner.scalar(operand) for operand in operation.operands[1:]]

    def _padded(
        self, operation: Operation, source: SSAValue, windows: Mapping[int, Window]
    ) -> SSAValue:
        """Pad sections of the source of a `tensor.pad`."""
        partitioner, sharding, result = self.partitioner, self.sharding, operation.results[0]
        emitter = partitioner.emitter
        low, high = slice_lists(operation, self._scalars(operation), PADDING)
        starts = [partitioner.shard_start(result, d, sharding) for d in range(sharding.rank)]
        for section in self.sections:
            grid, axes, dimension = sharding.grid, section.axes, section.dimension
            intervals = section.intervals or ()
            widths = [windows[dimension].beyond(*each) for each in intervals]
            low[dimension], high[dimension] = Padding(dimension, axes, widths).local(emitter, grid)
            starts[dimension] = emitter.own([start for start, _ in intervals], grid, axes)
        made_type = self._local_type(result)
        return emit_padding(partitioner, operation, source, (low, high), starts, made_type)

    def _sliced(self, operation: Operation, source: SSAValue) -> SSAValue:
        """Slice sections of the source of a slice along the other dimensions."""
        emitter = self.partitioner.emitter
        offsets: dict[int, IndexOrInt] = {section.dimension: 0 for section in self.sections}
        sizes = {
            dimension: emitter.dimension(source, dimension)
            for dimension, axes in enumerate(self.sharding.dimension_axes)
            if axes or dimension in offsets
        }
        scalars = self._scalars(operation)
        properties, dynamic = slice_with(operation, scalars, 1, sizes, offsets)
        types = [self._local_type(operation.results[0])]
        made = copy_with(self.partitioner, operation, [source, *dynamic], types, properties)
        return emitter.append(made).results[0]


def _reads_of_source(operation: Operation) -> tuple[list[int | None], list[bool]] | None:
    """Return where a padded or sliced tensor begins in its source, and which dimensions it keeps.

    A begin is `None` if it is unknown, or if elements are left out. Returns `None` for the results
    of other operations.
    """
    if operation.name == "tensor.pad":
        low, high = (integers(operation, name) for name in PADDING)
        widths = zip(low, high, strict=True)
        return [-each if each >= 0 else None for each in low], [each == (0, 0) for each in widths]
    if operation.name != "tensor.extract_slice":
        return None
    offsets = integers(operation, "static_offsets")
    strides = integers(operation, "static_strides")
    firsts = [
        offset if offset >= 0 and stride == 1 else None
        for offset, stride in zip(offsets, strides, strict=True)
    ]
    return firsts, covered_dimensions(operation, shape(operation.operands[0])) or []


def fetch_sections(
    partitioner: Partitioner, original: SSAValue, sharding: Sharding, sections: Sequence[Section]
) -> SSAValue:
    """Return the sections of a tensor that this process reads.

    `sharding` gives the split along the other dimensions; along those of the sections, it has their
    axes.
    """
    return _Fetch(partitioner, original, sharding, sections).value()


def _gathered(sharding: Sharding, dimensions: set[int]) -> Sharding:
    """Return the sharding with some dimensions gathered."""
    axes = tuple(
        () if dimension in dimensions else split
        for dimension, split in enumerate(sharding.dimension_axes)
    )
    # Partial values are moved like others, so pending reductions are kept.
    return replace(sharding, dimension_axes=axes)


@dataclass(frozen=True, slots=True)
class Padding:
    """The padding that the processes along some axes add to their sections of one dimension."""

    dimension: int
    axes: Axes
    widths: Sequence[tuple[int, int]]
    """The (low, high) padding of each process."""
    sizes: Sequence[int | None] = ()
    """The extents including padding; `None` if known only at run time."""

    def local(self, emitter: Emitter, grid: Grid) -> tuple[IndexOrInt, IndexOrInt]:
        """Emit the (low, high) padding of this process."""
        low, high = zip(*self.widths, strict=True)
        return emitter.own(low, grid, self.axes), emitter.own(high, grid, self.axes)


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
        low[dimension], high[dimension] = padding.local(emitter, grid)
        extents[dimension] = common_size(padding.sizes)
    body = Block([YieldOp(filler)], arg_types=[INDEX] * len(extents))
    return emitter.insert(PadOp(value, low, high, Region(body), with_shape(held, extents)))


def _with_halos(
    emitter: Emitter, value: SSAValue, present: Sharding, dimension: int, halo: HaloWidths
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
    return emitter.exchange_halo(value, only, widened)


def emit_padding(
    partitioner: Partitioner,
    operation: Operation,
    source: SSAValue,
    widths: tuple[IndexList, IndexList],
    starts: IndexList,
    made_type: TensorType[Attribute],
) -> SSAValue:
    """Emit a local `tensor.pad` whose result begins at `starts` in the whole result."""
    values = [split_list(each)[1] for each in widths]
    properties = dict(operation.properties)
    properties |= zip(PADDING, map(index_array, widths), strict=True)
    counts = [1, *map(len, values)]
    properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, counts)
    operands = [source, *values[0], *values[1]]
    made = copy_with(partitioner, operation, operands, [made_type], properties)
    shift_body(partitioner, made, starts)
    return partitioner.emitter.append(made).results[0]


def shift_body(partitioner: Partitioner, made: Operation, starts: IndexList) -> None:
    """Shift the index arguments of a body so that it computes with indices in the whole tensor."""
    block = made.regions[0].blocks[0]
    for argument, start in zip(block.args, starts, strict=True):
        if argument.first_use is not None:
            shift_index(partitioner.emitter, argument, start, InsertPoint.at_start(block))

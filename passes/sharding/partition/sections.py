"""Fetch sections of a padded or sliced tensor from its source.

A convolution that reads rows 3 to 9 of an image that was padded by one row reads rows 2 to 8 of the
image. Fetching from the split padded image would move rows twice: once to where padding puts them,
once to where windows need them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ....ir.attribute_access import integers
from ....ir.index import IndexOrInt
from ....ir.index_lists import index_array, split_list
from ....ir.tensor_types import shape_of
from ....sharding.factors import Window
from ....sharding.local_shape import common_size
from ....sharding.sharding import Sharding
from ..annotations.access import SHARD
from ..rules.tensor import covered_dimensions
from .by_rule import copy_with
from .emit_reshard import shift_index
from .local_types import local_type, tensor_type_of, with_shape
from .partitioner import Partitioner, shape
from .section_fetch import Section, fetch_held_sections, local_widths
from .slice_numbers import slice_lists, slice_with

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
    return fetch_held_sections(partitioner, original, sharding, sections)


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

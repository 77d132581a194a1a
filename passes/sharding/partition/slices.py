"""Partition slices and padding: a process works on the source of its own part of the result.

A dimension that is taken completely is taken from the shard alone. If a dimension is shifted
against the result, by an offset or by padding, the process fetches the section that it needs.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from ....dialects.shard.collectives import BroadcastOp
from ....ir.attribute_access import integers
from ....ir.index import IndexOrInt
from ....ir.tensor_types import shape_of
from ....sharding.factors import FactorKind
from ....sharding.local_shape import shard_offsets
from ....sharding.sharding import Axes
from .by_rule import copy_local, copy_with, emits_local_op
from .chosen_sharding import OpSharding
from .emit_reshard import shard_interval
from .local_types import local_type, tensor_type_of
from .partitioner import Partitioner, shape
from .sections import PADDING, emit_padding, local_widths, shift_body
from .shifted import paddings_of, shifts, with_sections_of
from .slice_numbers import slice_lists, slice_with


@with_sections_of("tensor.extract_slice")
def extract_slice(
    partitioner: Partitioner, op_sharding: OpSharding, operands: list[SSAValue]
) -> SSAValue:
    """Emit a slice of the local section; owners broadcast single selected elements."""
    offsets: dict[int, IndexOrInt] = {}
    sizes: dict[int, IndexOrInt] = {}
    emitter = partitioner.emitter
    for dimension, axes in enumerate(op_sharding.operand_shardings[0].dimension_axes):
        if axes:
            sizes[dimension] = emitter.dimension(operands[0], dimension)
    for shift in shifts(op_sharding):
        offsets[shift.dimension] = 0
        position = emitter.position(op_sharding.grid, shift.axes)
        sizes[shift.dimension] = emitter.element([b - a for a, b in shift.parts], position)
    operation = op_sharding.operation
    owners: dict[Axes, int] = {}
    for dimension, (number, place) in _selected(op_sharding).items():
        factor = op_sharding.rule.factors[number]
        assert factor.size is not None
        limits = shard_offsets(factor.size, op_sharding.loop_sharding(number), 0)
        owner = bisect_right(limits, place) - 1
        owners[op_sharding.axes(number)] = owner
        # The other processes take any element; only the owner's is broadcast.
        places = [min(place - limits[owner], end - start - 1) for start, end in pairwise(limits)]
        position = emitter.position(op_sharding.grid, op_sharding.axes(number))
        offsets[dimension], sizes[dimension] = emitter.element(places, position), 1
    properties, dynamic = slice_with(operation, operands[1:], 1, sizes, offsets)
    types = [op_sharding.result_types[0]]
    made = copy_with(partitioner, operation, [operands[0], *dynamic], types, properties)
    value = emitter.append(made).results[0]
    for axes, owner in owners.items():
        root = op_sharding.grid.coordinates_along(axes, owner)
        value = emitter.insert(BroadcastOp(value, op_sharding.grid.name, axes, root=root))
    return value


def _selected(op_sharding: OpSharding) -> dict[int, tuple[int, int]]:
    """Return split dimensions from which one element is selected: its factor and index."""
    offsets = integers(op_sharding.operation, "static_offsets")
    return {
        dimension: (factors[0], offsets[dimension])
        for dimension, factors in enumerate(op_sharding.rule.operands[0])
        if op_sharding.rule.factors[factors[0]].kind is FactorKind.SELECTION
        and op_sharding.axes(factors[0])
    }


@with_sections_of("tensor.pad")
def pad(partitioner: Partitioner, op_sharding: OpSharding, operands: list[SSAValue]) -> SSAValue:
    """Emit local padding; only processes at the ends of a split dimension add padding."""
    emitter, operation = partitioner.emitter, op_sharding.operation
    low, high = slice_lists(operation, operands[1:], PADDING)
    for padding in paddings_of(op_sharding):
        widths = local_widths(emitter, op_sharding.grid, padding.axes, padding.widths)
        low[padding.dimension], high[padding.dimension] = widths
    source, result = operation.operands[0], operation.results[0]
    sharding = op_sharding.result_shardings[0]
    # A dynamic dimension that is split has no padding, so it is as long as the source's.
    starts = [
        partitioner.shard_start(source if size is None else result, dimension, sharding)
        for dimension, size in enumerate(shape(result))
    ]
    extents = shape_of(local_type(tensor_type_of(result), sharding))
    return emit_padding(partitioner, operation, operands[0], (low, high), starts, extents)


@emits_local_op("tensor.generate")
def generate(
    partitioner: Partitioner, op_sharding: OpSharding, operands: list[SSAValue]
) -> Operation:
    """Emit a local `tensor.generate` whose body gets indices in the whole tensor."""
    result = op_sharding.operation.results[0]
    whole = tensor_type_of(result)
    sharding = op_sharding.result_shardings[0]
    starts: list[IndexOrInt] = []
    sizes: list[SSAValue] = []
    given = iter(operands)
    for dimension, (size, local) in enumerate(
        zip(shape(result), local_type(whole, sharding).get_shape(), strict=True)
    ):
        total: IndexOrInt = next(given) if size is None else size
        start, length = shard_interval(partitioner.emitter, total, sharding, dimension)
        starts.append(start)
        if local == DYNAMIC_INDEX:
            sizes.append(partitioner.emitter.index(length))
    made = copy_local(partitioner, op_sharding, sizes)
    shift_body(partitioner, made, starts)
    return made

"""Partition slices and padding: a process works on the source of its own part of the result.

A dimension that is taken completely is taken from the shard alone. If a dimension is shifted
against the result, by an offset or by padding, the process fetches the section that it needs.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from ....dialects.shard.collectives import BroadcastOp
from ....ir.attribute_access import integers
from ....ir.index import IndexOrInt
from ....sharding.factors import FactorKind
from ....sharding.sharding import Axes
from .by_rule import append_copy, copy_local, emits_local_op
from .fetch_sections import PADDING, emit_padding, shift_body
from .partitioner import OpSharding, shape
from .shifted_operands import paddings_of, shifts, with_sections_of
from .slice_operands import slice_lists, slice_with


@with_sections_of("tensor.extract_slice")
def extract_slice(chosen: OpSharding, operands: list[SSAValue]) -> SSAValue:
    """Emit a slice of the local section; owners broadcast single selected elements."""
    offsets: dict[int, IndexOrInt] = {}
    sizes: dict[int, IndexOrInt] = {}
    emitter = chosen.emitter
    for dimension, axes in enumerate(chosen.operand_shardings[0].dimension_axes):
        if axes:
            sizes[dimension] = emitter.dimension(operands[0], dimension)
    for shift in shifts(chosen):
        offsets[shift.dimension] = 0
        sizes[shift.dimension] = emitter.own(shift.lengths, chosen.grid, shift.axes)
    owners: dict[Axes, int] = {}
    for dimension, (number, place) in _selected(chosen).items():
        parts = chosen.loop_parts(number)
        owner = bisect_right(parts, place, key=itemgetter(0)) - 1
        owners[chosen.axes(number)] = owner
        # The other processes take any element; only the owner's is broadcast.
        places = [min(place - parts[owner][0], end - start - 1) for start, end in parts]
        offsets[dimension] = emitter.own(places, chosen.grid, chosen.axes(number))
        sizes[dimension] = 1
    properties, dynamic = slice_with(chosen.operation, operands[1:], 1, sizes, offsets)
    value = append_copy(chosen, [operands[0], *dynamic], properties)
    for axes, owner in owners.items():
        root = chosen.grid.coordinates_along(axes, owner)
        value = emitter.insert(BroadcastOp(value, chosen.grid.name, axes, root=root))
    return value


def _selected(chosen: OpSharding) -> dict[int, tuple[int, int]]:
    """Return split dimensions from which one element is selected: its factor and index."""
    offsets = integers(chosen.operation, "static_offsets")
    return {
        dimension: (factors[0], offsets[dimension])
        for dimension, factors in enumerate(chosen.rule.operands[0])
        if chosen.rule.factors[factors[0]].kind is FactorKind.SELECTION and chosen.axes(factors[0])
    }


@with_sections_of("tensor.pad")
def pad(chosen: OpSharding, operands: list[SSAValue]) -> SSAValue:
    """Emit local padding; only processes at the ends of a split dimension add padding."""
    emitter, operation = chosen.emitter, chosen.operation
    low, high = slice_lists(operation, operands[1:], PADDING)
    for padding in paddings_of(chosen):
        low[padding.dimension], high[padding.dimension] = padding.local(emitter, chosen.grid)
    source, result = operation.operands[0], operation.results[0]
    # A dynamic dimension that is split has no padding, so it is as long as the source's.
    starts = [
        chosen.partitioner.shard_start(
            source if size is None else result, dimension, chosen.result_shardings[0]
        )
        for dimension, size in enumerate(shape(result))
    ]
    type_ = chosen.local_type
    return emit_padding(chosen.partitioner, operation, operands[0], (low, high), starts, type_)


@emits_local_op("tensor.generate")
def generate(chosen: OpSharding, operands: list[SSAValue]) -> Operation:
    """Emit a local `tensor.generate` whose body gets indices in the whole tensor."""
    starts: list[IndexOrInt] = []
    sizes: list[SSAValue] = []
    given = iter(operands)
    for dimension, (size, local) in enumerate(
        zip(shape(chosen.operation.results[0]), chosen.local_type.get_shape(), strict=True)
    ):
        total: IndexOrInt = next(given) if size is None else size
        sharding = chosen.result_shardings[0]
        start, length = chosen.emitter.shard_interval(total, sharding, dimension)
        starts.append(start)
        if local == DYNAMIC_INDEX:
            sizes.append(chosen.emitter.index(length))
    made = copy_local(chosen, sizes)
    shift_body(chosen.partitioner, made, starts)
    return made

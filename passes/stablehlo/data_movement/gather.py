"""Convert `gather`, `dynamic_gather` and `torch_index_select`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from ....dialects.stablehlo.attributes import GatherAttr
from ....ir.attribute_access import attribute, element_type, integer, number_list
from ....ir.diagnostics import OperationError
from ....ir.index import IndexList, IndexOrInt, known
from ..lowering.element_types import operand_kind
from ..lowering.emitter import Emitter, shape
from ..lowering.lowering import Lowering, Tensors, tensor_rule
from .progressions import Progression, index_progression
from .shapes import clamp_index, index_values, result_sizes


@tensor_rule("stablehlo.gather")
def _gather(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    sizes = number_list(attribute(op, "slice_sizes"))
    return [gather(lowering.emit, op, operands, sizes)]


@tensor_rule("stablehlo.dynamic_gather")
def _dynamic_gather(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    rank = len(shape(operands[0]))
    sizes = [known(size) for size in index_values(e, operands[2], rank)]
    return [gather(e, op, operands, sizes)]


def gather(e: Emitter, op: Operation, operands: Tensors, sizes: IndexList) -> SSAValue:
    """Return slices of a tensor that start at indices; each start is clamped into the tensor.

    Indices that count along a dimension (`progressions.py`) are computed from the loop index
    instead of being loaded. Raises OperationError if dimension numbers do not fit the operands.
    """
    numbers = attribute(op, "dimension_numbers")
    if not isinstance(numbers, GatherAttr):
        raise OperationError(op, f"expects #stablehlo.gather<...>, found {numbers}")
    source, starts = operands[:2]
    offset_dims = numbers.integers("offset_dims")
    dropped = (
        *numbers.integers("collapsed_slice_dims"),
        *numbers.integers("operand_batching_dims"),
    )
    rank = len(shape(source))
    result_rank = len(result_sizes(op))
    batch_dims = [i for i in range(result_rank) if i not in offset_dims]
    window = [i for i in range(rank) if i not in dropped]
    if len(window) != len(offset_dims) or len(sizes) != rank:
        raise OperationError(op, "has offset_dims and slice_sizes that do not fit its operand")
    vector = numbers.integer("index_vector_dim")
    starts_batch_dims = [i for i in range(len(shape(starts))) if i != vector]
    result: list[IndexOrInt] = [0] * result_rank
    for result_dim, dimension in zip(offset_dims, window, strict=True):
        result[result_dim] = sizes[dimension]
    for result_dim, dimension in zip(batch_dims, starts_batch_dims, strict=True):
        result[result_dim] = e.size(starts, dimension)
    limits = [e.subtract(e.size(source, i), sizes[i]) for i in range(rank)]
    element = operand_kind(op, 1)

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        batch = [inner.loop_index(result_dim) for result_dim in batch_dims]
        indices: list[IndexOrInt] = [0] * rank
        for result_dim, dimension in zip(offset_dims, window, strict=True):
            indices[dimension] = inner.loop_index(result_dim)
        for number, dimension in enumerate(numbers.integers("start_index_map")):
            if limits[dimension] == 0:
                continue
            counted = index_progression(op.operands[1], vector, number)
            if counted is not None and _is_within(counted, limits[dimension]):
                at = _counted(inner, counted, batch, starts_batch_dims)
                indices[dimension] = inner.add(indices[dimension], at)
                continue
            start = inner.element(starts, index_vector_position(batch, vector, number, starts))
            at = clamp_index(inner, start, element, limits[dimension])
            indices[dimension] = inner.add(indices[dimension], at)
        pairs = zip(
            numbers.integers("operand_batching_dims"),
            numbers.integers("start_indices_batching_dims"),
            strict=True,
        )
        for dimension, of_starts in pairs:
            indices[dimension] = batch[starts_batch_dims.index(of_starts)]
        return [inner.element(source, indices)]

    empty = e.empty(result, element_type(source.type))
    return e.loops([], [], [empty], None, body)[0]


def _is_within(counted: Progression, limit: IndexOrInt) -> bool:
    """Return whether all numbers of a progression are in 0..`limit`."""
    return isinstance(limit, int) and counted.least >= 0 and counted.most <= limit


def _counted(
    e: Emitter, counted: Progression, batch: Sequence[SSAValue], starts_batch_dims: Sequence[int]
) -> IndexOrInt:
    """Return the number that a progression has for an index vector."""
    if counted.dimension is None:
        return counted.first
    loop = batch[starts_batch_dims.index(counted.dimension)]
    return e.add(e.multiply(loop, counted.step), counted.first)


def index_vector_position(
    batch: IndexList, vector: int, number: int, starts: SSAValue
) -> list[IndexOrInt]:
    """Return the position of component `number` of an index vector in `starts`.

    If `starts` has no dimension for components, vectors have one.
    """
    if vector >= len(shape(starts)):
        return list(batch)
    return [*batch[:vector], number, *batch[vector:]]


@tensor_rule("stablehlo.torch_index_select")
def _torch_index_select(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    source, index = operands
    dimension, batches = integer(op, "dim"), integer(op, "batch_dims")
    count = len(shape(index)) - batches
    element = operand_kind(op, 1)
    own = e.sizes(source)
    sizes = [*own[:dimension], *e.sizes(index)[batches:], *own[dimension + 1 :]]

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        loops = [inner.loop_index(loop) for loop in range(len(sizes))]
        position = [*loops[:batches], *loops[dimension : dimension + count]]
        most = inner.subtract(own[dimension], 1)
        at = clamp_index(inner, inner.element(index, position), element, most)
        return [inner.element(source, [*loops[:dimension], at, *loops[dimension + count :]])]

    return [e.loops([], [], [e.empty(sizes, element_type(source.type))], None, body)[0]]

"""Gather and scatter."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from ...dialects.stablehlo.attributes import GatherAttr, ScatterAttr
from ...ir.attribute_access import attribute, element_type, number_list
from ...ir.diagnostics import OperationError
from ...ir.index import IndexOrInt
from .arithmetic import operand_kind
from .combiners import combiner
from .elements import Kind
from .emitter import BOOL, PARALLEL, REDUCTION, Emitter, dims, shape
from .lowering import Lowering
from .reductions import element_kinds
from .rules import tensor_rule
from .shapes import clamp_index, index_values, result_sizes

Tensors = Sequence[SSAValue]


# Gather ------------------------------------------------------------------------------------------


@tensor_rule("stablehlo.gather")
def _gather(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    sizes = number_list(attribute(op, "slice_sizes"))
    return [gather(lowering.emit, op, operands, sizes)]


@tensor_rule("stablehlo.dynamic_gather")
def _dynamic_gather(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    rank = len(shape(operands[0]))
    sizes = index_values(e, operands[2], rank)
    return [gather(e, op, operands, sizes)]


def gather(e: Emitter, op: Operation, operands: Tensors, sizes: Sequence[IndexOrInt]) -> SSAValue:
    """Slices of a tensor from where indices say; each start is moved into the tensor."""
    numbers = attribute(op, "dimension_numbers")
    if not isinstance(numbers, GatherAttr):
        raise OperationError(op, f"needs #stablehlo.gather<...>, found {numbers}")
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
    batch_places = [i for i in range(len(shape(starts))) if i != vector]
    result: list[IndexOrInt] = [0] * result_rank
    for place, dimension in zip(offset_dims, window, strict=True):
        result[place] = sizes[dimension]
    for place, dimension in zip(batch_dims, batch_places, strict=True):
        result[place] = e.size(starts, dimension)
    limits = [e.subtract(e.size(source, i), sizes[i]) for i in range(rank)]
    found = operand_kind(op, 1)

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        batch = [inner.loop_index(place) for place in batch_dims]
        indices: list[IndexOrInt] = [0] * rank
        for place, dimension in zip(offset_dims, window, strict=True):
            indices[dimension] = inner.loop_index(place)
        for number, dimension in enumerate(numbers.integers("start_index_map")):
            if limits[dimension] == 0:
                continue
            start = inner.element(starts, vector_index(inner, batch, vector, number, starts))
            at = clamp_index(inner, start, found, limits[dimension])
            indices[dimension] = inner.add(indices[dimension], at)
        pairs = zip(
            numbers.integers("operand_batching_dims"),
            numbers.integers("start_indices_batching_dims"),
            strict=True,
        )
        for dimension, of_starts in pairs:
            indices[dimension] = batch[batch_places.index(of_starts)]
        return [inner.element(source, indices)]

    empty = e.empty(result, element_type(source.type))
    return e.loops([], [], [empty], None, body)[0]


def vector_index(
    e: Emitter, batch: Sequence[IndexOrInt], vector: int, number: int, starts: SSAValue
) -> list[IndexOrInt]:
    """Where a number of an index vector is; without a dimension for it, vectors have one number."""
    if vector >= len(shape(starts)):
        return list(batch)
    return [*batch[:vector], number, *batch[vector:]]


@tensor_rule("stablehlo.torch_index_select")
def _torch_index_select(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    from ...ir.attribute_access import integer

    e = lowering.emit
    source, index = operands
    dimension, batches = integer(op, "dim"), integer(op, "batch_dims")
    count = len(shape(index)) - batches
    found = operand_kind(op, 1)
    own = e.sizes(source)
    sizes = [*own[:dimension], *e.sizes(index)[batches:], *own[dimension + 1 :]]

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        loops = [inner.loop_index(place) for place in range(len(sizes))]
        place = [*loops[:batches], *loops[dimension : dimension + count]]
        most = inner.subtract(own[dimension], 1)
        at = clamp_index(inner, inner.element(index, place), found, most)
        return [inner.element(source, [*loops[:dimension], at, *loops[dimension + count :]])]

    return [e.loops([], [], [e.empty(sizes, element_type(source.type))], None, body)[0]]


# Scatter -----------------------------------------------------------------------------------------


@tensor_rule("stablehlo.scatter")
def _scatter(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Every element of the result asks each index vector whether its window covers it.

    Updates outside of the tensor reach no element. Updates of one element come in the order of
    the indices.
    """
    numbers = attribute(op, "scatter_dimension_numbers")
    if not isinstance(numbers, ScatterAttr):
        raise OperationError(op, f"needs #stablehlo.scatter<...>, found {numbers}")
    return _Scatter(lowering, op, operands, numbers).loops()


class _Scatter:
    """One scatter: loops over its results, and over its index vectors."""

    def __init__(
        self, lowering: Lowering, op: Operation, operands: Tensors, numbers: ScatterAttr
    ) -> None:
        count = (len(operands) - 1) // 2
        self.lowering, self.op, self.numbers, self.count = lowering, op, numbers, count
        self.inputs, self.starts = operands[:count], operands[count]
        self.updates = operands[count + 1 :]
        self.rank = len(shape(self.inputs[0]))
        self.windows = numbers.integers("update_window_dims")
        dropped = (
            *numbers.integers("inserted_window_dims"),
            *numbers.integers("input_batching_dims"),
        )
        self.window = [i for i in range(self.rank) if i not in dropped]
        update_rank = len(shape(self.updates[0]))
        self.batch = [i for i in range(update_rank) if i not in self.windows]
        self.vector = numbers.integer("index_vector_dim")
        self.batch_places = [i for i in range(len(shape(self.starts))) if i != self.vector]
        if len(self.window) != len(self.windows) or len(self.batch) != len(self.batch_places):
            raise OperationError(op, "has dimension numbers that do not fit its operands")
        self.kind: Kind = operand_kind(op, count)

    def loops(self) -> list[SSAValue]:
        e = self.lowering.emit
        combined = combiner(self.lowering, self.op, self.op.regions[0], self.count, widen=False)
        inputs = self._promoted(e, combined.carried)
        given = element_kinds(self.op, self.count + 1, self.count)
        if 0 in shape(self.updates[0]):
            return list(inputs)
        sizes = [e.size(self.updates[0], place) for place in self.batch]
        counter = e.empty(sizes, BOOL)
        loops = self.rank + len(sizes)

        def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
            carried = args[1:]
            hit, indices = self._source(inner)
            values = [inner.element(update, indices) for update in self.updates]
            added = combined.combine(inner, carried, values, given)
            return [inner.select(hit, new, old) for new, old in zip(added, carried, strict=True)]

        return e.loops(
            [counter],
            [dims(*range(self.rank, loops), loops=loops)],
            inputs,
            [dims(*range(self.rank), loops=loops)] * self.count,
            body,
            [*[PARALLEL] * self.rank, *[REDUCTION] * len(sizes)],
        )

    def _promoted(self, e: Emitter, carried: Sequence[object]) -> list[SSAValue]:
        from .conversions import convert
        from .elements import kind

        made: list[SSAValue] = []
        for value, type_, found in zip(
            self.inputs, carried, element_kinds(self.op, 0, self.count), strict=True
        ):
            target = kind(type_)  # pyright: ignore[reportArgumentType]
            made.append(
                value
                if found.type == target.type
                else e.pointwise(
                    [value],
                    target.type,
                    lambda inner, args, a=found, b=target: [convert(inner, args[0], a, b)],
                )
            )
        return made

    def _source(self, e: Emitter) -> tuple[SSAValue, list[IndexOrInt]]:
        """Whether the update of this point of the loops is for this element, and where it is."""
        numbers = self.numbers
        batch: list[IndexOrInt] = [e.loop_index(self.rank + i) for i in range(len(self.batch))]
        distance: list[SSAValue] = [e.loop_index(i) for i in range(self.rank)]
        for number, dimension in enumerate(numbers.integers("scatter_dims_to_operand_dims")):
            place = vector_index(e, batch, self.vector, number, self.starts)
            start = e.to_index(e.element(self.starts, place), self.kind.name == "signed")
            distance[dimension] = e.op("arith.subi", distance[dimension], start)
        pairs = zip(
            numbers.integers("input_batching_dims"),
            numbers.integers("scatter_indices_batching_dims"),
            strict=True,
        )
        for dimension, of_starts in pairs:
            own = e.index(batch[self.batch_places.index(of_starts)])
            distance[dimension] = e.op("arith.subi", distance[dimension], own)
        hit = e.constant(1, BOOL)
        none = e.index(0)
        indices: list[IndexOrInt] = [0] * (len(self.batch) + len(self.windows))
        for place, index in zip(self.batch, batch, strict=True):
            indices[place] = index
        for dimension in range(self.rank):
            if dimension not in self.window:
                hit = e.both(hit, e.compare_integers("eq", distance[dimension], none))
                continue
            place = self.windows[self.window.index(dimension)]
            last = e.index(e.subtract(e.size(self.updates[0], place), 1))
            bounded = e.op("arith.maxsi", e.op("arith.minsi", distance[dimension], last), none)
            hit = e.both(hit, e.compare_integers("eq", distance[dimension], bounded))
            indices[place] = bounded
        return hit, indices

"""Convert gathers, scatters, and moves to indices that a body computes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.tensor import InsertOp
from xdsl.ir import Operation, SSAValue

from ...dialects.stablehlo.attributes import ScatterAttr
from ...ir.attribute_access import attribute, element_type, number_list
from ...ir.index import IndexOrInt
from ..stablehlo.data_movement.scatter import scattered
from ..stablehlo.lowering.element_types import kind
from ..stablehlo.lowering.emitter import Emitter, dims, shape
from ..stablehlo.lowering.lowering import Lowering, Tensors
from ..stablehlo.reduction.combiners import combiner
from .rules import linalg_ext_rule


@linalg_ext_rule("tm_tensor.scatter", "iree_linalg_ext.scatter")
def _scatter(lowering: Lowering, op: Operation) -> Tensors:
    """Convert a scatter; each update has a vector of indices where its window starts.

    Windows are the trailing dimensions of updates. Updates apply in order; those outside of the
    tensor, and those that a mask does not choose, are dropped.
    """
    e = lowering.emit
    updates, indices, *mask, target = op.operands
    indexed = number_list(attribute(op, "dimension_map"))
    if op.name == "tm_tensor.scatter":
        batch = 1
        dropped = tuple(range(len(shape(target)) - len(shape(updates)) + 1))
    else:
        batch = len(shape(updates)) - len(shape(target)) + len(indexed)
        dropped = tuple(sorted(indexed))
    for each in mask:
        indices = _chosen(e, indices, each)
    numbers = ScatterAttr.of(
        update_window_dims=tuple(range(batch, len(shape(updates)))),
        inserted_window_dims=dropped,
        scatter_dims_to_operand_dims=indexed,
        index_vector_dim=batch,
    )
    combined = combiner(lowering, op, op.regions[0], 1, widen=False, elements_first=True)
    operands = (target, indices, updates)
    kinds = [kind(each.type) for each in operands]
    return scattered(e, operands, kinds, numbers, combined)


def _chosen(e: Emitter, indices: SSAValue, mask: SSAValue) -> SSAValue:
    """Return indices of which those that a mask does not choose are -1."""
    rank, element = len(shape(indices)), element_type(indices.type)

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [inner.select(args[1], args[0], inner.constant(-1, element))]

    maps = [dims(*range(len(shape(each))), loops=rank) for each in (indices, mask)]
    return e.loops([indices, mask], maps, [e.empty(e.sizes(indices), element)], None, body)[0]


@linalg_ext_rule("iree_linalg_ext.gather")
def _gather(lowering: Lowering, op: Operation) -> Tensors:
    """Read slices at vectors of indices; where a mask does not choose, `outs` stays."""
    e = lowering.emit
    source, indices, *mask, output = op.operands
    indexed = number_list(attribute(op, "dimension_map"))
    rank, batch = len(shape(output)), len(shape(output)) - len(shape(source)) + len(indexed)
    whole = [each for each in range(len(shape(source))) if each not in indexed]

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        at = [inner.loop_index(number) for number in range(rank)]
        places: list[IndexOrInt] = [0] * len(shape(source))
        for number, dimension in enumerate(indexed):
            vector = [*at[:batch], number][: len(shape(indices))]
            places[dimension] = inner.to_index(inner.element(indices, vector))
        for dimension, index in zip(whole, at[batch:], strict=True):
            places[dimension] = index
        if not mask:
            return [inner.element(source, places)]
        is_inside, bounded = inner.clamp_to_tensor(places, source)
        is_read = inner.both(inner.element(mask[0], at[:batch]), is_inside)
        return [inner.element_if(is_read, source, bounded, args[0])]

    given = [output] if mask else []
    maps = [dims(*range(rank), loops=rank)] * len(given)
    empty = e.empty(e.sizes(output), element_type(output.type))
    return [e.loops(given, maps, [empty], None, body)[0]]


# Indices that a body computes --------------------------------------------------------------------


@linalg_ext_rule("iree_linalg_ext.map_load")
def _map_load(lowering: Lowering, op: Operation) -> Tensors:
    """Read the elements of `ins` whose indices the body computes; elsewhere its padding counts."""
    e, (source, output) = lowering.emit, op.operands

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        at = [inner.loop_index(number) for number in range(len(shape(output)))]
        *places, padding = lowering.inline_on_scalars(op.regions[0], at, inner)
        is_inside, bounded = inner.clamp_to_tensor(places, source)
        return [inner.element_if(is_inside, source, bounded, padding)]

    empty = e.empty(e.sizes(output), element_type(output.type))
    return [e.loops([], [], [empty], None, body)[0]]


@linalg_ext_rule("iree_linalg_ext.map_store")
def _map_store(lowering: Lowering, op: Operation) -> Tensors:
    """Write each element of `ins` that the body chooses to indices that it computes.

    Elements are written in order; those outside of `outs` are dropped.
    """
    e, (source, output) = lowering.emit, op.operands
    # Loops of one iteration, or of none where `outs` has no element to write to.
    guards = [each for each in (e.minimum(size, 1) for size in e.sizes(output)) if each != 1]
    counts = [*guards, *e.sizes(source)]

    def store(inner: Emitter, at: list[SSAValue], result: SSAValue) -> SSAValue:
        if len(at) < len(counts):
            (stored,) = inner.sequential_loop(
                counts[len(at)],
                [result],
                lambda nested, args: [store(nested, [*at, args[0]], args[1])],
            )
            return stored
        at = at[len(guards) :]
        *places, is_chosen = lowering.inline_on_scalars(op.regions[0], at, inner)
        is_inside, bounded = inner.clamp_to_tensor(places, result)
        is_stored = inner.both(is_chosen, is_inside)
        value = inner.select(is_stored, inner.element(source, at), inner.element(result, bounded))
        return inner.insert(InsertOp(value, result, bounded))

    return [store(e, [], output)]

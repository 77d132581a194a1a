"""Partition structured linalg operations: split loops, and fetch windows from other processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ....dialects.linalg.structured_view import structured_view
from ....ir.attribute_access import attribute
from ....ir.combiners import Combiner
from ....ir.index import IndexOrInt
from ....ir.regions import walk
from ....ir.tensor_types import ranked
from ....sharding.sharding import Partial, ReductionKind
from .by_rule import choose, copy_local, run_replicated
from .captured_slices import captured_slices, followed_slice, local_reads
from .emit_reshard import shift_index
from .local_types import local_type, tensor_type_of
from .partitioner import OpSharding, Partitioner
from .reductions import (
    combine,
    combines_jointly,
    counts_initial_value,
    finish_jointly,
    finish_result,
    splat_like,
)
from .registry import ANY_STRUCTURED, partition
from .stencil_windows import fetch_windows, local_maps, loop_start, summed_loops_of
from .table_lookup import TableLookup, find_table_lookup, is_cheaper_than_gather, mask_reads


@partition(ANY_STRUCTURED)
def structured(partitioner: Partitioner, operation: Operation) -> None:
    """Partition a structured operation so that each process runs its part of the loops."""
    view = structured_view(operation)
    chosen, lookup = (None, None) if view is None else _choose(partitioner, operation)
    if view is None or chosen is None or not (chosen.is_split or lookup):
        run_replicated(partitioner, operation)
        return
    _record_output_sizes(partitioner, operation, len(view.inputs))
    later = _added_later(chosen, view.outputs)
    operands = [_input(chosen, index, value) for index, value in enumerate(view.inputs)]
    for index, value in enumerate(view.outputs):
        sharding = chosen.operand_shardings[len(view.inputs) + index]
        operands.append(
            _neutral(chosen, index, value, later[index])
            if index in later
            else partitioner.demand(value, sharding)
        )
    slices = captured_slices(chosen, except_for=None if lookup is None else lookup.table)
    if lookup is not None:
        held = partitioner.demand(lookup.held, lookup.sharding)
        slices[lookup.table] = followed_slice(lookup, held)
    known = {tensor: captured.value for tensor, captured in slices.items()}
    made = copy_local(chosen, operands, local_maps(chosen), known)
    if lookup is not None:
        mask_reads(partitioner, lookup, made, known[lookup.table])
        chosen = replace(chosen, inherited_partials=(Partial(ReductionKind.SUM, lookup.axes),))
    reads = local_reads(made, slices)
    _shift_indices(chosen, made)
    for each in reads:
        each.apply(partitioner)
    partitioner.emitter.append(made)
    if combines_jointly(chosen):
        finish_jointly(chosen, made, operands[len(view.inputs) :])
        return
    for index in range(len(operation.results)):
        finish_result(chosen, index, made.results[index])
    for index, combiner in later.items():
        _add_initial_value(partitioner, operation, index, view.outputs[index], combiner)


def _choose(
    partitioner: Partitioner, operation: Operation
) -> tuple[OpSharding | None, TableLookup | None]:
    """Return the sharding of an operation, and the table that it looks up where it is held."""
    lookup = find_table_lookup(partitioner, operation)
    chosen = choose(partitioner, operation, None if lookup is None else lookup.sharding.grid)
    if chosen is None or lookup is None:
        return chosen, None
    lookup = lookup.along(chosen)
    is_kept = _sums_rows(chosen, lookup) and not _is_gathered(partitioner, lookup)
    return chosen, lookup if is_kept else None


def _added_later(chosen: OpSharding, outputs: Sequence[SSAValue]) -> dict[int, Combiner]:
    """Return the combiners of results whose initial values must take part only once.

    They are added after the reduction, which starts from neutral elements.
    """
    combiners = enumerate(chosen.combiners if chosen.reduced_axes else ())
    return {
        index: combiner
        for index, combiner in combiners
        if combiner is not None
        and counts_initial_value(combiner, chosen.partitioner, outputs[index])
    }


def _sums_rows(chosen: OpSharding, lookup: TableLookup) -> bool:
    """Return whether a table is looked up where it is held.

    This requires that no loop is split along the table's axes, and that it sends less than a
    gather.
    """
    if (
        not lookup.axes
        or chosen.grid != lookup.sharding.grid
        or chosen.reduced_axes
        or chosen.inherited_partials
    ):
        return False
    return chosen.used_axes.isdisjoint(lookup.axes) and is_cheaper_than_gather(
        lookup, chosen.operation.results[0], chosen.result_shardings[0]
    )


def _is_gathered(partitioner: Partitioner, lookup: TableLookup) -> bool:
    """Return whether an earlier operation reads the gathered table."""
    known = partitioner.is_known(lookup.held, lookup.gathered)
    return known and any(partitioner.demand(lookup.held, lookup.gathered).uses)


def _record_output_sizes(partitioner: Partitioner, operation: Operation, inputs: int) -> None:
    for result, output in zip(operation.results, operation.operands[inputs:], strict=False):
        tensor_type = ranked(result)
        if tensor_type is None or tensor_type.has_static_shape():
            continue
        for dimension in range(tensor_type.get_num_dims()):
            partitioner.same_size((result, dimension), (output, dimension))


def _input(chosen: OpSharding, index: int, value: SSAValue) -> SSAValue:
    """Return a local input, with elements of neighbours that its windows need."""
    if ranked(value) is None:
        return chosen.partitioner.scalar(value)
    windows = summed_loops_of(chosen, index)
    sharding = chosen.operand_shardings[index]
    if not windows:
        return chosen.partitioner.demand(value, sharding)
    return fetch_windows(chosen, value, sharding, windows)


def _neutral(chosen: OpSharding, index: int, value: SSAValue, combiner: Combiner) -> SSAValue:
    """Return a local destination filled with neutral elements."""
    tensor_type = tensor_type_of(value)
    sharding = chosen.result_shardings[index]
    found = local_type(tensor_type, sharding)
    emitter = chosen.emitter
    sizes: list[IndexOrInt] = list(found.get_shape())
    if not found.has_static_shape():
        sizes = [chosen.partitioner.local_extent(value, d, sharding) for d in range(len(sizes))]
    like = emitter.empty(found, sizes)
    return splat_like(emitter, like, combiner.neutral(tensor_type.element_type))


def _add_initial_value(
    partitioner: Partitioner,
    operation: Operation,
    index: int,
    init: SSAValue,
    combiner: Combiner,
) -> None:
    """Combine the finished result with the initial value, once."""
    result = operation.results[index]
    sharding = partitioner.sharding_of(result)
    finished = None if sharding is None else sharding.without_partials()
    value = partitioner.demand(result, finished)
    start = partitioner.demand(init, finished)
    partitioner.place(result, combine(partitioner.emitter, combiner, start, value), finished)


def _shift_indices(chosen: OpSharding, made: Operation) -> None:
    """Shift `linalg.index` by the start of this process's part of the loop."""
    for inner in tuple(walk(made)):
        held = attribute(inner, "dim")
        if inner.name != "linalg.index" or inner.parent_op() is not made:
            continue
        if isinstance(held, IntegerAttr):
            start = loop_start(chosen, held.value.data)
            shift_index(chosen.emitter, inner.results[0], start, InsertPoint.after(inner))

"""Partition structured linalg operations: split loops, and fetch windows from other processes."""

from __future__ import annotations

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
from .chosen_sharding import OpSharding
from .emit_reshard import shift_index
from .local_types import local_type, tensor_type_of
from .partitioner import Partitioner
from .reductions import (
    combine,
    combines_jointly,
    counts_initial_value,
    finish_jointly,
    finish_result,
    splat_like,
)
from .registry import ANY_STRUCTURED, partition
from .table_lookup import TableLookup, find_table_lookup, is_cheaper_than_gather, mask_reads
from .windows import fetch_windows, local_maps, loop_start, summed_loops_of


@partition(ANY_STRUCTURED)
def structured(partitioner: Partitioner, operation: Operation) -> None:
    """Partition a structured operation so that each process runs its part of the loops."""
    view = structured_view(operation)
    lookup = find_table_lookup(partitioner, operation)
    grid = None if lookup is None else lookup.sharding.grid
    op_sharding = None if view is None else choose(partitioner, operation, grid)
    if op_sharding is not None and lookup is not None:
        lookup = lookup.along(op_sharding)
    if (
        lookup is None
        or op_sharding is None
        or not _sums_rows(op_sharding, lookup)
        or _is_gathered(partitioner, lookup)
    ):
        lookup = None
    if view is None or op_sharding is None or not (op_sharding.is_split or lookup):
        run_replicated(partitioner, operation)
        return
    _record_output_sizes(partitioner, operation, len(view.inputs))
    operands: list[SSAValue] = []
    for index, value in enumerate(view.inputs):
        operands.append(_input(partitioner, op_sharding, index, value))
    later: dict[int, Combiner] = {}
    for index, value in enumerate(view.outputs):
        sharding = op_sharding.operand_shardings[len(view.inputs) + index]
        combiner = op_sharding.combiners[index] if op_sharding.reduced_axes else None
        if combiner is not None and counts_initial_value(combiner, partitioner, value):
            later[index] = combiner
            operands.append(_neutral(partitioner, value, op_sharding, index, combiner))
        else:
            operands.append(partitioner.demand(value, sharding))
    table = None if lookup is None else lookup.table
    slices = captured_slices(partitioner, op_sharding, except_for=table)
    if lookup is not None:
        held = partitioner.demand(lookup.held, lookup.sharding)
        slices[lookup.table] = followed_slice(lookup, held)
    known = {tensor: captured.value for tensor, captured in slices.items()}
    made = copy_local(partitioner, op_sharding, operands, local_maps(op_sharding), known)
    if lookup is not None:
        mask_reads(partitioner, lookup, made, known[lookup.table])
        op_sharding = replace(
            op_sharding, inherited_partials=(Partial(ReductionKind.SUM, lookup.axes),)
        )
    reads = local_reads(made, slices)
    _shift_indices(partitioner, op_sharding, made)
    for each in reads:
        each.apply(partitioner)
    partitioner.emitter.append(made)
    if combines_jointly(op_sharding):
        finish_jointly(partitioner, op_sharding, made, operands[len(view.inputs) :])
        return
    for index in range(len(operation.results)):
        finish_result(partitioner, op_sharding, index, made.results[index])
    for index, combiner in later.items():
        _add_initial_value(partitioner, operation, index, view.outputs[index], combiner)


def _sums_rows(op_sharding: OpSharding, lookup: TableLookup) -> bool:
    """Return whether a table is looked up where it is held.

    This requires that no loop is split along the table's axes, and that it sends less than a
    gather.
    """
    if (
        not lookup.axes
        or op_sharding.grid != lookup.sharding.grid
        or op_sharding.reduced_axes
        or op_sharding.inherited_partials
    ):
        return False
    return op_sharding.used_axes.isdisjoint(lookup.axes) and is_cheaper_than_gather(
        lookup, op_sharding.operation.results[0], op_sharding.result_shardings[0]
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


def _input(
    partitioner: Partitioner, op_sharding: OpSharding, index: int, value: SSAValue
) -> SSAValue:
    """Return a local input, with elements of neighbours that its windows need."""
    if ranked(value) is None:
        return partitioner.scalar(value)
    windows = summed_loops_of(op_sharding, index)
    sharding = op_sharding.operand_shardings[index]
    if not windows:
        return partitioner.demand(value, sharding)
    return fetch_windows(partitioner, op_sharding, value, sharding, windows)


def _neutral(
    partitioner: Partitioner,
    value: SSAValue,
    op_sharding: OpSharding,
    index: int,
    combiner: Combiner,
) -> SSAValue:
    """Return a local destination filled with neutral elements."""
    tensor_type = tensor_type_of(value)
    sharding = op_sharding.result_shardings[index]
    found = local_type(tensor_type, sharding)
    emitter = partitioner.emitter
    sizes: list[IndexOrInt] = list(found.get_shape())
    if not found.has_static_shape():
        sizes = [partitioner.local_extent(value, d, sharding) for d in range(len(sizes))]
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


def _shift_indices(partitioner: Partitioner, op_sharding: OpSharding, made: Operation) -> None:
    """Shift `linalg.index` by the start of this process's part of the loop."""
    for inner in tuple(walk(made)):
        held = attribute(inner, "dim")
        if inner.name != "linalg.index" or inner.parent_op() is not made:
            continue
        if isinstance(held, IntegerAttr):
            start = loop_start(partitioner, op_sharding, held.value.data)
            shift_index(partitioner.emitter, inner.results[0], start, InsertPoint.after(inner))

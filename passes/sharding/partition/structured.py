"""Partition structured linalg operations: split loops, and fetch windows from other processes."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ....dialects.linalg.structured_view import structured_view
from ....ir.attribute_access import attribute
from ....ir.index import IndexOrInt
from ....ir.regions import walk
from ....ir.tensor_types import ranked
from ....sharding.sharding import Partial, ReductionKind
from ..rules.combiners import Combiner
from .by_rule import choose, copy_local, run_whole
from .captured_slices import captured_parts, followed_part, local_reads
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
from .table_lookup import Lookup, find_lookup, mask_reads, pays
from .windows import fetch_windows, local_maps, loop_start, windows_of


@partition(ANY_STRUCTURED)
def structured(partitioner: Partitioner, operation: Operation) -> None:
    """Partition a structured operation so that each process runs its part of the loops."""
    view = structured_view(operation)
    lookup = find_lookup(partitioner, operation)
    grid = None if lookup is None else lookup.sharding.grid
    spread = None if view is None else choose(partitioner, operation, grid)
    if spread is not None and lookup is not None:
        lookup = lookup.along(spread)
    if spread is None or not _sums_rows(spread, lookup):
        lookup = None
    if view is None or spread is None or not (spread.is_split or lookup):
        run_whole(partitioner, operation)
        return
    _record_output_sizes(partitioner, operation, len(view.inputs))
    operands: list[SSAValue] = []
    for index, value in enumerate(view.inputs):
        operands.append(_input(partitioner, spread, index, value))
    later: dict[int, Combiner] = {}
    for index, value in enumerate(view.outputs):
        sharding = spread.operand_shardings[len(view.inputs) + index]
        combiner = spread.combiners[index] if spread.reduces else None
        if combiner is not None and counts_initial_value(combiner, partitioner, value):
            later[index] = combiner
            operands.append(_neutral(partitioner, value, spread, index, combiner))
        else:
            operands.append(partitioner.demand(value, sharding))
    parts = captured_parts(partitioner, spread, except_for=None if lookup is None else lookup.table)
    if lookup is not None:
        held = partitioner.demand(lookup.held, lookup.sharding)
        parts[lookup.table] = followed_part(lookup, held)
    known = {table: part.value for table, part in parts.items()}
    made = copy_local(partitioner, spread, operands, local_maps(spread), known)
    if lookup is not None:
        mask_reads(partitioner, lookup, made, known[lookup.table])
        spread = replace(spread, carried=(Partial(ReductionKind.SUM, lookup.axes),))
    reads = local_reads(made, parts)
    _shift_indices(partitioner, spread, made)
    for each in reads:
        each.apply(partitioner)
    partitioner.emitter.append(made)
    if combines_jointly(spread):
        finish_jointly(partitioner, spread, made, operands[len(view.inputs) :])
        return
    for index in range(len(operation.results)):
        finish_result(partitioner, spread, index, made.results[index])
    for index, combiner in later.items():
        _add_initial_value(partitioner, operation, index, view.outputs[index], combiner)


def _sums_rows(spread: OpSharding, lookup: Lookup | None) -> bool:
    """Return whether a table is looked up where it is held.

    This requires that no loop is split along the table's axes, and that it sends less than a
    gather.
    """
    if (
        lookup is None
        or not lookup.axes
        or spread.grid != lookup.sharding.grid
        or spread.reduces
        or spread.carried
    ):
        return False
    used = {axis for axes, _ in spread.assignment for axis in axes}
    return used.isdisjoint(lookup.axes) and pays(
        lookup, spread.operation.results[0], spread.result_shardings[0]
    )


def _record_output_sizes(partitioner: Partitioner, operation: Operation, inputs: int) -> None:
    for result, output in zip(operation.results, operation.operands[inputs:], strict=False):
        tensor_type = ranked(result)
        if tensor_type is None or tensor_type.has_static_shape():
            continue
        for dimension in range(tensor_type.get_num_dims()):
            partitioner.same_size((result, dimension), (output, dimension))


def _input(partitioner: Partitioner, spread: OpSharding, index: int, value: SSAValue) -> SSAValue:
    """Return a local input, with elements of neighbours that its windows need."""
    if ranked(value) is None:
        return partitioner.scalar(value)
    windows = windows_of(spread, index)
    sharding = spread.operand_shardings[index]
    if not windows:
        return partitioner.demand(value, sharding)
    return fetch_windows(partitioner, spread, value, sharding, windows)


def _neutral(
    partitioner: Partitioner,
    value: SSAValue,
    spread: OpSharding,
    index: int,
    combiner: Combiner,
) -> SSAValue:
    """Return a local destination filled with neutral elements."""
    tensor_type = tensor_type_of(value)
    sharding = spread.result_shardings[index]
    found = local_type(tensor_type, sharding)
    emitter = partitioner.emitter
    if found.has_static_shape():
        like = emitter.empty(found, list(found.get_shape()))
    else:
        sizes: list[IndexOrInt] = [
            partitioner.local_extent(value, d, sharding) for d in range(found.get_num_dims())
        ]
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


def _shift_indices(partitioner: Partitioner, spread: OpSharding, made: Operation) -> None:
    """Shift `linalg.index` by the start of this process's part of the loop."""
    for inner in tuple(walk(made)):
        held = attribute(inner, "dim")
        if inner.name != "linalg.index" or inner.parent_op() is not made:
            continue
        if isinstance(held, IntegerAttr):
            start = loop_start(partitioner, spread, held.value.data)
            shift_index(partitioner.emitter, inner.results[0], start, InsertPoint.after(inner))

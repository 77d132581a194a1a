"""Partition operations by their factor rule, or run them replicated.

The local operation is a copy on local operands. If a reduction is split, its results are partial
and are finished by a collective.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....ir.diagnostics import remark
from ....ir.regions import captured, copy_region
from ....ir.tensor_types import element_bytes, ranked
from ....sharding.factor_splits import TensorState
from ....sharding.factors import FactorKind
from ....sharding.grid import Grid
from ....sharding.op_sharding import (
    Preference,
    annotated_op_sharding,
    choose_op_sharding,
    tensor_sharding,
)
from ....sharding.sharding import Sharding
from ..annotations.access import MANUAL_ATTRIBUTE, drop_annotations
from ..rules.combiners import combiner_of
from ..rules.commuting_operations import inheritable_partials
from ..rules.registry import factor_rule
from ..rules.rule_cache import body_matters
from .local_types import local_type_of
from .partitioner import OpSharding, Partitioner, shape
from .reductions import finish_result
from .registry import ANY, partition
from .signatures import Shardings

Emit = Callable[[Partitioner, OpSharding, list[SSAValue]], Operation]
"""Emit the local operation, given local operands."""

LocalEmit = Callable[[OpSharding, list[SSAValue]], Operation]
"""The same, for handlers of this package: `OpSharding.partitioner` is the first argument."""


@partition(ANY)
def emit_by_rule(
    partitioner: Partitioner, operation: Operation, emit: LocalEmit | None = None
) -> None:
    """Run an operation on local operands as its rule says; without a rule it runs replicated.

    The local operation is a copy, or what `emit` returns. A copy has no access to other shards, so
    without `emit` an operation that is split along permutations or selections runs replicated.
    Raises OperationError if operands cannot be resharded as the rule needs them, or partial results
    cannot be combined.
    """
    chosen = choose(partitioner, operation)
    if chosen is None or not chosen.is_split or (emit is None and not _is_local(chosen)):
        if chosen is None and emit is None:
            _explain_replication(partitioner, operation)
        run_replicated(partitioner, operation)
        return
    operands = partitioner.values(operation.operands, chosen.operand_shardings)
    made = (emit or copy_local)(chosen, operands)
    _check_made(chosen, made)
    finish_local(chosen, made)


def partition_by_rule(
    partitioner: Partitioner, operation: Operation, emit: Emit | None = None
) -> None:
    """Do what `emit_by_rule` does, for handlers of other packages."""
    emit_by_rule(partitioner, operation, None if emit is None else partial(emit, partitioner))


def _explain_replication(partitioner: Partitioner, operation: Operation) -> None:
    """Emit a remark if operands are gathered because an operation has no rule."""
    is_gathered = any(
        partitioner.sharding_of(operand) is not None for operand in operation.operands
    )
    if is_gathered and factor_rule(operation) is None:
        remark(
            "sharding", operation, "has no factor rule: its operands are gathered on every device"
        )


def finish_local(chosen: OpSharding, made: Operation) -> None:
    """Append the local operation, and record its results."""
    chosen.emitter.append(made)
    record_sizes(chosen)
    for index, result in enumerate(chosen.operation.results):
        if ranked(result) is None:
            chosen.partitioner.set_scalar(result, made.results[index])
        else:
            finish_result(chosen, index, made.results[index])


def _check_made(chosen: OpSharding, made: object) -> None:
    """Check what `emit` returns. Raises TypeError if it is no operation with the local types."""
    if not isinstance(made, Operation):
        raise TypeError(f"emit returns a {type(made).__name__}, not an operation")
    found, expected = made.result_types, chosen.result_types
    if tuple(found) != tuple(expected):
        raise TypeError(
            f"emit returns an operation with results of {_listed(found)}, not of"
            f" {_listed(expected)}, as OpSharding.result_types has it"
        )


def _listed(types: Sequence[Attribute]) -> str:
    return f"({', '.join(map(str, types))})"


def emits_local_op(*names: str) -> Callable[[LocalEmit], LocalEmit]:
    """Register the decorated function as the `emit` of `emit_by_rule` for these operations."""

    def register(emit: LocalEmit) -> LocalEmit:
        partition(*names)(partial(emit_by_rule, emit=emit))
        return emit

    return register


def if_split(*names: str) -> Callable[[Callable[[OpSharding], None]], Callable[[OpSharding], None]]:
    """Register the decorated function for these operations; if not split, they run replicated."""

    def register(handle: Callable[[OpSharding], None]) -> Callable[[OpSharding], None]:
        @partition(*names)
        def handler(partitioner: Partitioner, operation: Operation) -> None:
            chosen = choose(partitioner, operation)
            if chosen is None or not chosen.is_split:
                run_replicated(partitioner, operation)
            else:
                handle(chosen)

        return handle

    return register


def _is_local(chosen: OpSharding) -> bool:
    """Return whether the shards of all split factors need no elements of other shards."""
    return not any(
        axes and factor.kind in (FactorKind.PERMUTATION, FactorKind.SELECTION)
        for factor, axes in zip(chosen.rule.factors, chosen.factor_axes, strict=True)
    )


def choose(
    partitioner: Partitioner, operation: Operation, grid: Grid | None = None
) -> OpSharding | None:
    """Return the sharding of an operation; `None` if it has no rule, or no tensor with a sharding.

    If the annotations of all its tensors agree, they determine the sharding; otherwise it is chosen
    by cost as in propagation. `grid` is the grid to use if neither operands nor wanted results have
    a sharding. Decisions are cached for equal operations with equal shardings.
    """
    wanted = [partitioner.annotations.wanted(result) for result in operation.results]
    held = [partitioner.sharding_of(operand) for operand in operation.operands]
    grid = next((sharding.grid for sharding in (*wanted, *held) if sharding is not None), grid)
    if grid is None:
        return None
    rematerializable = [
        partitioner.rematerializable_of(operand) is not None for operand in operation.operands
    ]
    key = (partitioner.key(operation), grid, *wanted, None, *held, None, *rematerializable)
    decisions = partitioner.decisions
    if key not in decisions:
        decisions[key] = _decide(partitioner, operation, grid, wanted, held, rematerializable)
    found = decisions[key]
    return None if found is None else replace(found, operation=operation)


def _decide(
    partitioner: Partitioner,
    operation: Operation,
    grid: Grid,
    wanted: Shardings,
    held: Shardings,
    rematerializable: Sequence[bool],
) -> OpSharding | None:
    rule = factor_rule(operation)
    if rule is None or not rule.factors:
        return None
    reduces = any(factor.kind is FactorKind.REDUCTION for factor in rule.factors)
    partials, partial_operands = ((), ()) if reduces else inheritable_partials(operation, held)
    operands = [
        TensorState(None) if is_made_here else _tensor_state(value, sharding, grid)
        for value, sharding, is_made_here in zip(
            operation.operands, held, rematerializable, strict=True
        )
    ]
    results = [
        TensorState(None, width=element_bytes(value))
        if sharding is None
        else _tensor_state(value, sharding, grid)
        for value, sharding in zip(operation.results, wanted, strict=True)
    ]
    reserved = frozenset(axis for partial in partials for axis in partial.axes)
    chosen = annotated_op_sharding(rule, operands, results, grid, reserved) or choose_op_sharding(
        rule, operands, results, grid, Preference(weigh_work=True), reserved
    )
    assignment = chosen.assignment
    result_shardings = tuple(tensor_sharding(grid, factors, assignment) for factors in rule.results)
    return OpSharding(
        partitioner,
        operation,
        grid,
        rule,
        assignment,
        operand_shardings=tuple(
            replace(
                tensor_sharding(grid, factors, assignment),
                partials=partials if index in partial_operands else (),
            )
            for index, factors in enumerate(rule.operands)
        ),
        result_shardings=result_shardings,
        result_types=tuple(
            local_type_of(result.type, sharding)
            for result, sharding in zip(operation.results, result_shardings, strict=True)
        ),
        combiners=tuple(
            combiner_of(operation, index) if reduces and ranked(result) is not None else None
            for index, result in enumerate(operation.results)
        ),
        inherited_partials=partials,
    )


def _tensor_state(value: SSAValue, sharding: Sharding | None, grid: Grid) -> TensorState:
    """Return a tensor as input of the choice; tensors on other grids count as replicated."""
    if (value_type := ranked(value)) is None:
        return TensorState(None)
    if sharding is None or sharding.grid != grid:
        sharding = Sharding.replicated(grid, value_type.get_num_dims())
    width = element_bytes(value)
    return TensorState(sharding.dimension_axes, width=width, offsets=sharding.offsets)


def copy_local(
    chosen: OpSharding,
    operands: list[SSAValue],
    properties: Mapping[str, Attribute] | None = None,
    known: Mapping[SSAValue, SSAValue] | None = None,
) -> Operation:
    """Return a copy of an operation on local operands, with local result types."""
    types = chosen.result_types
    return copy_with(chosen.partitioner, chosen.operation, operands, types, properties, known)


def append_copy(
    chosen: OpSharding,
    operands: list[SSAValue],
    properties: Mapping[str, Attribute] | None = None,
) -> SSAValue:
    """Append a local copy of an operation, and return its only result."""
    return chosen.emitter.append(copy_local(chosen, operands, properties)).results[0]


def copy_with(
    partitioner: Partitioner,
    operation: Operation,
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute],
    properties: Mapping[str, Attribute] | None = None,
    known: Mapping[SSAValue, SSAValue] | None = None,
) -> Operation:
    """Return a copy of an operation and its regions, with operands and types replaced.

    Values from outside that regions read are replaced by their local values. Tensors among them are
    replicated, except for those in `known`.
    """
    mapper: dict[SSAValue, SSAValue] = {}
    blocks: dict[Block, Block] = {}
    regions: list[Region] = []
    has_own_body = body_matters(operation)
    for region in operation.regions:
        if has_own_body:
            for value in captured(region):
                given = (known or {}).get(value)
                mapper[value] = partitioner.value(value) if given is None else given
        regions.append(copy_region(region, mapper, blocks))
    made = type(operation).create(
        operands=operands,
        result_types=result_types,
        properties=operation.properties if properties is None else properties,
        attributes=operation.attributes,
        location=operation.location,
        successors=[partitioner.blocks[block] for block in operation.successors],
        regions=regions,
    )
    made.attributes.pop(MANUAL_ATTRIBUTE, None)
    for old, new in zip(operation.results, made.results, strict=True):
        new.name_hint = old.name_hint
    if has_own_body:
        # Annotations have no meaning inside a region that runs replicated.
        for region in regions:
            drop_annotations(region)
    return made


def run_replicated(partitioner: Partitioner, operation: Operation) -> None:
    """Run an operation replicated, on whole operands.

    Raises OperationError if an operand cannot be gathered.
    """
    operands = [partitioner.value(operand) for operand in operation.operands]
    types = [result.type for result in operation.results]
    made = copy_with(partitioner, operation, operands, types)
    append(partitioner, operation, made, [None] * len(types))


def append(
    partitioner: Partitioner,
    operation: Operation,
    made: Operation,
    shardings: Shardings,
) -> None:
    """Append the local form of an operation, and record its results in these shardings."""
    partitioner.emitter.append(made)
    for old, new, sharding in zip(operation.results, made.results, shardings, strict=True):
        partitioner.set_value(old, new, sharding)


def record_sizes(chosen: OpSharding) -> None:
    """Record which dynamic dimensions of results have the size of a dimension of an operand."""
    operation, rule = chosen.operation, chosen.rule
    known: dict[int, tuple[SSAValue, int]] = {}
    for operand, tensor in zip(operation.operands, rule.operands, strict=True):
        for dimension, (size, factors) in enumerate(zip(shape(operand), tensor, strict=True)):
            if size is not None or len(factors) != 1:
                continue
            if rule.factors[factors[0]].kind is not FactorKind.PERMUTATION:
                known.setdefault(factors[0], (operand, dimension))
    for result, tensor in zip(operation.results, rule.results, strict=True):
        for dimension, (size, factors) in enumerate(zip(shape(result), tensor, strict=True)):
            if size is None and len(factors) == 1 and factors[0] in known:
                chosen.partitioner.same_size((result, dimension), known[factors[0]])

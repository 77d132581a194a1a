"""Partition operations by their factor rule, or run them replicated.

The local operation is a copy on local operands. If a reduction is split, its results are partial
and are finished by a collective.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....dialects.linalg.structured_view import STRUCTURED_OPERATIONS
from ....ir.diagnostics import remark
from ....ir.regions import captured
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
from ..annotations.access import drop_annotations
from ..rules.combiners import combiner_of
from ..rules.registry import factor_rule
from ..rules.rule_cache import OWN_BODIES
from .chosen_sharding import OpSharding
from .local_types import local_type
from .partitioner import Partitioner, shape
from .reductions import carried_partials, finish_result
from .registry import ANY, partition

Emit = Callable[[Partitioner, OpSharding, list[SSAValue]], Operation]
"""Emit the local operation, given local operands."""


@partition(ANY)
def by_rule(partitioner: Partitioner, operation: Operation) -> None:
    """Partition an operation by its rule; without one it runs replicated."""
    if factor_rule(operation) is None and any(
        ranked(operand) is not None and partitioner.sharding_of(operand) is not None
        for operand in operation.operands
    ):
        remark(
            "sharding", operation, "has no factor rule: its operands are gathered on every device"
        )
    spread_by_rule(partitioner, operation)


def spread_by_rule(
    partitioner: Partitioner,
    operation: Operation,
    emit: Emit | None = None,
) -> None:
    """Run an operation on local operands as its rule says.

    The local operation is a copy, or what `emit` returns. A copy has no access to other shards, so
    without `emit` an operation that is split along permutations or selections runs replicated.
    Raises OperationError if operands cannot be resharded as the rule needs them, or partial results
    cannot be combined.
    """
    spread = choose(partitioner, operation)
    if spread is None or not spread.is_split or (emit is None and not _is_copied(spread)):
        run_whole(partitioner, operation)
        return
    operands = partitioner.values(operation.operands, spread.operand_shardings)
    made = (emit or copy_local)(partitioner, spread, operands)
    partitioner.emitter.append(made)
    record_sizes(partitioner, spread)
    for index, result in enumerate(operation.results):
        if ranked(result) is None:
            partitioner.set_scalar(result, made.results[index])
        else:
            finish_result(partitioner, spread, index, made.results[index])


def local_part(*names: str) -> Callable[[Emit], Emit]:
    """Register the decorated function as the `emit` of `spread_by_rule` for these operations."""

    def register(emit: Emit) -> Emit:
        partition(*names)(partial(spread_by_rule, emit=emit))
        return emit

    return register


def _is_copied(spread: OpSharding) -> bool:
    """Return whether the shards of all split factors need no elements of other shards."""
    return not any(
        axes and factor.kind in (FactorKind.PERMUTATION, FactorKind.SELECTION)
        for factor, (axes, _) in zip(spread.rule.factors, spread.assignment, strict=True)
    )


def choose(
    partitioner: Partitioner, operation: Operation, grid: Grid | None = None
) -> OpSharding | None:
    """Return the sharding of an operation; `None` if it has no rule, or no tensor with a sharding.

    If the annotations of all its tensors agree, they determine the sharding; otherwise it is chosen
    by cost as in propagation. `grid` is the grid to use if neither operands nor wanted results have
    a sharding. Decisions are cached for equal operations with equal shardings.
    """
    wanted = [
        None if ranked(result) is None else partitioner.annotations.wanted(result)
        for result in operation.results
    ]
    held = [
        None if ranked(operand) is None else partitioner.sharding_of(operand)
        for operand in operation.operands
    ]
    grid = next((sharding.grid for sharding in (*wanted, *held) if sharding is not None), grid)
    if grid is None:
        return None
    free = [
        ranked(operand) is not None and partitioner.creation_of(operand) is not None
        for operand in operation.operands
    ]
    key = (partitioner.key(operation), grid, *wanted, None, *held, None, *free)
    decisions = partitioner.decisions
    if key not in decisions:
        decisions[key] = _decide(operation, grid, wanted, held, free)
    found = decisions[key]
    return None if found is None else replace(found, operation=operation)


def _decide(
    operation: Operation,
    grid: Grid,
    wanted: Sequence[Sharding | None],
    held: Sequence[Sharding | None],
    free: Sequence[bool],
) -> OpSharding | None:
    rule = factor_rule(operation)
    if rule is None or not rule.factors:
        return None
    reduces = any(factor.kind is FactorKind.REDUCTION for factor in rule.factors)
    carried, carriers = ((), ()) if reduces else carried_partials(operation, held)
    operands = [
        TensorState(None) if is_free else _planned(value, sharding, grid)
        for value, sharding, is_free in zip(operation.operands, held, free, strict=True)
    ]
    results = [
        TensorState(None, width=element_bytes(value))
        if sharding is None
        else _planned(value, sharding, grid)
        for value, sharding in zip(operation.results, wanted, strict=True)
    ]
    waiting = frozenset(axis for partial in carried for axis in partial.axes)
    chosen = annotated_op_sharding(rule, operands, results, grid, waiting) or choose_op_sharding(
        rule, operands, results, grid, Preference(weigh_work=True), waiting
    )
    assignment = chosen.assignment
    placed = tuple(tensor_sharding(grid, factors, assignment) for factors in rule.results)
    return OpSharding(
        operation,
        grid,
        rule,
        assignment,
        operand_shardings=tuple(
            replace(
                tensor_sharding(grid, factors, assignment),
                partials=carried if index in carriers else (),
            )
            for index, factors in enumerate(rule.operands)
        ),
        result_shardings=placed,
        result_types=tuple(
            result.type
            if (value_type := ranked(result)) is None
            else local_type(value_type, sharding)
            for result, sharding in zip(operation.results, placed, strict=True)
        ),
        combiners=tuple(
            combiner_of(operation, index) if reduces and ranked(result) is not None else None
            for index, result in enumerate(operation.results)
        ),
        is_split=bool(carried) or any(axes for axes, _ in assignment),
        reduces=bool(chosen.reduced),
        carried=carried,
    )


def _planned(value: SSAValue, sharding: Sharding | None, grid: Grid) -> TensorState:
    """Return a tensor as input of the choice; tensors on other grids count as replicated."""
    if (value_type := ranked(value)) is None:
        return TensorState(None)
    if sharding is None or sharding.grid != grid:
        sharding = Sharding.replicated(grid, value_type.get_num_dims())
    width = element_bytes(value)
    return TensorState(sharding.dimension_axes, width=width, offsets=sharding.offsets)


def copy_local(
    partitioner: Partitioner,
    spread: OpSharding,
    operands: list[SSAValue],
    properties: Mapping[str, Attribute] | None = None,
    known: Mapping[SSAValue, SSAValue] | None = None,
) -> Operation:
    """Return a copy of an operation on local operands, with local result types."""
    return copy_with(
        partitioner, spread.operation, operands, spread.result_types, properties, known
    )


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
    synthesised = operation.name in STRUCTURED_OPERATIONS and operation.name not in OWN_BODIES
    for region in operation.regions:
        if not synthesised:
            for value in captured(region):
                given = None if known is None else known.get(value)
                mapper[value] = partitioner.value(value) if given is None else given
        copy = Region()
        region.clone_into(copy, None, mapper, blocks)
        regions.append(copy)
    made = type(operation).create(
        operands=operands,
        result_types=result_types,
        properties=operation.properties if properties is None else properties,
        attributes=operation.attributes,
        location=operation.location,
        successors=[partitioner.blocks[block] for block in operation.successors],
        regions=regions,
    )
    for old, new in zip(operation.results, made.results, strict=True):
        new.name_hint = old.name_hint
    if not synthesised:
        # Annotations have no meaning inside a region that runs replicated.
        for region in regions:
            drop_annotations(region)
    return made


def run_whole(partitioner: Partitioner, operation: Operation) -> None:
    """Run an operation replicated, on whole operands.

    Raises OperationError if an operand cannot be gathered.
    """
    operands = [partitioner.value(operand) for operand in operation.operands]
    types = [result.type for result in operation.results]
    made = copy_with(partitioner, operation, operands, types)
    partitioner.emitter.append(made)
    for old, new in zip(operation.results, made.results, strict=True):
        partitioner.set_value(old, new, None)


def record_sizes(partitioner: Partitioner, spread: OpSharding) -> None:
    """Record which dynamic dimensions of results have the size of a dimension of an operand."""
    operation, rule = spread.operation, spread.rule
    known: dict[int, tuple[SSAValue, int]] = {}
    for operand, factors in zip(operation.operands, rule.operands, strict=True):
        for dimension, (size, names) in enumerate(zip(shape(operand), factors, strict=True)):
            if size is None and len(names) == 1:
                windowed = rule.factors[names[0]].kind is FactorKind.PERMUTATION
                if not windowed:
                    known.setdefault(names[0], (operand, dimension))
    for result, factors in zip(operation.results, rule.results, strict=True):
        for dimension, (size, names) in enumerate(zip(shape(result), factors, strict=True)):
            if size is None and len(names) == 1 and names[0] in known:
                partitioner.same_size((result, dimension), known[names[0]])

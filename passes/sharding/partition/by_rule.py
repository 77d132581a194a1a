"""Operations that are spread by their factor rule, and those that run whole on each process.

An operation runs on one device as a copy of itself on local operands. Where a reduction is
split, its results are partial and are finished by a collective.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from xdsl.dialects.builtin import FixedBitwidthType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....dialects.linalg.structured_view import STRUCTURED_OPERATIONS
from ....ir.diagnostics import remark
from ....ir.tensor_types import ranked, shape_of
from ....sharding.factor_placement import Participant, Restriction, Spread, placement
from ....sharding.factors import Factor, FactorKind, FactorRule
from ....sharding.grid import Grid
from ....sharding.reshard_moves import Split
from ....sharding.sharding import Partial, ReductionKind, Sharding
from ..annotations.access import SHARD, SHARDING
from ..rules.combiners import Combiner, combiner_of, declared_combiner
from ..rules.registry import factor_rule
from ..rules.rule_cache import OWN_BODIES, operation_key
from ..simplify.linear import carried_partials
from .local_types import local_type
from .op_sharding import OpSharding
from .partitioner import Partitioner, shape
from .reductions import finish_result, with_kinds
from .registry import ANY, partition

UNKNOWN_ELEMENT_BYTES = 8


Emit = Callable[[Partitioner, OpSharding, list[SSAValue]], Operation]
"""Emits the local operation from local operands."""


@partition(ANY)
def by_rule(partitioner: Partitioner, operation: Operation) -> None:
    """Spread an operation by its rule; without one it runs whole."""
    if factor_rule(operation) is None and any(
        ranked(operand) is not None and partitioner.sharding_of(operand) is not None
        for operand in operation.operands
    ):
        remark(
            "sharding", operation, "has no factor rule: its operands are gathered on every device"
        )
    spread_by_rule(partitioner, operation, can_split)


@dataclass(frozen=True, slots=True)
class ShardSplit:
    """What is known of the shards into which a factor would be split."""

    even: bool
    """They are of one size."""
    filled: bool
    """None is empty."""
    backward: bool
    """Something is read backward along the factor."""


Allowed = Callable[[Factor, ShardSplit], bool]
"""Whether an operation can be split along a factor like this."""


def can_split(factor: Factor, cut: ShardSplit) -> bool:
    """What a copy of an operation can be split along: all that needs no neighbours.

    The reduction of nothing has no value, and averages of unequal shards do not count alike.
    """
    if factor.kind is FactorKind.REDUCTION:
        return cut.filled and (cut.even or ReductionKind.AVERAGE not in factor.reductions)
    return factor.kind is FactorKind.PASS_THROUGH


def can_split_evenly(factor: Factor, cut: ShardSplit) -> bool:
    """What can be split into shards of one size only."""
    return cut.even and can_split(factor, cut)


def spread_by_rule(
    partitioner: Partitioner,
    operation: Operation,
    allowed: Allowed,
    emit: Emit | None = None,
) -> None:
    """Spread an operation along the factors that are allowed, each with whether it is even."""
    spread = choose(partitioner, operation, allowed)
    if spread is None or not spread.is_split:
        run_whole(partitioner, operation)
        return
    operands = [
        partitioner.value(operand, spread.operand_shardings[index])
        for index, operand in enumerate(operation.operands)
    ]
    made = (emit or copy_local)(partitioner, spread, operands)
    partitioner.emitter.add(made)
    record_sizes(partitioner, spread)
    for index, result in enumerate(operation.results):
        if ranked(result) is None:
            partitioner.set_scalar(result, made.results[index])
        else:
            finish_result(partitioner, spread, index, made.results[index])


def choose(
    partitioner: Partitioner, operation: Operation, allowed: Allowed, grid: Grid | None = None
) -> OpSharding | None:
    """Decide how an operation is spread; `None` if it has no rule or nothing to be spread by.

    `grid` is where it runs if neither its operands nor those that want its results say so.
    Operations that look alike, with operands placed alike, are spread alike.
    """
    wanted = [
        None if ranked(result) is None else partitioner.wanted(result)
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
    key = (operation_key(operation), grid, *wanted, None, *held, None, *free)
    decisions = partitioner.decisions
    if key not in decisions:
        decisions[key] = _decide(operation, grid, wanted, held, free, allowed)
    found = decisions[key]
    return None if found is None else replace(found, operation=operation)


def _decide(
    operation: Operation,
    grid: Grid,
    wanted: Sequence[Sharding | None],
    held: Sequence[Sharding | None],
    free: Sequence[bool],
    allowed: Allowed,
) -> OpSharding | None:
    rule = factor_rule(operation)
    if rule is None or not rule.factors:
        return None
    carried, carriers = carried_partials(operation, held)
    if any(factor.kind is FactorKind.REDUCTION for factor in rule.factors):
        carried, carriers = (), ()
    waiting = {axis for partial in carried for axis in partial.axes}
    combiners: tuple[Combiner | None, ...] = (None,) * len(operation.results)
    if any(factor.kind is FactorKind.REDUCTION for factor in rule.factors):
        combiners = tuple(
            None
            if ranked(result) is None
            else combiner_of(operation, index) or declared_combiner(rule, operation, index)
            for index, result in enumerate(operation.results)
        )
        rule = with_kinds(operation, rule, combiners)
    results = [
        _participant(result, factors, sharding if not carried else _finished(sharding))
        for result, factors, sharding in zip(operation.results, rule.results, wanted, strict=True)
    ]
    operands = [
        _participant(
            operand,
            factors,
            _finished(sharding) if index in carriers else sharding,
            is_free,
        )
        for index, (operand, factors, sharding, is_free) in enumerate(
            zip(operation.operands, rule.operands, held, free, strict=True)
        )
    ]
    restriction = _restriction(grid, rule, allowed, waiting)
    assignment = Spread(grid, rule, operands, results, restriction).choose()
    placed = tuple(placement(grid, factors, assignment) for factors in rule.results)
    return OpSharding(
        operation,
        grid,
        rule,
        assignment,
        operand_shardings=tuple(
            _awaiting(placement(grid, factors, assignment), carried if index in carriers else ())
            for index, factors in enumerate(rule.operands)
        ),
        result_shardings=placed,
        result_types=tuple(
            result.type
            if (value_type := ranked(result)) is None
            else local_type(value_type, sharding)
            for result, sharding in zip(operation.results, placed, strict=True)
        ),
        combiners=combiners,
        is_split=bool(carried) or any(axes for axes, _ in assignment),
        reduces=any(
            axes and factor.kind is FactorKind.REDUCTION
            for factor, (axes, _) in zip(rule.factors, assignment, strict=True)
        ),
        carried=carried,
    )


def _finished(sharding: Sharding | None) -> Sharding | None:
    return None if sharding is None else sharding.without_partials()


def _awaiting(sharding: Sharding, partials: tuple[Partial, ...]) -> Sharding:
    """The sharding with reductions pending."""
    return replace(sharding, partials=partials) if partials else sharding


def _restriction(grid: Grid, rule: FactorRule, allowed: Allowed, waiting: set[int]) -> Restriction:
    backward = {
        factor
        for window in rule.windows
        if window.stride < 0
        for factor in rule.operands[window.operand][window.dimension]
    }

    def restriction(factor: int, split: Split) -> bool:
        row = rule.factors[factor]
        axes, limits = split
        if not waiting.isdisjoint(axes):
            return False
        parts = grid.size(axes)
        if limits is not None:
            even, filled = False, all(start < end for start, end in pairwise(limits))
        elif row.size is None or not parts:
            even = filled = False
        else:
            even, filled = row.size % parts == 0, row.size >= parts
        return allowed(row, ShardSplit(even, filled, factor in backward))

    return restriction


def _participant(
    value: SSAValue,
    factors: Sequence[tuple[int, ...]],
    sharding: Sharding | None,
    free: bool = False,
) -> Participant | None:
    value_type = ranked(value)
    if value_type is None:
        return None
    element = value_type.element_type
    size = element.size if isinstance(element, FixedBitwidthType) else UNKNOWN_ELEMENT_BYTES
    return Participant(tuple(factors), shape_of(value_type), size, sharding, free)


def copy_local(
    partitioner: Partitioner,
    spread: OpSharding,
    operands: list[SSAValue],
    properties: Mapping[str, Attribute] | None = None,
    known: Mapping[SSAValue, SSAValue] | None = None,
) -> Operation:
    """A copy of an operation on local operands, with local result types."""
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
    """A copy of an operation and its regions, with values from outside as they are here.

    Tensors that the regions read are whole on each process, but for those that are `known`.
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
        _forget_annotations(regions)
    return made


def captured(region: Region) -> list[SSAValue]:
    """The values from outside that a region reads, each once."""
    found: dict[SSAValue, None] = {}
    for operation in region.walk():
        for operand in operation.operands:
            owner = operand.owner
            block = owner if isinstance(owner, Block) else owner.parent_block()
            if block is not None and not _is_inside(block, region):
                found[operand] = None
    return list(found)


def _is_inside(block: Block, region: Region) -> bool:
    at: Block | None = block
    while at is not None:
        if at.parent is region:
            return True
        parent = at.parent_op()
        at = None if parent is None else parent.parent_block()
    return False


def _forget_annotations(regions: Sequence[Region]) -> None:
    """Annotations in a region that runs whole say nothing."""
    for region in regions:
        for operation in list(region.walk()):
            if operation.name == SHARD:
                operation.results[0].replace_all_uses_with(operation.operands[0])
                operation.detach()
                operation.erase()
        for operation in list(region.walk()):
            if operation.name == SHARDING and not operation.results[0].first_use:
                operation.detach()
                operation.erase()


def run_whole(partitioner: Partitioner, operation: Operation) -> None:
    """Run an operation on each process with whole operands."""
    operands = [partitioner.value(operand) for operand in operation.operands]
    types = [result.type for result in operation.results]
    made = copy_with(partitioner, operation, operands, types)
    partitioner.emitter.add(made)
    for old, new in zip(operation.results, made.results, strict=True):
        partitioner.set_value(old, new, None)


def record_sizes(partitioner: Partitioner, spread: OpSharding) -> None:
    """Note which dynamic dimensions of results are as large as one of an operand."""
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

"""Make kernels write their results directly to where these are copied.

    %1 = stream.async.dispatch @ex::@f(...) : (...) -> !stream.resource<*>{%length}
    %2 = stream.async.update %1, %0[%a to %b] : ... -> %0 as !stream.resource<*>{%size}

becomes one dispatch that takes `%0[%a to %b for %length]` as its last operand and returns `%2`, if
`%1` has no other use. The computation of the range moves in front of the dispatch. The results of
kernels follow the operands, in order, so a result is emplaced only if all results in front of it
are emplaced or tied to operands already.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free

from ...dialects.stream.affinity import affinity_of
from ...dialects.stream.async_ops import AsyncDispatchOp
from ...ir.attribute_access import block_of
from ...ir.host_programs import host_operations_of
from ...ir.locations import replace_by
from ...ir.regions import operations_between, values_read
from ...ir.syntax.assembly_format import values
from ...ir.syntax.resource_directives import UNTIED, tied_operands, ties_of
from ..manager.module_pass import module_pass

UPDATE = "stream.async.update"
MOVABLE = frozenset(
    f"stream.async.{name}"
    for name in ("alloca", "clone", "constant", "copy", "dispatch", "fill", "slice", "splat")
) | {UPDATE}
REBUILT = frozenset({"operandSegmentSizes", "tied_operands"})
"""Properties of a dispatch that change with its operands."""


@module_pass("iree-stream-emplace-allocations")
def emplace_allocations(module: ModuleOp) -> None:
    """Make kernels write their results directly to where these are copied."""
    for operation in host_operations_of(module, AsyncDispatchOp):
        _emplace(operation)


def _emplace(dispatch: AsyncDispatchOp) -> None:
    """Emplace the results of a dispatch, up to the first that is not just copied to one range."""
    updates: dict[int, Operation] = {}
    for index, tie in enumerate(ties_of(dispatch, len(dispatch.results))):
        if tie != UNTIED:
            continue
        update = _only_update(dispatch.results[index])
        if update is None or not _bring_forward(dispatch, update):
            break
        updates[index] = update
    if not updates:
        return
    emplaced = _with_target_ranges(dispatch, updates)
    replace_by(dispatch, emplaced)
    for index, update in updates.items():
        update.results[0].replace_all_uses_with(emplaced.results[index])
        Rewriter.erase_op(update)


def _only_update(result: OpResult) -> Operation | None:
    """Return the update that is the only use of a result and runs on the dispatch's device."""
    uses = list(result.uses)
    update = uses[0].operation if len(uses) == 1 else None
    if update is None or update.name != UPDATE or update.parent is not result.op.parent:
        return None
    same_type = update.results[0].type == result.type
    is_update = values(update, "update")[0] is result
    is_beside = affinity_of(update) == affinity_of(result.op)
    return update if is_update and same_type and is_beside else None


def _target_range(update: Operation) -> tuple[SSAValue, ...]:
    """Return the target of an update, its size, and the offset, end and length of the range."""
    names = ("target", "target_size", "target_offset", "target_end", "update_size")
    return tuple(values(update, name)[0] for name in names)


def _bring_forward(dispatch: Operation, update: Operation) -> bool:
    """Move the computation of an update's range in front of a dispatch, if possible."""
    between = list(operations_between(dispatch, update))
    left = set(between)
    moved: set[Operation] = set()
    pending = list(_target_range(update))
    while pending:
        owner = pending.pop().owner
        if owner is dispatch:
            return False
        if not isinstance(owner, Operation) or owner not in left:
            continue
        if not (owner.name in MOVABLE or is_side_effect_free(owner)):
            return False
        left.remove(owner)
        moved.add(owner)
        pending += values_read(owner)
    for operation in between:
        if operation in moved:
            operation.detach()
            block_of(dispatch).insert_op_before(operation, dispatch)
    return True


def _with_target_ranges(
    dispatch: AsyncDispatchOp, updates: dict[int, Operation]
) -> AsyncDispatchOp:
    """Return a dispatch that writes some results to the ranges of updates."""
    ranges = {index: _target_range(update) for index, update in updates.items()}
    columns = list(zip(*ranges.values(), strict=True))
    ties = list(ties_of(dispatch, len(dispatch.results)))
    for number, index in enumerate(ranges):
        ties[index] = len(dispatch.resource_operands) + number
    untouched: Iterable[tuple[int, SSAValue]] = enumerate(dispatch.result_sizes)
    sizes = [ranges[index][1] if index in ranges else size for index, size in untouched]
    return AsyncDispatchOp.build(
        operands=[
            dispatch.workload,
            [*dispatch.resource_operands, *columns[0]],
            [*dispatch.resource_operand_sizes, *columns[1]],
            [*dispatch.resource_operand_offsets, *columns[2]],
            [*dispatch.resource_operand_ends, *columns[3]],
            [*dispatch.resource_operand_lengths, *columns[4]],
            sizes,
        ],
        result_types=[dispatch.result_types],
        properties={
            **{name: value for name, value in dispatch.properties.items() if name not in REBUILT},
            "tied_operands": tied_operands(ties),
        },
        attributes=dict(dispatch.attributes),
    )

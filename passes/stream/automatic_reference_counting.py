"""Deallocate resources after their last use, if all uses are in one block or in branches and loops.

    %r, %t = stream.resource.alloca uninitialized on(A) : !stream.resource<transient>{%n} => ...
    %u = stream.cmd.execute on(A) await(%t) => with(%r as %a: ...) { ... }
    %v = stream.cmd.execute on(B) await(%u) => with(%r as %b: ...) { ... }

is followed by

    %w = stream.resource.dealloca on(A) await(%v) => %r : ...

What waits for `%v` waits for `%w` from then on, so that memory is free when a program is over.
Branches and loops in the block are waited for by the timepoints that they return. Resources that
are returned, exported, stored or carried by control flow are not deallocated, since there is no
reference count at run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...dialects.stream.regions import joined
from ...dialects.stream.resources import ResourceAllocaOp, ResourceDeallocaOp
from ...dialects.stream.types import TIMEPOINT
from ...ir.host_programs import host_operations, host_operations_of
from ...ir.locations import located_builder
from ...ir.value_flow import loop_inputs
from ..manager.module_pass import module_pass
from .analysis.storage import VIEW_LIKE, views_of
from .analysis.timepoint_cover import TimepointCover
from .conversion.stored_tensors import PlacedBuilder

HOST_ACCESSES = frozenset({"stream.resource.load", "stream.resource.size", "stream.resource.store"})
"""Operations by which the host accesses a resource."""

EXECUTE, AWAIT = "stream.cmd.execute", "stream.timepoint.await"

FOLLOWED = HOST_ACCESSES | VIEW_LIKE | {EXECUTE}

STRUCTURED = frozenset({"scf.for", "scf.if", "scf.index_switch"})
"""Choices and loops in which uses are followed."""


@module_pass("iree-stream-automatic-reference-counting")
def automatic_reference_counting(module: ModuleOp) -> None:
    """Deallocate resources after their last use."""
    cover = TimepointCover(module)
    order = {operation: number for number, operation in enumerate(host_operations(module))}
    for operation in host_operations_of(module, ResourceAllocaOp):
        users = _users(operation, cover)
        if users is not None:
            in_order = {user: users[user] for user in sorted(users, key=order.__getitem__)}
            _deallocate(operation, in_order, cover)


def _users(
    alloca: ResourceAllocaOp, cover: TimepointCover
) -> dict[Operation, list[SSAValue]] | None:
    """Return what uses a resource in its block, each with the timepoints at which that is over.

    Return `None` if the resource is deallocated already, or a use cannot be followed.
    """
    views: list[SSAValue] = [alloca.result]
    users: dict[Operation, list[SSAValue]] = {}
    for view in views:
        for use in view.uses:
            user = use.operation
            found = _use_in(alloca.parent, user, cover) if user.name in FOLLOWED else None
            if found is None:
                return None
            user, timepoints = found
            users.setdefault(user, []).extend(timepoints)
        views += views_of(view)
    return users


def _use_in(
    block: Block | None, user: Operation, cover: TimepointCover
) -> tuple[Operation, Sequence[SSAValue]] | None:
    """Return the operation of a block that contains a user, and the timepoints of its results.

    At these timepoints the use is over. Return `None` if none of the results tells.
    """
    timepoints = list(user.results[-1:]) if user.name == EXECUTE else []
    while user.parent is not block:
        outer = user.parent_op()
        if outer is None or outer.name not in STRUCTURED:
            return None
        waiting = [each for each in timepoints if not _is_awaited(each, user.parent)]
        leaving = [_result_after(outer, user.parent, each, cover) for each in waiting]
        timepoints = [each for each in leaving if each is not None]
        if len(timepoints) < len(waiting):
            return None
        user = outer
    return user, timepoints


def _is_awaited(timepoint: SSAValue, block: Block | None) -> bool:
    """Return whether the host waits for a timepoint in a block."""
    users = (use.operation for use in timepoint.uses)
    return any(user.name == AWAIT and user.parent is block for user in users)


def _result_after(
    outer: Operation, block: Block | None, timepoint: SSAValue, cover: TimepointCover
) -> SSAValue | None:
    """Return the result of a choice or loop that is reached after a timepoint of its block.

    A loop must wait for it in its next iteration, too.
    """
    end = None if block is None else block.last_op
    carried = loop_inputs(outer)
    for index, value in enumerate(() if end is None else end.operands):
        is_carried = not carried or cover.covers(timepoint, carried[index])
        if is_carried and cover.covers(value, timepoint):
            return outer.results[index]
    return None


def _deallocate(
    alloca: ResourceAllocaOp, users: dict[Operation, list[SSAValue]], cover: TimepointCover
) -> None:
    """Deallocate a resource after its users, which are given in order.

    What waits for the last of them also waits for the deallocation.
    """
    last = next(reversed(users), alloca)
    found = dict.fromkeys(chain.from_iterable(users.values()))
    waits = {
        wait: None
        for wait in found
        if not any(other is not wait and cover.covers(other, wait) for other in found)
    }
    if not any(cover.covers(wait, alloca.result_timepoint) for wait in waits):
        waits = {alloca.result_timepoint: None, **waits}
    here = PlacedBuilder(located_builder(InsertPoint.after(last), alloca), alloca.affinity)
    reached = joined(list(waits) or [alloca.result_timepoint], here.builder)
    followers = [use for wait in users.get(last, ())[-1:] for use in wait.uses]
    free = here.make(
        ResourceDeallocaOp,
        [alloca.result, alloca.storage_size, [reached]],
        TIMEPOINT,
        prefer_origin=UnitAttr() if alloca.affinity is None else None,
    )
    for use in followers:
        if use.operation is not reached.owner:
            use.operation.operands[use.index] = free

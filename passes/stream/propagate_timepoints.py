"""Make regions wait for timepoints on the device instead of on the host.

    %1 = stream.timepoint.await %t => %0 : !stream.resource<transient>{%n}
    %r, %u = stream.async.execute on(B) with(%1 as %2: !stream.resource<transient>{%n}) ...

becomes

    %r, %u = stream.async.execute on(B) await(%t) => with(%0 as %2: ...) ...

A region that writes in place also waits for the earlier regions of its block that use the resource,
since no SSA value expresses that dependence. Resources that private functions, branches, loops and
globals carry are accompanied by their timepoints (`scheduling/carried_timepoints.py`). They are not
if some region writes in place to a resource whose readers are not all visible; then the host waits
in front of calls, branches and stores. Otherwise the host waits in front of its own first use of a
resource, and not at all if only regions use it.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import IsTerminator

from ...dialects.stream.async_ops import AsyncExecuteOp
from ...dialects.stream.regions import TimepointAwaitOp, joined
from ...dialects.stream.types import TIMEPOINT
from ...ir.attribute_access import block_of
from ...ir.host_programs import host_operations
from ...ir.locations import builder_before, replace_by
from ...ir.syntax.assembly_format import values
from ..manager.module_pass import module_pass
from .analysis.storage import storage_flow, views_of
from .scheduling.carried_timepoints import CarriedTimepoints, before_awaits
from .scheduling.lifetimes import Lifetimes

Users = dict[tuple[Block | None, SSAValue], list[SSAValue]]
"""Timepoints of the regions of a block that use a resource."""


@module_pass("iree-stream-propagate-timepoints")
def propagate_timepoints(module: ModuleOp) -> None:
    """Pass timepoints to the regions that depend on them."""
    carried = CarriedTimepoints(module) if _in_place_writes_have_local_readers(module) else None
    if carried is not None:
        carried.expand()
    users: Users = {}
    for operation in tuple(host_operations(module)):
        if isinstance(operation, AsyncExecuteOp):
            _wait(operation, users)
        elif operation.name == "stream.timepoint.barrier":
            _replace_barrier(operation)
    if carried is not None:
        carried.forward_timepoints()
    for operation in tuple(host_operations(module)):
        if isinstance(operation, TimepointAwaitOp) and operation.sync is None:
            _sink_await(operation)
    if carried is not None:
        carried.erase_unused_sizes()


def _wait(execute: AsyncExecuteOp, users: Users) -> None:
    """Make a region wait for its operands, and for earlier users of what it writes in place."""
    waits = dict.fromkeys(values(execute, "await_timepoint"))
    writes = _written_operands(execute)
    resources: list[SSAValue] = []
    roots: list[SSAValue] = []
    for index, operand in enumerate(execute.resource_operands):
        value, own = before_awaits(operand)
        waits |= dict.fromkeys(own)
        resources.append(value)
        roots.append(_root_of(value))
        if index in writes:
            waits |= dict.fromkeys(users.get((execute.parent, roots[-1]), ()))
    awaits = [joined(list(waits), builder_before(execute))] if waits else []
    replacement = AsyncExecuteOp.build(
        operands=[resources, execute.resource_operand_sizes, execute.result_sizes, awaits],
        result_types=[[result.type for result in execute.results_], TIMEPOINT],
        properties={
            name: execute.properties[name]
            for name in ("affinity", "tied_operands")
            if name in execute.properties
        },
        attributes=execute.attributes,
        regions=[execute.detach_region(execute.body)],
    )
    replace_by(execute, replacement)
    for root in roots:
        key = replacement.parent, root
        users.setdefault(key, []).append(replacement.result_timepoint)


def _replace_barrier(barrier: Operation) -> None:
    """Replace a timepoint barrier by the timepoint of its resource, if that is known."""
    value, waits = before_awaits(barrier.operands[0])
    if waits:
        Rewriter.replace_op(barrier, [], [value, joined(waits, builder_before(barrier))])


def _sink_await(wait: TimepointAwaitOp) -> None:
    """Move an await of the host in front of its first use; erase it if there is none."""
    block = block_of(wait)
    users = {block.find_ancestor_op_in_block(use.operation) for r in wait.results for use in r.uses}
    if not users:
        if wait.results:
            Rewriter.erase_op(wait)
        return
    following: Operation | None = wait.next_op
    while following is not None and following not in users:
        following = following.next_op
    if following is not None and following is not wait.next_op:
        wait.detach()
        block.insert_op_before(wait, following)


_HOST_READERS = frozenset({"stream.async.load", "stream.tensor.export", "stream.timepoint.barrier"})
"""Further operations that may use a resource while its readers are known."""


def _in_place_writes_have_local_readers(module: ModuleOp) -> bool:
    """Return whether each region that writes in place has all readers in its block."""
    for operation in host_operations(module):
        if isinstance(operation, AsyncExecuteOp):
            written = (operation.resource_operands[index] for index in _written_operands(operation))
            if not all(_has_local_readers(_root_of(value), operation.parent) for value in written):
                return False
        elif operation.name == "stream.async.store":
            return False
    return True


def _root_of(value: SSAValue) -> SSAValue:
    """Return the resource whose storage a value has."""
    while isinstance(value, OpResult):
        sources = (source for source, result in storage_flow(value.op) if result is value)
        if (source := next(sources, None)) is None:
            break
        value = source
    return value


def _written_operands(execute: AsyncExecuteOp) -> set[int]:
    """Return the indices of the operands that a region writes to."""
    block = execute.body.block
    stored_in = Lifetimes(block).stored_in.items()
    roots = {root for value, root in stored_in if isinstance(value, OpResult)}
    return {argument.index for argument in block.args if argument in roots}


def _has_local_readers(root: SSAValue, block: Block | None) -> bool:
    """Return whether a resource is made and used by regions of one block, up to its terminator."""
    if not isinstance(root.owner, AsyncExecuteOp) or root.owner.parent is not block:
        return False
    views = [root]
    for view in views:
        users = [use.operation for use in view.uses]
        if any(user.parent is not block or not _is_known(user) for user in users):
            return False
        views += views_of(view)
    return True


def _is_known(user: Operation) -> bool:
    return (
        isinstance(user, AsyncExecuteOp | TimepointAwaitOp)
        or user.name in _HOST_READERS
        or user.has_trait(IsTerminator, value_if_unregistered=False)
    )

"""Determine whether the readers of all resources that regions write in place are visible.

No SSA value expresses that a region which changes a resource must wait for its earlier readers.
Within a block a scan finds them; across branches, calls and globals they cannot be found.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator

from ....dialects.stream.async_ops import AsyncExecuteOp
from ....dialects.stream.regions import TimepointAwaitOp
from ....ir.host_programs import host_operations
from ..analysis.storage import stored_in
from .lifetimes import Lifetimes

READS = frozenset({"stream.async.load", "stream.tensor.export", "stream.timepoint.barrier"})
"""Further operations that may use a resource while its readers are known."""


def all_writes_are_followed(module: ModuleOp) -> bool:
    """Return whether each region that writes in place has all readers in its block."""
    for operation in host_operations(module):
        if isinstance(operation, AsyncExecuteOp):
            roots = (root_of(operation.resource_operands[index]) for index in written(operation))
            if not all(_stays(root, operation.parent) for root in roots):
                return False
        elif operation.name == "stream.async.store":
            return False
    return True


def root_of(value: SSAValue) -> SSAValue:
    """Return the resource that a value is another name of."""
    while isinstance(value, OpResult):
        if isinstance(value.op, TimepointAwaitOp):
            value = value.op.resource_operands[value.index]
        elif (target := stored_in(value.op, value.index)) is not None:
            value = target
        else:
            break
    return value


def written(execute: AsyncExecuteOp) -> Iterator[int]:
    """Yield the indices of the operands that a region writes to."""
    block = execute.body.block
    lifetimes = Lifetimes(block)
    for value in lifetimes.stored_in:
        root = lifetimes.root_of(value)
        if isinstance(value, OpResult) and root.owner is block:
            yield block.args.index(root)


def _stays(root: SSAValue, block: Block | None) -> bool:
    """Return whether a resource is made and used by regions of one block, up to its terminator."""
    if not isinstance(root.owner, AsyncExecuteOp) or root.owner.parent is not block:
        return False
    names = [root]
    for name in names:
        for use in name.uses:
            user = use.operation
            if user.parent is not block or not _is_seen(user):
                return False
            names += (result for result in user.results if _is_name(user, result, name))
    return True


def _is_seen(user: Operation) -> bool:
    return (
        isinstance(user, AsyncExecuteOp | TimepointAwaitOp)
        or user.name in READS
        or user.has_trait(IsTerminator, value_if_unregistered=False)
    )


def _is_name(user: Operation, result: OpResult, name: SSAValue) -> bool:
    """Return whether a result is another name of an operand."""
    if isinstance(user, TimepointAwaitOp):
        return user.resource_operands[result.index] is name
    return stored_in(user, result.index) is name

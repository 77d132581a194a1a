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
from ..analysis.storage import storage_flow, views_of
from .lifetimes import Lifetimes

HOST_READERS = frozenset({"stream.async.load", "stream.tensor.export", "stream.timepoint.barrier"})
"""Further operations that may use a resource while its readers are known."""


def in_place_writes_have_local_readers(module: ModuleOp) -> bool:
    """Return whether each region that writes in place has all readers in its block."""
    for operation in host_operations(module):
        if isinstance(operation, AsyncExecuteOp):
            written = (operation.resource_operands[index] for index in written_operands(operation))
            if not all(_has_local_readers(root_of(value), operation.parent) for value in written):
                return False
        elif operation.name == "stream.async.store":
            return False
    return True


def root_of(value: SSAValue) -> SSAValue:
    """Return the resource whose storage a value has."""
    while isinstance(value, OpResult):
        sources = (source for source, result in storage_flow(value.op) if result is value)
        if (source := next(sources, None)) is None:
            break
        value = source
    return value


def written_operands(execute: AsyncExecuteOp) -> Iterator[int]:
    """Yield the indices of the operands that a region writes to."""
    block = execute.body.block
    lifetimes = Lifetimes(block)
    for value in lifetimes.stored_in:
        root = lifetimes.root_of(value)
        if isinstance(value, OpResult) and root.owner is block:
            yield block.args.index(root)


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
        or user.name in HOST_READERS
        or user.has_trait(IsTerminator, value_if_unregistered=False)
    )

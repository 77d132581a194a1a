"""Whether everybody who reads what a region writes to in place can be seen from where it is.

No value says that a region that changes a resource has to wait for those that read it before. In a
block they are found by going through it; behind branches, calls and globals they are not.
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
"""What else may have to do with a resource while its readers are known."""


def all_writes_are_followed(module: ModuleOp) -> bool:
    """Whether each region that writes in place finds all readers in its block."""
    for operation in host_operations(module):
        if isinstance(operation, AsyncExecuteOp):
            roots = (root_of(operation.resource_operands[index]) for index in written(operation))
            if not all(_stays(root, operation.parent) for root in roots):
                return False
        elif operation.name == "stream.async.store":
            return False
    return True


def root_of(value: SSAValue) -> SSAValue:
    """The resource that a value is, under whatever name."""
    while isinstance(value, OpResult):
        if isinstance(value.op, TimepointAwaitOp):
            value = value.op.resource_operands[value.index]
        elif (target := stored_in(value.op, value.index)) is not None:
            value = target
        else:
            break
    return value


def written(execute: AsyncExecuteOp) -> Iterator[int]:
    """Which of its operands a region writes to."""
    block = execute.body.block
    lifetimes = Lifetimes(block)
    for value in lifetimes.stored_in:
        root = lifetimes.root_of(value)
        if isinstance(value, OpResult) and root.owner is block:
            yield block.args.index(root)


def _stays(root: SSAValue, block: Block | None) -> bool:
    """Whether a resource is made and used by regions of a block, until the block hands it on."""
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
    """Whether a result is the resource that an operand is."""
    if isinstance(user, TimepointAwaitOp):
        return user.resource_operands[result.index] is name
    return stored_in(user, result.index) is name

"""Let devices wait for devices: what a region needs is awaited by it, and not by the host.

    %1 = stream.timepoint.await %t => %0 : !stream.resource<transient>{%n}
    %r, %u = stream.async.execute on(B) with(%1 as %2: !stream.resource<transient>{%n}) ...

becomes

    %r, %u = stream.async.execute on(B) await(%t) => with(%0 as %2: ...) ...

A region that writes in place to what earlier ones of its block use also waits for these: no value
says so. The host waits where it needs something first, and for nothing that only regions need.
What branches, loops, calls and globals carry is there, so the host waits in front of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.stream.async_ops import AsyncExecuteOp
from ...dialects.stream.regions import TimepointAwaitOp, TimepointJoinOp
from ...dialects.stream.types import TimepointType
from ...ir.attribute_access import block_of
from ...ir.host_programs import host_operations
from ...ir.locations import builder_before, replace_by
from ...ir.syntax.assembly_format import values
from .analysis.storage import stored_in
from .scheduling.lifetimes import Lifetimes

Users = dict[tuple[Block | None, SSAValue], list[SSAValue]]
"""When the regions of a block that use a resource are done."""


@dataclass(frozen=True)
class PropagateTimepointsPass(ModulePass):
    """Hand timepoints on to the regions that need what they announce."""

    name = "iree-stream-propagate-timepoints"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        operations = tuple(host_operations(op))
        users: Users = {}
        for operation in operations:
            if isinstance(operation, AsyncExecuteOp):
                _wait(operation, users)
        for operation in operations:
            if isinstance(operation, TimepointAwaitOp):
                _sink(operation)


def _wait(execute: AsyncExecuteOp, users: Users) -> None:
    """Let a region wait for what makes its operands, and for those whose bytes it changes."""
    waits = dict.fromkeys(values(execute, "await_timepoint"))
    written = set(_written(execute))
    taken: list[SSAValue] = []
    roots: list[SSAValue] = []
    for index, operand in enumerate(execute.resource_operands):
        value: SSAValue = operand
        while isinstance(value, OpResult) and isinstance(value.op, TimepointAwaitOp):
            waits[value.op.await_timepoint] = None
            value = value.op.resource_operands[value.index]
        taken.append(value)
        roots.append(_root(value))
        if index in written:
            waits |= dict.fromkeys(users.get((execute.parent, roots[-1]), ()))
    joined = list(waits)
    if len(waits) > 1:
        join = TimepointJoinOp.build(operands=[joined], result_types=[TimepointType()])
        joined = [builder_before(execute).insert(join).result_timepoint]
    made = AsyncExecuteOp.build(
        operands=[taken, execute.resource_operand_sizes, execute.result_sizes, joined],
        result_types=[[each.type for each in execute.results_], TimepointType()],
        properties={
            name: execute.properties[name]
            for name in ("affinity", "tied_operands")
            if name in execute.properties
        },
        attributes=execute.attributes,
        regions=[execute.detach_region(execute.body)],
    )
    replace_by(execute, made)
    for root in roots:
        users.setdefault((made.parent, root), []).append(made.result_timepoint)


def _root(value: SSAValue) -> SSAValue:
    """The resource that a value is, under whatever name."""
    while isinstance(value, OpResult):
        if isinstance(value.op, TimepointAwaitOp):
            value = value.op.resource_operands[value.index]
        elif (target := stored_in(value.op, value.index)) is not None:
            value = target
        else:
            break
    return value


def _written(execute: AsyncExecuteOp) -> Iterator[int]:
    """Which of its operands a region writes to."""
    block = execute.body.block
    lifetimes = Lifetimes(block)
    for value in lifetimes.stored_in:
        root = lifetimes.root_of(value)
        if isinstance(value, OpResult) and root.owner is block:
            yield block.args.index(root)


def _sink(wait: TimepointAwaitOp) -> None:
    """Let the host wait where it needs something first, and not at all if nothing is needed."""
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

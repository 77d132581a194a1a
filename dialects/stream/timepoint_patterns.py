"""Canonicalization patterns of timepoints, and of ops that wait for them."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation, OptOperandDef
from xdsl.pattern_rewriter import PatternRewriter

from ...ir.attribute_access import operand_groups
from ...ir.canonicalization import Patterns
from ...ir.syntax.assembly_format import values
from .async_ops import AsyncConcurrentOp, AsyncExecuteOp
from .commands import CmdConcurrentOp, CmdExecuteOp, CmdSerialOp
from .regions import (
    TimepointAwaitOp,
    TimepointBarrierOp,
    TimepointExportOp,
    TimepointImmediateOp,
    TimepointImportOp,
    TimepointJoinOp,
    YieldOp,
    joined,
)
from .resources import ResourceAllocaOp, ResourceDeallocaOp

rewrites = Patterns()

SEGMENTS = "operandSegmentSizes"


def is_immediate(timepoint: SSAValue) -> bool:
    """Return whether a timepoint is known to be reached."""
    return isinstance(timepoint.owner, TimepointImmediateOp)


def drop_optional_operand(op: Operation, operand: SSAValue, rewriter: PatternRewriter) -> None:
    """Remove an optional operand, and adapt the property with the numbers of operands."""
    index = next(index for index, each in enumerate(op.operands) if each is operand)
    if SEGMENTS in op.properties:
        groups = operand_groups(op, range(len(op.operands)))
        sizes = [len(group) - (index in group) for group in groups]
        op.properties[SEGMENTS] = DenseArrayBase.from_list(i32, sizes)
    op.operands = [*op.operands[:index], *op.operands[index + 1 :]]
    rewriter.notify_op_modified(op)


@rewrites(TimepointJoinOp)
def fold_timepoint_join(op: Operation, rewriter: PatternRewriter) -> None:
    """Flatten joins of joins, and drop timepoints that are reached or listed twice."""
    waits: dict[SSAValue, None] = {}
    for timepoint in op.operands:
        inner = timepoint.owner
        parts = inner.operands if isinstance(inner, TimepointJoinOp) else (timepoint,)
        waits.update(dict.fromkeys(part for part in parts if not is_immediate(part)))
    needed = list(waits)
    if not needed:
        rewriter.replace(op, TimepointImmediateOp.build(result_types=[op.results[0].type]))
    elif len(needed) == 1:
        rewriter.replace(op, (), needed)
    elif needed != list(op.operands):
        op.operands = needed
        rewriter.notify_op_modified(op)


@rewrites(TimepointExportOp)
def fold_timepoint_import(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold the export of an imported timepoint to what was imported."""
    imported = op.operands[0].owner
    if isinstance(imported, TimepointImportOp) and [*imported.operand_types] == [*op.result_types]:
        rewriter.replace(op, (), imported.operands)


@rewrites(TimepointBarrierOp)
def fold_timepoint_barrier(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold the barrier of an awaited resource to the resource and its timepoint."""
    (resource,) = values(op, "resource")
    wait = resource.owner
    if isinstance(wait, TimepointAwaitOp):
        source = wait.resource_operands[wait.results.index(resource)]
        rewriter.replace(op, (), (source, wait.await_timepoint))


@rewrites(TimepointAwaitOp)
def fold_await_of_reached(op: TimepointAwaitOp, rewriter: PatternRewriter) -> None:
    """Fold an await of a timepoint that is reached to its resources."""
    if is_immediate(op.await_timepoint):
        rewriter.replace(op, (), op.resource_operands)


@rewrites(TimepointAwaitOp)
def drop_unused_awaits(op: TimepointAwaitOp, rewriter: PatternRewriter) -> None:
    """Await each resource once, and only those that are used."""
    first: dict[SSAValue, int] = {}
    for index, result in enumerate(op.results):
        if result.uses:
            first.setdefault(op.resource_operands[index], index)
    if len(first) == len(op.results):
        return
    kept = list(first.values())
    new = TimepointAwaitOp.build(
        operands=[
            list(first),
            [op.resource_operand_sizes[i] for i in kept],
            op.await_timepoint,
        ],
        result_types=[[op.results[i].type for i in kept]],
        properties={key: value for key, value in op.properties.items() if key != SEGMENTS},
        attributes=op.attributes,
    )
    new.location = op.location
    awaited = dict(zip(first, new.results, strict=True))
    replacements = [awaited.get(each, each) for each in op.resource_operands]
    rewriter.replace(op, (new,) if kept else (), replacements)


@rewrites(Operation)
def drop_wait_for_reached(op: Operation, rewriter: PatternRewriter) -> None:
    """Let an op start at once that may wait, but waits for a timepoint that is reached."""
    operands = dict(cast(IRDLOperation, op).get_irdl_definition().operands)
    if not isinstance(operands.get("await_timepoint"), OptOperandDef):
        return
    for timepoint in values(op, "await_timepoint"):
        if is_immediate(timepoint):
            drop_optional_operand(op, timepoint, rewriter)


@rewrites(ResourceDeallocaOp)
def fold_unused_allocation(op: Operation, rewriter: PatternRewriter) -> None:
    """Drop the allocation of storage that is only deallocated."""
    (storage,) = values(op, "operand")
    allocation = storage.owner
    if not isinstance(allocation, ResourceAllocaOp) or len(list(storage.uses)) > 1:
        return
    available = allocation.result_timepoint
    waits = (*values(allocation, "await_timepoint"), *values(op, "await_timepoint"))
    needed = [each for each in dict.fromkeys(waits) if each is not available]
    rewriter.replace(op, (), (joined(needed, rewriter),))


@rewrites(CmdExecuteOp)
def fold_execution_without_commands(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold an execution without commands to the timepoint that it waits for."""
    if len(op.regions[0].block.ops) == 1:
        wait = joined(values(op, "await_timepoint"), rewriter)
        rewriter.replace(op, (), (wait,))


@rewrites(AsyncExecuteOp, AsyncConcurrentOp)
def fold_empty_execution(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold an asynchronous region that computes nothing to the resources that it captures."""
    block = op.regions[0].block
    last = block.last_op
    if not isinstance(last, YieldOp) or last is not block.first_op:
        return
    captured: dict[SSAValue, SSAValue] = dict(
        zip(block.args, values(op, "resource_operands"), strict=True)
    )
    results = [captured.get(each, each) for each in values(last, "resource_operands")]
    if isinstance(op, AsyncExecuteOp):
        results.append(joined(values(op, "await_timepoint"), rewriter))
    rewriter.replace(op, (), results)


@rewrites(CmdSerialOp, CmdConcurrentOp)
def drop_empty_commands(op: Operation, rewriter: PatternRewriter) -> None:
    """Drop an ordered or unordered list of commands that is empty."""
    if len(op.regions[0].block.ops) == 1:
        rewriter.erase(op)

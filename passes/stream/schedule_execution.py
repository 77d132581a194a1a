"""Partition asynchronous operations into regions that devices execute, with timepoints.

    %1 = stream.async.splat on(A) %v : i32 -> !stream.resource<transient>{%size}
    %2 = stream.async.dispatch on(A) @ex::@f(%1[%c0 to %size for %size]) : ...

becomes

    %r, %t = stream.async.execute on(A) with() -> !stream.resource<external>{%size} {
      %1 = stream.async.splat ...
      %2 = stream.async.dispatch ...
      stream.yield %2 : !stream.resource<external>{%size}
    } => !stream.timepoint
    %3 = stream.timepoint.await %t => %r : !stream.resource<external>{%size}

Regions only see resources that they capture; scalars are used from outside.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.stream.async_ops import AsyncExecuteOp
from ...dialects.stream.regions import TimepointAwaitOp, TimepointJoinOp
from ...dialects.stream.types import TIMEPOINT
from ...ir.host_programs import host_operations
from ...ir.locations import locate
from ...ir.regions import inner_blocks
from ...ir.syntax.assembly_format import values
from ..manager.module_pass import module_pass
from .scheduling.captures import enclose
from .scheduling.partitions import Partition, Partitioning

WAITING = frozenset({"stream.async.constant", "stream.async.splat"})
"""Operations that devices execute and that may wait for a timepoint, their first operand."""


@module_pass("iree-stream-schedule-execution")
def schedule_execution(module: ModuleOp) -> None:
    """Partition asynchronous operations into regions that devices execute."""
    blocks = [
        block
        for operation in host_operations(module)
        if not operation.name.startswith("stream.")
        for block in inner_blocks(operation)
    ]
    for block in blocks:
        schedule(block)


def schedule(block: Block) -> None:
    """Move the operations of a block that devices execute into regions."""
    last = block.last_op
    partitions = list(Partitioning(block).ordered())
    if not any(partition.is_on_device for partition in partitions) or last is None:
        return
    for partition in partitions:
        if not partition.is_on_device:
            for operation in partition.operations:
                operation.detach()
                block.insert_op_before(operation, last)
            continue
        scheduled = _execute(partition)
        for operation in scheduled:
            locate(operation, partition.operations[0])
        block.insert_ops_before(scheduled, last)


def _execute(partition: Partition) -> Sequence[Operation]:
    """Return the region of a partition, and the operation that awaits it if it has results.

    The join of what the region waits for comes first if that is more than one timepoint.
    """
    waits = _taken_waits(partition)
    joins: list[Operation] = []
    if len(waits) > 1:
        joins.append(TimepointJoinOp.build(operands=[waits], result_types=[TIMEPOINT]))
        waits = joins[0].results
    for operation in partition.operations:
        if operation.name != "stream.async.transfer":
            operation.properties.pop("affinity", None)
    captures = enclose(partition.operations)
    operands, results = captures.operands, captures.results
    execute = AsyncExecuteOp.build(
        operands=[list(operands), list(operands.values()), list(results.values()), waits],
        result_types=[[value.type for value in results], TIMEPOINT],
        properties={"affinity": partition.affinity, **captures.properties},
        regions=[captures.body],
    )
    if not results:
        return *joins, execute
    awaited = TimepointAwaitOp.build(
        operands=[execute.results_, list(results.values()), [execute.result_timepoint]],
        result_types=[[value.type for value in results]],
    )
    captures.replace_outside_uses(awaited.results)
    return *joins, execute, awaited


def _taken_waits(partition: Partition) -> Sequence[SSAValue]:
    """Return the timepoints that operations wait for, for which their region waits from now on."""
    waits: dict[SSAValue, None] = {}
    for operation in partition.operations:
        if operation.name in WAITING:
            timepoints = values(operation, "await_timepoint")
            operation.operands = operation.operands[len(timepoints) :]
            waits.update(dict.fromkeys(timepoints))
    return list(waits)

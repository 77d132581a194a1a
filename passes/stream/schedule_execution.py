"""Group what devices do by themselves: asynchronous operations become regions with timepoints.

    %1 = stream.async.splat on(A) %v : i32 -> !stream.resource<transient>{%size}
    %2 = stream.async.dispatch on(A) @ex::@f(%1[%c0 to %size for %size]) : ...

becomes

    %r, %t = stream.async.execute on(A) with() -> !stream.resource<external>{%size} {
      %1 = stream.async.splat ...
      %2 = stream.async.dispatch ...
      stream.yield %2 : !stream.resource<external>{%size}
    } => !stream.timepoint
    %3 = stream.timepoint.await %t => %r : !stream.resource<external>{%size}

Regions see no resources but those that they are given; numbers come from outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...dialects.stream.async_ops import AsyncExecuteOp
from ...dialects.stream.regions import TimepointAwaitOp, YieldOp
from ...dialects.stream.types import TimepointType
from ...ir.host_programs import host_operations
from ...ir.locations import locate
from ...ir.regions import values_read
from ...ir.syntax.resource_directives import UNTIED, tied_operands
from .analysis.storage import is_resource, resources_in, result_sizes, stored_in
from .scheduling.partitions import Group, Partitioning

TIMEPOINT = TimepointType()


@dataclass(frozen=True)
class ScheduleExecutionPass(ModulePass):
    """Partition asynchronous operations into regions that devices execute."""

    name = "iree-stream-schedule-execution"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        blocks = [
            block
            for operation in host_operations(op)
            if not operation.name.startswith("stream.")
            for region in operation.regions
            for block in region.blocks
        ]
        for block in blocks:
            schedule(block)


def schedule(block: Block) -> None:
    """Put the operations of a block that stream into regions."""
    last = block.last_op
    groups = list(Partitioning(block).ordered())
    if not any(group.streams for group in groups) or last is None:
        return
    for group in groups:
        for operation in group.operations:
            operation.detach()
            if not group.streams:
                block.insert_op_before(operation, last)
        if group.streams:
            made = _execute(group)
            for operation in made:
                locate(operation, group.operations[0])
            block.insert_ops_before(made, last)


def _execute(group: Group) -> Sequence[Operation]:
    """The region of a group, and the operation that waits for it."""
    operations = group.operations
    inside = set(operations)
    taken: dict[SSAValue, SSAValue] = {}
    sizes: dict[SSAValue, SSAValue] = {}
    given: dict[SSAValue, SSAValue] = {}
    for operation in operations:
        sizes |= dict(resources_in(operation))
        for value in values_read(operation):
            if is_resource(value) and value.owner not in inside:
                taken.setdefault(value, sizes[value])
        results = [result for result in operation.results if is_resource(result)]
        for result, size in zip(results, result_sizes(operation), strict=True):
            if any(use.operation not in inside for use in result.uses):
                given[result] = size
    body = Block(arg_types=[value.type for value in taken])
    ties = [_tie(value, list(taken), inside) for value in given]
    for argument, value in zip(body.args, taken, strict=True):
        argument.name_hint = value.name_hint
        value.replace_uses_with_if(argument, lambda use: use.operation in inside)
    for operation in operations:
        if operation.name != "stream.async.transfer":
            operation.properties.pop("affinity", None)
        body.add_op(operation)
    execute = AsyncExecuteOp.build(
        operands=[list(taken), list(taken.values()), list(given.values()), []],
        result_types=[[value.type for value in given], TIMEPOINT],
        properties=_properties(group.place, ties),
        regions=[Region(body)],
    )
    awaited = TimepointAwaitOp.build(
        operands=[execute.results_, list(given.values()), [execute.result_timepoint]],
        result_types=[[value.type for value in given]],
    )
    for value, result in zip(given, awaited.results, strict=True):
        result.name_hint = value.name_hint
        value.replace_uses_with_if(result, lambda use: use.operation not in inside)
    body.add_op(YieldOp.build(operands=[list(given), list(given.values())]))
    return (execute, awaited) if given else (execute,)


def _properties(place: Attribute | None, ties: Sequence[int]) -> dict[str, Attribute]:
    found: dict[str, Attribute] = {} if place is None else {"affinity": place}
    return {**found, "tied_operands": tied_operands(ties)} if ties else found


def _tie(value: SSAValue, taken: Sequence[SSAValue], inside: set[Operation]) -> int:
    """Which of the resources from outside a result is stored in."""
    while isinstance(maker := value.owner, Operation) and maker in inside:
        target = stored_in(maker, maker.results.index(value))
        if target is None:
            return UNTIED
        value = target
    return taken.index(value)

"""Group operations of `stream.async.execute` that may run at the same time into waves.

    %1 = stream.async.dispatch @ex::@f(%a[...]) : ...
    %2 = stream.async.dispatch @ex::@g(%a[...]) : ...
    %3 = stream.async.dispatch @ex::@h(%1[...], %2[...]) : ...

becomes

    %0:2 = stream.async.concurrent with(%a as %b: ...) -> (...) {
      %1 = stream.async.dispatch @ex::@f(%b[...]) : ...
      %2 = stream.async.dispatch @ex::@g(%b[...]) : ...
      stream.yield %1, %2 : ...
    }
    %3 = stream.async.dispatch @ex::@h(%0#0[...], %0#1[...]) : ...

Going backwards, an operation joins the wave behind it unless an operation of that wave depends on
it, as in IREE's partitioning for low memory use (`partitionRegionConcurrencyReference`). This keeps
the program order, which processes rely on to meet in collectives. An operation that writes in place
is never in one wave with those that it must follow.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from ...dialects.stream.async_ops import AsyncAllocaOp, AsyncConcurrentOp, AsyncExecuteOp
from ...ir.host_programs import host_operations_of
from ...ir.locations import locate
from ..manager.module_pass import module_pass
from .analysis.resource_limits import favor
from .scheduling.captures import enclose
from .scheduling.partitions import DataNeeds


@module_pass("iree-stream-schedule-concurrency")
def schedule_concurrency(module: ModuleOp) -> None:
    """Put operations that a device may run at the same time into concurrent regions."""
    for execute in host_operations_of(module, AsyncExecuteOp):
        if favor(execute) != "debug":
            _schedule(execute.body.block)


def _schedule(block: Block) -> None:
    last = block.last_op
    if last is None:
        return
    for wave in _waves([operation for operation in block.ops if operation is not last], block):
        if len(wave) == 1:
            wave[0].detach()
            block.insert_op_before(wave[0], last)
            continue
        first = wave[0]
        captures = enclose(wave)
        operands, results = captures.operands, captures.results
        concurrent = AsyncConcurrentOp.build(
            operands=[list(operands), list(operands.values()), list(results.values())],
            result_types=[[value.type for value in results]],
            properties=captures.properties,
            regions=[captures.body],
        )
        captures.replace_outside_uses(concurrent.results)
        locate(concurrent, first)
        block.insert_op_before(concurrent, last)


def _waves(operations: Sequence[Operation], block: Block) -> list[list[Operation]]:
    """Return the waves in order; operations of a wave are in program order.

    Storage takes no time on the device: each `stream.async.alloca` is alone, before the wave that
    follows it.
    """
    data = DataNeeds(block)
    needs = {operation: set(data.add(operation)) for operation in operations}
    waves: list[list[Operation]] = [[]]
    storage: list[list[Operation]] = [[]]
    """The allocations before each wave."""
    needed: set[Operation] = set()
    """Operations on which the newest wave depends."""
    for operation in reversed(operations):
        if isinstance(operation, AsyncAllocaOp):
            storage[-1].append(operation)
            continue
        if operation in needed:
            waves.append([])
            storage.append([])
            needed = set()
        waves[-1].append(operation)
        needed |= needs[operation]
    ordered: list[list[Operation]] = []
    for wave, allocations in zip(reversed(waves), reversed(storage), strict=True):
        ordered += [[operation] for operation in reversed(allocations)]
        ordered += [wave[::-1]] if wave else []
    return ordered

"""Reuse storage that is deallocated just before an allocation of the same kind.

    %d = stream.resource.dealloca await(%t) => %a : !stream.resource<transient>{%n} => ...
    %b, %u = stream.resource.alloca uninitialized await(%d) => ...<transient>{%n} => ...

replaces `%b` by `%a` and `%u` by `%t`. Device, lifetime and size must be the same. If the
allocation also waits for other timepoints, these are still awaited.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from ...dialects.stream.affinity import affinity_of
from ...dialects.stream.regions import TimepointJoinOp
from ...dialects.stream.resources import ResourceAllocaOp, ResourceDeallocaOp
from ...ir.host_programs import host_operations_of
from ...ir.index import known
from ...ir.syntax.assembly_format import values
from ..manager.module_pass import module_pass


@module_pass("iree-stream-reuse-allocations")
def reuse_allocations(module: ModuleOp) -> None:
    """Reuse storage that is deallocated just before it is allocated again."""
    for operation in host_operations_of(module, ResourceAllocaOp):
        freed = next((f for f in _freed_before(operation) if _fits(f, operation)), None)
        if freed is not None:
            _reuse(freed, operation)


def _freed_before(alloca: ResourceAllocaOp) -> Iterator[Operation]:
    """Yield the deallocations that an allocation waits for."""
    awaited = alloca.await_timepoint
    if awaited is None:
        return
    join = awaited.owner
    for timepoint in join.operands if isinstance(join, TimepointJoinOp) else (awaited,):
        owner = timepoint.owner
        if isinstance(owner, ResourceDeallocaOp) and owner.parent is alloca.parent:
            yield owner


def _fits(freed: Operation, alloca: ResourceAllocaOp) -> bool:
    storage, size = freed.operands[:2]
    previous = storage.owner
    return (
        isinstance(previous, ResourceAllocaOp)
        and previous.indeterminate_lifetime == alloca.indeterminate_lifetime
        and storage.type == alloca.result.type
        and known(size) == known(alloca.storage_size)
        and bool(values(freed, "await_timepoint"))
        and affinity_of(previous) == affinity_of(freed) == affinity_of(alloca)
    )


def _reuse(freed: Operation, alloca: ResourceAllocaOp) -> None:
    """Replace an allocation by storage that would be deallocated."""
    assert alloca.await_timepoint is not None
    freed.results[0].replace_all_uses_with(values(freed, "await_timepoint")[0])
    alloca.result_timepoint.replace_all_uses_with(alloca.await_timepoint)
    alloca.result.replace_all_uses_with(freed.operands[0])
    Rewriter.erase_op(alloca)
    Rewriter.erase_op(freed)

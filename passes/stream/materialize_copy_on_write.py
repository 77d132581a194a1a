"""Copy resources that are written in place if they have later readers or other owners.

    %1 = stream.async.fill %v, %0[%a to %b for %n] : i32 -> %0 as !stream.resource<*>{%size}

returns a new resource in the storage of `%0`. That is correct if this program made `%0` in storage
of its own, and nothing reads or keeps `%0` afterwards. Otherwise the fill gets a copy:

    %c = stream.async.clone %0 : !stream.resource<*>{%size} -> !stream.resource<*>{%size}
    %1 = stream.async.fill %v, %c[%a to %b for %n] : i32 -> %c as !stream.resource<*>{%size}

After this pass resources may be written in place, as long as operations on one resource keep their
order.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult

from ...dialects.stream.affinity import own_affinity
from ...dialects.stream.async_ops import AsyncCloneOp
from ...ir.host_programs import host_operations
from ...ir.locations import builder_before
from ..manager.module_pass import module_pass
from .analysis.storage import FRESH, STREAMABLE, is_read, resources_in, storage_operand
from .conversion.stored_tensors import PlacedBuilder


@module_pass("iree-stream-materialize-copy-on-write")
def materialize_copy_on_write(module: ModuleOp) -> None:
    """Copy resources that are written to in place where somebody else reads them."""
    order = {operation: number for number, operation in enumerate(host_operations(module))}
    for operation in tuple(order):
        if not operation.name.startswith("stream.async."):
            continue
        for index in range(len(operation.results)):
            written = storage_operand(operation, index)
            if written is not None and not _may_write(operation, written, order):
                order[_copy(operation, written)] = order[operation]


def _may_write(operation: Operation, written: int, order: dict[Operation, int]) -> bool:
    """Return whether an operation may write to one of its operands.

    Operations in front of it have been visited, so their own writes in place are correct.
    """
    target = operation.operands[written]
    if not isinstance(target, OpResult) or target.op.parent is not operation.parent:
        return False
    owner = target.op
    tied = storage_operand(owner, target.index) is not None
    if owner.name not in FRESH and not (tied and owner.name in STREAMABLE):
        return False
    return all(
        use.index == written
        if use.operation is operation
        else is_read(use)
        and use.operation.parent is operation.parent
        and order[use.operation] < order[operation]
        for use in target.uses
    )


def _copy(operation: Operation, written: int) -> Operation:
    """Insert a copy for an operation to write to."""
    target = operation.operands[written]
    size = dict(resources_in(operation))[target]
    here = PlacedBuilder(builder_before(operation), own_affinity(operation))
    clone = here.add(AsyncCloneOp, [target, size, size], [target.type])
    operation.operands[written] = clone.results[0]
    return clone

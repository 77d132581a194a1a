"""Dispatches that a program forms itself: regions that are to be kernels, and kernels in place.

`flow.dispatch.region` holds operations that are to be one kernel; they come to stand in the block
around it, and are a group of which nothing more has to be decided. `flow.dispatch.workgroups`
holds a finished kernel, which moves to an executable of its own.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from ....dialects.flow import dispatches as flow
from ....dialects.stream.affinity import AFFINITY
from ....ir.diagnostics import OperationError
from ....ir.host_programs import KERNEL_IN_PLACE
from ....ir.locations import replace_by
from .kernel_outlining import KernelOutliner

REGION = "flow.dispatch.region"


def inline_regions(function: Operation) -> list[list[Operation]]:
    """Put the operations of regions in their place; gives those of each."""
    regions = [operation for operation in function.walk() if operation.name == REGION]
    for region in regions:
        nested = (inner for inner in region.walk() if inner is not region)
        if any(inner.name in (REGION, KERNEL_IN_PLACE) for inner in nested):
            raise OperationError(region, "is one dispatch and holds another")
    return [_inline(region) for region in regions]


def _inline(region: Operation) -> list[Operation]:
    blocks = tuple(region.regions[0].blocks)
    if len(blocks) != 1 or (end := blocks[0].last_op) is None:
        raise OperationError(region, f"is one dispatch, of one block: it has {len(blocks)}")
    operations = [operation for operation in blocks[0].ops if operation is not end]
    place = region.attributes.get(AFFINITY)
    for operation in operations:
        if place is not None:
            operation.attributes.setdefault(AFFINITY, place)
        operation.detach()
    results = tuple(end.operands)
    Rewriter.insert_op(operations, InsertPoint.before(region))
    Rewriter.replace_op(region, [], results)
    return operations


def outline_workgroups(function: Operation, outliner: KernelOutliner) -> None:
    """Move kernels in place to executables."""
    for operation in tuple(function.walk()):
        if isinstance(operation, flow.DispatchWorkgroupsOp):
            _outline(operation, function, outliner)


def _outline(
    operation: flow.DispatchWorkgroupsOp, function: Operation, outliner: KernelOutliner
) -> None:
    body, count = operation.workgroup_body, operation.workgroup_count
    for end in tuple(body.walk()):
        if end.name == "flow.return" and end.parent_op() is operation:
            replace_by(end, ReturnOp())
    types = [argument.type for argument in body.blocks[0].args]
    kernel = FuncOp("kernel", (types, []), operation.detach_region(body))
    counted = operation.detach_region(count) if count.blocks else None
    entry = outliner.add_kernel(kernel, function, len(operation.workload), counted)
    dispatch = flow.DispatchOp.create(
        operands=operation.operands,
        result_types=operation.result_types,
        properties={**operation.properties, "entry_points": ArrayAttr([entry])},
        attributes=operation.attributes,
    )
    replace_by(operation, dispatch)

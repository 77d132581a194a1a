"""Execute a transfer on its target device if the result is exported there.

    %1 = stream.async.transfer %0 : ... from(A) -> to(B) !stream.resource<external>{%size}
    %2 = stream.tensor.export on(B) %1 : ...

gets `on(B)`, because exported storage must be in memory of that device. Exports are found through
operations that keep the storage, loops, branches and calls.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects.stream.async_ops import AsyncTransferOp
from ...ir.host_programs import host_operations
from ...ir.value_flow import forwarded_to
from ..manager.module_pass import module_pass
from .analysis.storage import views_of

EXPORT = "stream.tensor.export"


@module_pass("iree-stream-place-transfer-executions")
def place_transfer_executions(module: ModuleOp) -> None:
    """Execute transfers on the target device if their results are exported."""
    for operation in host_operations(module):
        if (
            not isinstance(operation, AsyncTransferOp)
            or "execution_affinity" in operation.properties
        ):
            continue
        source, target = operation.source_affinity, operation.target_affinity
        if target is not None and source != target and _is_exported(operation.result):
            operation.properties["execution_affinity"] = target


def _is_exported(transferred: SSAValue) -> bool:
    """Return whether a resource is exported, possibly after it was written in place."""
    values = [transferred]
    seen = {transferred}
    for value in values:
        if any(use.operation.name == EXPORT for use in value.uses):
            return True
        forwarded = (
            result for use in value.uses for result in forwarded_to(use.operation, use.index)
        )
        found = dict.fromkeys([*forwarded, *views_of(value)])
        values += (result for result in found if result not in seen)
        seen |= found.keys()
    return False

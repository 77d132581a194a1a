"""Verify that each operation that must run on a device has an affinity.

The affinity may be the operation's own or a default of a scope around it
(`stream.affinity.default`). As in iree-opt, the first operation without one is the only error.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation

from ...dialects.stream.affinity import AffinityOpInterface, affinity_of
from ...ir.diagnostics import OperationError
from ...ir.host_programs import host_operations
from ..manager.module_pass import module_pass

ANYWHERE = frozenset(
    {
        "hal.allocator.resolve_memory_properties",
        "hal.device.resolve",
        "hal.tensor.alias",
        "hal.tensor.export",
        "hal.tensor.import",
        "hal.tensor.transients",
        "stream.context.resolve",
        "stream.resource.size",
    }
)
"""Operations that may have an affinity but need none."""

PLACED = frozenset(
    {
        *(f"flow.tensor.{name}" for name in ("alloca", "clone", "dynamic_constant", "empty")),
        *(f"flow.tensor.{name}" for name in ("encode", "slice", "splat", "update")),
        *(f"flow.dispatch{suffix}" for suffix in ("", ".region", ".workgroups")),
        "flow.channel.default",
    }
)
"""Operations that need an affinity, in addition to those of `stream`."""

OF_TENSORS = frozenset({"arith.constant", "util.global"})
"""Operations that need an affinity if they are of tensor type."""


@module_pass("iree-stream-verify-affinities")
def verify_affinities(module: ModuleOp) -> None:
    """Verify that operations which must run on a device have an affinity."""
    for operation in host_operations(module):
        if _needs_affinity(operation) and _affinity(operation) is None:
            raise OperationError(
                operation,
                "does not have an affinity assigned; ensure that the op or some ancestor of "
                "it has a valid execution affinity assigned",
            )


def _needs_affinity(operation: Operation) -> bool:
    if operation.name in OF_TENSORS:
        type_ = operation.results[0].type if operation.results else operation.properties.get("type")
        return isinstance(type_, TensorType)
    if operation.name in ANYWHERE:
        return False
    return operation.name in PLACED or operation.has_trait(AffinityOpInterface)


def _affinity(operation: Operation) -> Attribute | None:
    """Return the device of an operation; for a transfer without affinity, its source."""
    return affinity_of(operation) or operation.properties.get("source_affinity")

"""Verify that the first operation that must run somewhere, and each before it, tells where.

An operation tells it itself, or a scope around it does (`stream.affinity.default`). As in iree-opt
the first that does not is the end. Nothing is changed.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from ...dialects.stream.affinity import AffinityOpInterface, affinity_of
from ...ir.diagnostics import OperationError
from ...ir.host_programs import host_operations

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
"""What may have an affinity, and needs none."""

PLACED = frozenset(
    {
        *(f"flow.tensor.{name}" for name in ("alloca", "clone", "dynamic_constant", "empty")),
        *(f"flow.tensor.{name}" for name in ("encode", "slice", "splat", "update")),
        *(f"flow.dispatch{suffix}" for suffix in ("", ".region", ".workgroups")),
        "flow.channel.default",
    }
)
"""What must run somewhere beside the operations of `stream`."""

OF_TENSORS = frozenset({"arith.constant", "util.global"})
"""What is somewhere if it is a tensor."""


@dataclass(frozen=True)
class VerifyAffinitiesPass(ModulePass):
    """Verify that operations which must run somewhere tell where."""

    name = "iree-stream-verify-affinities"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        del ctx
        for operation in host_operations(op):
            if _needs_affinity(operation) and _place(operation) is None:
                raise OperationError(
                    operation,
                    "does not have an affinity assigned; ensure that the op or some ancestor of "
                    "it has a valid execution affinity assigned",
                )


def _needs_affinity(operation: Operation) -> bool:
    if operation.name in OF_TENSORS:
        held = operation.results[0].type if operation.results else operation.properties.get("type")
        return isinstance(held, TensorType)
    if operation.name in ANYWHERE:
        return False
    return operation.name in PLACED or operation.has_trait(AffinityOpInterface)


def _place(operation: Operation) -> Attribute | None:
    """Where an operation runs; a transfer runs at one of its ends."""
    return affinity_of(operation) or operation.properties.get("source_affinity")

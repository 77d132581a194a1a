"""Verify which operations a program contains at each stage of lowering to commands.

Messages are those of iree-opt. The regions of an illegal operation are not examined, and neither
are executables, whose code is lowered separately.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...dialects.stream.types import lifetime_of
from ...ir.diagnostics import OperationError, raise_all
from ...ir.host_programs import EXECUTABLES
from ...ir.regions import inner_operations
from ..manager.module_pass import module_pass
from .analysis.storage import FRESH, IN_PLACE

PHASE = "illegal for this phase of lowering in the stream dialect"
GONE = f"{PHASE}; expected to have been converted or removed"

OF_TENSORS = ("flow.", "linalg.", "tensor.")
"""Prefixes of operations that `iree-stream-conversion` must replace."""

STAYS = frozenset(f"stream.tensor.{name}" for name in ("export", "import", "trace"))
"""Operations at the boundary to callers, which the runtime lowers."""

REGIONS = frozenset({"stream.async.concurrent", "stream.async.execute"})

PARAMETERS = frozenset(f"stream.async.parameter.{name}" for name in ("gather", "read", "scatter"))
STREAMED = (
    (FRESH | IN_PLACE | PARAMETERS | {"stream.async.parameter.write"}) - {"stream.async.alloca"}
    | {f"flow.tensor.{name}" for name in ("alloca", "empty", "reshape", "splat")}
    | {"flow.dispatch"}
)
"""Operations that devices execute, which must be in regions for devices."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What is illegal at a stage."""

    gone: tuple[str, ...]
    """Prefixes of the names of illegal operations."""
    streams_in_regions: bool = False
    """Whether operations that devices execute must be in execution regions."""
    lifetimes: bool = False
    """Whether every resource must have a lifetime."""

    def verify(self, module: ModuleOp) -> None:
        """Raise an error for everything that is illegal."""
        raise_all(list(self.errors(module)))

    def errors(self, operation: Operation) -> Iterator[OperationError]:
        """Yield an error for everything illegal in an operation."""
        if operation.name in EXECUTABLES:
            return
        parent = operation.parent_op()
        in_region = parent is not None and parent.name in REGIONS
        is_gone = operation.name.startswith(self.gone) and operation.name not in STAYS
        if self.streams_in_regions and operation.name in STREAMED and not in_region:
            yield OperationError(operation, ": streamable op expected to be in an execution region")
            is_gone = True
        if is_gone:
            yield OperationError(operation, GONE)
            return
        if self.lifetimes:
            yield from _without_lifetime(operation)
        for inner in inner_operations(operation):
            yield from self.errors(inner)


def _without_lifetime(operation: Operation) -> Iterator[OperationError]:
    for kind, values in (("operand", operation.operands), ("result", operation.results)):
        for index, value in enumerate(values):
            if lifetime_of(value.type) == "*":
                yield OperationError(operation, f"{kind} {index} type '{value.type}' {PHASE}")


@module_pass("iree-stream-verify-input")
def verify_input(module: ModuleOp) -> None:
    """Verify that a program has nothing that cannot be converted to streams."""
    gone = ("util.global.address", "util.global.load.indirect", "util.global.store.indirect")
    Stage(gone=gone).verify(module)


@module_pass("iree-stream-verify-lowering-to-tensors")
def verify_lowering_to_tensors(module: ModuleOp) -> None:
    """Verify that all tensors of the host have become resources."""
    Stage(gone=OF_TENSORS).verify(module)


@module_pass("iree-stream-verify-lowering-to-async-resources")
def verify_lowering_to_async_resources(module: ModuleOp) -> None:
    """Verify that all operations on tensors have become operations on bytes."""
    Stage(gone=(*OF_TENSORS, "stream.tensor.")).verify(module)


@module_pass("iree-stream-verify-lowering-to-async")
def verify_lowering_to_async(module: ModuleOp) -> None:
    """Verify that every resource has a lifetime, and device operations are in execution regions."""
    gone = (*OF_TENSORS, "stream.tensor.")
    Stage(gone=gone, streams_in_regions=True, lifetimes=True).verify(module)


@module_pass("iree-stream-verify-lowering-to-cmd")
def verify_lowering_to_cmd(module: ModuleOp) -> None:
    """Verify that all asynchronous operations have become commands."""
    Stage(gone=(*OF_TENSORS, "stream.tensor.", "stream.async."), lifetimes=True).verify(module)

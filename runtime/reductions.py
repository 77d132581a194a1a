"""Kernels that reduce the operands of several devices."""

from __future__ import annotations

from .abi.native_code import Native
from .collectives import Collective
from .native_registry import native_function_named


def reduction_kernel(collective: Collective) -> Native:
    """Return the kernel that combines a collective's operands, on threads and MPI ranks alike.

    It is written by `codegen/kernels/collective_combiners.py`.
    """
    kind, participants = collective.reduction, collective.group.size
    source, target = collective.source, collective.result

    def compile() -> Native:
        # Imported here because importing the compiler takes time.
        from ..codegen.kernels.collective_combiners import reduction_kernel

        return reduction_kernel(kind, source, target, participants)

    key = f"{kind} of {participants} from {source.name} to {target.name}"
    return native_function_named(key, compile)

"""Kernels that reduce the operands of several devices."""

from __future__ import annotations

from ..sharding.sharding import ReductionKind
from .abi.elements import Element
from .abi.native_code import Native
from .native_functions import native_function_named


def reduction_kernel(
    kind: ReductionKind, source: Element, target: Element, participants: int
) -> Native:
    """Return the kernel of `codegen/kernels/reductions.py`, which threads and MPI ranks share."""

    def compile() -> Native:
        # Imported here because importing the compiler takes time.
        from ..codegen.kernels.reductions import reduction_kernel

        return reduction_kernel(kind, source, target, participants)

    key = f"{kind} of {participants} from {source.name} to {target.name}"
    return native_function_named(key, compile)

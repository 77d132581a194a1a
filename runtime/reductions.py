"""The kernels that combine what several devices bring."""

from __future__ import annotations

from ..sharding.sharding import ReductionKind
from .abi.elements import Element
from .abi.native_code import Native
from .native_functions import native_function_named


def reduction_kernel(
    kind: ReductionKind, source: Element, target: Element, participants: int
) -> Native:
    """The kernel of `codegen/kernels/reductions.py`, which threads and MPI ranks use alike."""

    def compile() -> Native:
        # The compiler takes time to import: only for who needs it.
        from ..codegen.kernels.reductions import reduction_kernel

        return reduction_kernel(kind, source, target, participants)

    key = f"{kind} of {participants} from {source.name} to {target.name}"
    return native_function_named(key, compile)

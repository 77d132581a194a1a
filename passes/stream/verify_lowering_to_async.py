"""Verify that every resource has a lifetime, and what devices do is in regions for them.

Nothing is changed.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .analysis.lowering_stages import OF_TENSORS, Stage


@dataclass(frozen=True)
class VerifyLoweringToAsyncPass(ModulePass):
    """Verify that every resource has a lifetime, and what devices do is in regions for them."""

    name = "iree-stream-verify-lowering-to-async"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        del ctx
        Stage(gone=(*OF_TENSORS, "stream.tensor."), streams_in_regions=True, lifetimes=True).verify(
            op
        )

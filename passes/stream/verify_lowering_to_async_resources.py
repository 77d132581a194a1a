"""Verify that all operations on tensors have become such on bytes.

Resources may be without a lifetime. Nothing is changed.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .analysis.lowering_stages import OF_TENSORS, Stage


@dataclass(frozen=True)
class VerifyLoweringToAsyncResourcesPass(ModulePass):
    """Verify that all operations on tensors have become such on bytes."""

    name = "iree-stream-verify-lowering-to-async-resources"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        del ctx
        Stage(gone=(*OF_TENSORS, "stream.tensor.")).verify(op)

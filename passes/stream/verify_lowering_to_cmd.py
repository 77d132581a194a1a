"""Verify that all asynchronous operations have become commands.

Nothing is changed.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .analysis.lowering_stages import OF_TENSORS, Stage


@dataclass(frozen=True)
class VerifyLoweringToCmdPass(ModulePass):
    """Verify that all asynchronous operations have become commands."""

    name = "iree-stream-verify-lowering-to-cmd"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        del ctx
        Stage(gone=(*OF_TENSORS, "stream.tensor.", "stream.async."), lifetimes=True).verify(op)

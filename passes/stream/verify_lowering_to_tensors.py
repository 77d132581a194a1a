"""Verify that all tensors of the host have become resources.

Operations of `stream.tensor` say which tensors these stand for. Nothing is changed.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .analysis.lowering_stages import OF_TENSORS, Stage


@dataclass(frozen=True)
class VerifyLoweringToTensorsPass(ModulePass):
    """Verify that all tensors of the host have become resources."""

    name = "iree-stream-verify-lowering-to-tensors"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        del ctx
        Stage(gone=OF_TENSORS).verify(op)

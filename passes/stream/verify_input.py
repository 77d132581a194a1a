"""Verify that a program has nothing that cannot be turned into streams.

Globals that are reached by their addresses cannot. Nothing is changed.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .analysis.lowering_stages import Stage


@dataclass(frozen=True)
class VerifyInputPass(ModulePass):
    """Verify that a program has nothing that cannot be turned into streams."""

    name = "iree-stream-verify-input"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        del ctx
        Stage(
            gone=("util.global.address", "util.global.load.indirect", "util.global.store.indirect")
        ).verify(op)

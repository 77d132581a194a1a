"""Make initializers wait on the host for all device work that they start.

    %0 = stream.timepoint.await %t => %r : !stream.resource<constant>{%n}

becomes `stream.timepoint.await sync %t`, so that globals are ready once the module is loaded.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.passes import ModulePass

from ...dialects.stream.regions import TimepointAwaitOp
from ...ir.regions import walk


class SyncInitializersPass(ModulePass):
    """Make initializers wait on the host for all device work that they start."""

    name = "iree-stream-sync-initializers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for initializer in op.body.block.ops:
            if initializer.name == "util.initializer":
                for operation in walk(initializer):
                    if isinstance(operation, TimepointAwaitOp):
                        operation.sync = UnitAttr()

"""Make initializers wait on the host for all device work that they start.

    %0 = stream.timepoint.await %t => %r : !stream.resource<constant>{%n}

becomes `stream.timepoint.await sync %t`, so that globals are ready once the module is loaded.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, UnitAttr

from ...dialects.stream.regions import TimepointAwaitOp
from ...ir.regions import walk
from ..manager.module_pass import module_pass


@module_pass("iree-stream-sync-initializers")
def sync_initializers(module: ModuleOp) -> None:
    """Make initializers wait on the host for all device work that they start."""
    for initializer in module.body.block.ops:
        if initializer.name == "util.initializer":
            for operation in walk(initializer):
                if isinstance(operation, TimepointAwaitOp):
                    operation.sync = UnitAttr()

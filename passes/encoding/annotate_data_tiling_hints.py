"""Mark the contractions that `set-encoding` gives encodings; marks that are there already count."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.passes import ModulePass

from ...ir.host_programs import host_operations
from .analysis.contraction_matching import tiled_contraction
from .set_encoding import HINT


@dataclass(frozen=True)
class AnnotateDataTilingHintsPass(ModulePass):
    """Add the attribute `iree.opt.data_tiling` to contractions, unless an operation has it."""

    name = "iree-dispatch-creation-annotate-data-tiling-hints"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        operations = tuple(host_operations(op))
        if any(HINT in operation.attributes for operation in operations):
            return
        for operation in operations:
            if tiled_contraction(operation) is not None:
                operation.attributes[HINT] = UnitAttr()

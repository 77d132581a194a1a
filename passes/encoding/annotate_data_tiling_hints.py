"""Mark the contractions that the passes after it encode, unless a module has such marks already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...ir.host_programs import host_operations
from .analysis.contraction_matching import scaled_contraction
from .analysis.dispatch_regions import is_compilation_chosen
from .analysis.marked_operations import HINT, any_convolution, simple_contraction

Kind = Literal["matmul", "scaled_matmul", "convolution"]


@dataclass(frozen=True)
class AnnotateDataTilingHintsPass(ModulePass):
    """Add the attribute `iree.opt.data_tiling` to contractions, unless an operation has it."""

    name = "iree-dispatch-creation-annotate-data-tiling-hints"

    data_tiling_op_types: tuple[Kind, ...] = ("matmul", "scaled_matmul")
    """Kinds of operations to mark: `matmul` with at most one batch, M, N and K loop each,
    `scaled_matmul`, `convolution`.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        operations = tuple(host_operations(op))
        if any(HINT in operation.attributes for operation in operations):
            return
        for operation in operations:
            if self._is_of_kind(operation) and not is_compilation_chosen(operation):
                operation.attributes[HINT] = UnitAttr()

    def _is_of_kind(self, operation: Operation) -> bool:
        kinds = self.data_tiling_op_types
        return (
            ("matmul" in kinds and simple_contraction(operation) is not None)
            or ("scaled_matmul" in kinds and scaled_contraction(operation) is not None)
            or ("convolution" in kinds and any_convolution(operation) is not None)
        )

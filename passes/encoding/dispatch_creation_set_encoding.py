"""Encode the operations that are marked, or pad the tensors that dispatch regions pass on.

    %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b) outs(%c)
becomes the product of encoded tensors that `set-encoding` makes of it. The marks come from
`iree-dispatch-creation-annotate-data-tiling-hints`, or from the program itself. With
`encoding-option=padding` nothing is tiled, and no marks are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...ir.host_programs import host_operations
from .analysis.contraction_encoder import encoder_of
from .analysis.contraction_matching import tiled_contraction
from .analysis.padded_operands import pad_operands


@dataclass(frozen=True)
class DispatchCreationSetEncodingPass(ModulePass):
    """Give operands and results of marked contractions and convolutions encodings."""

    name = "iree-dispatch-creation-set-encoding"

    encoding_option: Literal["default", "padding"] = "default"
    """`padding` pads the rows of tensors between dispatch regions instead of tiling operands."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        encoder = encoder_of(op)
        if self.encoding_option == "default":
            encoder.encode_marked(op)
            return
        for operation in tuple(host_operations(op)):
            if (contraction := tiled_contraction(operation)) is not None:
                pad_operands(contraction)

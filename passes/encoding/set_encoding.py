"""Give the operands and results of contractions encodings, which ask for a layout, where it pays.

    %r = linalg.matmul ins(%a, %b) outs(%fill)
becomes
    %0 = iree_encoding.set_encoding %a : tensor<4x5xf32> -> tensor<4x5xf32, #lhs>
    %1 = iree_encoding.set_encoding %b : tensor<5x6xf32> -> tensor<5x6xf32, #rhs>
    %2 = linalg.fill ... outs(tensor.empty() : tensor<4x6xf32, #result>)
    %3 = linalg.matmul ins(%0, %1) outs(%2) : tensor<4x6xf32, #result>
    %r = iree_encoding.unset_encoding %3 : tensor<4x6xf32, #result> -> tensor<4x6xf32>

An encoding says which operand of which contraction a tensor is; the layout is resolved once the
device is known. Operations on encoded tensors are left alone. So are operations that read a large
operand so few times that relaying it out costs more than it gains, unless it is relaid out once for
many runs, and short products in a loop that becomes one kernel. A `set_encoding` of a filled tensor
becomes a fill of an encoded tensor.

If any operation is marked, the marks decide, as in `iree-dispatch-creation-set-encoding`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ...ir.host_programs import CONSTANTS, GLOBAL_LOAD, LOOPS, host_operations
from ...ir.locations import block_with, made_by
from ...ir.regions import enclosing
from ..dispatch.fusion.update_loops import is_update_loop
from .analysis.contraction_encoder import encoder_of
from .analysis.contraction_matching import TiledContraction, tiled_contraction, tiled_convolution
from .analysis.dispatch_regions import is_compilation_chosen

UNCHANGING = CONSTANTS | {GLOBAL_LOAD}
"""Producers of tensors that are the same in all runs: they are relaid out once, at module load."""

LARGE_OPERAND = 1 << 16
"""An operand with at least so many elements is expensive to relay out."""

FEW_READS = 16
"""Relaying out an operand does not pay if each element is read at most so often."""


@dataclass(frozen=True)
class SetEncodingPass(ModulePass):
    """Give operands and results of contractions encodings where that pays."""

    name = "set-encoding"

    encode_convolutions: bool = False
    """Whether convolutions without a mark get encodings too, which tile their channels."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        encoder = encoder_of(op)
        if encoder.encode_marked(op):
            return
        for operation in tuple(host_operations(op)):
            contraction = tiled_contraction(operation)
            if contraction is None and (split := encoder.split_factors(operation)) is not None:
                contraction = tiled_contraction(split)
            elif contraction is None and self.encode_convolutions:
                contraction = tiled_convolution(operation)
            if contraction is None or is_compilation_chosen(operation):
                continue
            if not _costs_more(contraction) and not _is_in_update_loop(operation):
                encoder.encode(contraction)


def _is_in_update_loop(operation: Operation) -> bool:
    """Return whether an operation is part of a loop that becomes one kernel as it is."""
    return any(map(is_update_loop, enclosing(operation.parent_op())))


def _costs_more(contraction: TiledContraction) -> bool:
    """Return whether relaying out an operand costs more than it gains.

    That is so for an operand that is known to be large, seldom read, and different in each run.
    """
    view = contraction.view
    for value, affine_map in zip(view.inputs, view.maps, strict=False):
        used = affine_map.used_dims()
        inside = [contraction.sizes[loop] for loop in used]
        around = [size for loop, size in enumerate(contraction.sizes) if loop not in used]
        if None in inside or None in around or _is_unchanging(value, view.operation):
            continue
        elements, reads = (prod(size or 0 for size in sizes) for sizes in (inside, around))
        if elements >= LARGE_OPERAND and reads <= FEW_READS:
            return True
    return False


def _is_unchanging(value: SSAValue, operation: Operation) -> bool:
    """Return whether a value is a constant, a global's or invariant in a loop around a reader."""
    if made_by(value, *UNCHANGING):
        return True
    block = block_with(value)
    scope = operation.parent
    while scope is not None and scope is not block:
        if (parent := scope.parent_op()) is None or parent.name in LOOPS:
            return parent is not None
        scope = parent.parent
    return False

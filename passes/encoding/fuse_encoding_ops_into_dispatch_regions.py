"""Fuse encodings into the dispatch regions that make the tensors, which then store them encoded.

    %0 = flow.dispatch.region -> (tensor<4x5xf32>) { ... flow.return %x }
    %1 = iree_encoding.set_encoding %0 : tensor<4x5xf32> -> tensor<4x5xf32, #e>

becomes

    %1 = flow.dispatch.region -> (tensor<4x5xf32, #e>) {
      ...
      %y = iree_encoding.set_encoding %x : tensor<4x5xf32> -> tensor<4x5xf32, #e>
      flow.return %y
    }

Reshapes between the two move along. A tensor that has other readers is encoded outside, unless
`enable-aggressive-fusion` lets its region return both forms. An encoding whose sizes are not
available in front of the region stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.flow.dispatches import DispatchRegionOp
from ...dialects.iree_encoding.dialect import SetEncodingOp
from ...ir.host_programs import host_operations_of
from ...ir.locations import erase_if_unused, made_by
from .analysis.dispatch_regions import (
    ATTENTION,
    RESHAPES,
    dispatch_region_of,
    is_before,
    region_with_result,
    reshape_inside,
    reshaped_dims,
)
from .propagation import SET, UNSET

ENCODABLE = RESHAPES | {
    SET,
    UNSET,
    "arith.constant",
    "flow.return",
    ATTENTION,
    "iree_linalg_ext.gather",
    "tensor.empty",
    "tensor.extract_slice",
}
"""Operations that a region may hold, besides those of linalg, if it is to store encoded tensors."""


@dataclass(frozen=True)
class FuseEncodingOpsIntoDispatchRegionsPass(ModulePass):
    """Move `set_encoding` into the `flow.dispatch.region` that makes the tensor."""

    name = "iree-dispatch-creation-fuse-encoding-ops-into-dispatch-regions"

    enable_aggressive_fusion: bool = False
    """Whether tensors with other readers are also encoded where they are made."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for operation in host_operations_of(op, SetEncodingOp):
            if dispatch_region_of(operation) is None:
                self._fuse(operation)

    def _fuse(self, operation: SetEncodingOp) -> None:
        reshapes: list[Operation] = []
        value = operation.source
        while (reshape := made_by(value, *RESHAPES)) is not None:
            reshapes.insert(0, reshape)
            value = reshape.operands[0]
        if not isinstance(value, OpResult) or not isinstance(value.op, DispatchRegionOp):
            return
        region = value.op
        if not _can_encode(region):
            return
        if not all(is_before(size, region) for size in operation.encoding_dims):
            return
        chain = (value, *(reshape.results[0] for reshape in reshapes))
        is_shared = any(len(tuple(tensor.uses)) > 1 for tensor in chain)
        if is_shared and not self.enable_aggressive_fusion:
            return
        dims = reshaped_dims(value, reshapes)
        if dims is not None:
            _encode_inside(value, reshapes, operation, dims, keep=is_shared)


def _can_encode(region: DispatchRegionOp) -> bool:
    """Return whether a region has a single block whose operations may store encoded tensors."""
    return len(region.body.blocks) == 1 and all(
        operation.name in ENCODABLE or operation.name.startswith("linalg.")
        for operation in region.body.block.ops
    )


def _encode_inside(
    value: OpResult,
    reshapes: Sequence[Operation],
    operation: SetEncodingOp,
    dims: Sequence[SSAValue],
    *,
    keep: bool,
) -> None:
    """Replace an encoding by a result of the region that makes its tensor.

    The encoded tensor, whose dynamic sizes are `dims`, replaces the plain result, or with `keep`
    becomes an additional result.
    """
    region = cast(DispatchRegionOp, value.op)
    inside, stored = reshape_inside(value, reshapes)
    encode = operation.clone({operation.source: stored})
    encoded = inside.insert(encode).results[0]
    count = len(region.results)
    index = count if keep else value.index
    fused = region_with_result(region, index, encoded, dims)
    Rewriter.replace_op(operation, [], [fused.results[index]])
    if not keep:
        erase_if_unused(*reversed(reshapes))
    Rewriter.replace_op(region, [], fused.results[:count])

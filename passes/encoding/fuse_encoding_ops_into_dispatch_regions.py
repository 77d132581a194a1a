"""Fuse encodings into the dispatch regions that make the tensors, which then store them encoded.

    %0 = flow.dispatch.region -> (tensor<4x5xf32>) { ... flow.return %x }
    %1 = iree_encoding.set_encoding %0 : tensor<4x5xf32> -> tensor<4x5xf32, #e>

becomes

    %1 = flow.dispatch.region -> (tensor<4x5xf32, #e>) {
      ...
      %y = iree_encoding.set_encoding %x : tensor<4x5xf32> -> tensor<4x5xf32, #e>
      flow.return %y
    }

Reshapes of static shape between the two move along. A tensor that has other readers is encoded
outside, unless `enable-aggressive-fusion` lets its region return both forms. An encoding whose
sizes are not available in front of the region stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.flow.dispatches import DispatchRegionOp
from ...dialects.iree_encoding.dialect import SetEncodingOp
from ...ir.host_programs import host_operations
from ...ir.locations import builder_before, erase_if_unused, made_by
from ...ir.syntax.resource_directives import dynamic_dimensions
from .analysis.padded_operands import dispatch_region_of, result_dims_of
from .propagation.encoded_operations import SET, UNSET

RESHAPES = frozenset({"tensor.collapse_shape", "tensor.expand_shape"})
ENCODABLE = RESHAPES | {
    SET,
    UNSET,
    "arith.constant",
    "flow.return",
    "iree_linalg_ext.attention",
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
        for operation in tuple(host_operations(op)):
            if operation.name == SET and dispatch_region_of(operation) is None:
                self._fuse(cast(SetEncodingOp, operation))

    def _fuse(self, operation: SetEncodingOp) -> None:
        reshapes: list[Operation] = []
        value = operation.source
        while (reshape := made_by(value, *RESHAPES)) is not None:
            reshapes.insert(0, reshape)
            value = reshape.operands[0]
        if not isinstance(value, OpResult) or not isinstance(value.op, DispatchRegionOp):
            return
        region = value.op
        if not _can_encode(region) or any(dynamic_dimensions(r.results[0].type) for r in reshapes):
            return
        if not all(_is_before(size, region) for size in operation.encoding_dims):
            return
        chain = (value, *(reshape.results[0] for reshape in reshapes))
        is_shared = any(len(tuple(tensor.uses)) > 1 for tensor in chain)
        if is_shared and not self.enable_aggressive_fusion:
            return
        _encode_inside(value, reshapes, operation, keep=is_shared)


def _can_encode(region: DispatchRegionOp) -> bool:
    """Return whether a region has a single block whose operations may store encoded tensors."""
    return len(region.body.blocks) == 1 and all(
        operation.name in ENCODABLE or operation.name.startswith("linalg.")
        for operation in region.body.block.ops
    )


def _is_before(value: SSAValue, region: Operation) -> bool:
    """Return whether a value is available in front of an operation."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    if block is not region.parent:
        return isinstance(block, Block) and block.is_ancestor(region)
    return isinstance(owner, Block) or owner.is_before_in_block(region)


def _encode_inside(
    value: OpResult, reshapes: Sequence[Operation], operation: SetEncodingOp, *, keep: bool
) -> None:
    """Replace an encoding by a result of the region that makes its tensor.

    The encoded tensor replaces the plain result, or with `keep` becomes an additional result.
    """
    region = cast(DispatchRegionOp, value.op)
    returned = cast(Operation, region.body.block.last_op)
    inside = builder_before(returned)
    stored = returned.operands[value.index]
    for reshape in reshapes:
        stored = inside.insert(reshape.clone({reshape.operands[0]: stored})).results[0]
    encode = operation.clone({operation.source: stored})
    encoded = inside.insert(encode).results[0]
    old = list(region.results)
    sizes = result_dims_of(value) if not reshapes else ()
    types = [result.type for result in old]
    values = list(returned.operands)
    dims = [list(result_dims_of(result)) for result in old]
    index = value.index
    if keep:
        index = len(types)
        types.append(encoded.type)
        values.append(encoded)
        dims.append(list(sizes))
    else:
        types[index], values[index], dims[index] = encoded.type, encoded, list(sizes)
    returned.operands = values
    fused = DispatchRegionOp.build(
        operands=[list(region.workload), [size for listed in dims for size in listed]],
        result_types=[types],
        regions=[region.detach_region(inner) for inner in tuple(region.regions)],
        attributes=dict(region.attributes),
    )
    builder_before(region).insert(fused)
    Rewriter.replace_op(operation, [], [fused.results[index]])
    if not keep:
        erase_if_unused(*reversed(reshapes))
    Rewriter.replace_op(region, [], fused.results[: len(old)])

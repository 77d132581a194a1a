"""Hoist encodings out of dispatch regions, so that they can join the kernels that make the tensors.

    flow.dispatch.region { %1 = set_encoding %a; %2 = linalg.matmul ins(%1, ...) }

becomes a `set_encoding` in front of the region. Inside the region, `set_encoding` first moves up
through operations that widen, scale or broadcast one tensor, and `unset_encoding` moves down
through elementwise operations. Tensors of another shape get encodings with the map by which they
are read. An encoding that is only returned from the region stays. So does padding, which is no
layout of its own: the kernel that makes the tensor leaves room for it. Encodings in the branches
and loops of a region move as those at its top do.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.iree_encoding.dialect import SetEncodingOp
from ...dialects.iree_encoding.layouts import PaddingAttr
from ...ir.host_programs import CONSTANTS, DISPATCH_REGION, host_operations
from ...ir.locations import builder_before, erase_if_unused, made_by
from ...ir.tensor_types import ranked
from ..manager.module_pass import module_pass
from ..sizes.dimension_sizes import DimensionSizes
from .propagation import propagate_encodings

HOISTED_SIZES = CONSTANTS | {"tensor.dim"}
"""Producers of sizes that move out of a region together with the encodings that need them."""

HOISTED_PRODUCERS = CONSTANTS | {"tensor.extract_slice"}
"""Producers that move out of a region together with the encoding of their result."""


@module_pass("iree-dispatch-creation-hoist-encoding-ops")
def hoist_encoding_ops(module: ModuleOp) -> None:
    """Move encodings out of `flow.dispatch.region`."""
    sizes = DimensionSizes()
    for region in tuple(o for o in host_operations(module) if o.name == DISPATCH_REGION):
        propagate_encodings(region.regions[0].walk, sizes)
        for operation in tuple(region.regions[0].walk()):
            if isinstance(operation, SetEncodingOp):
                _hoist_out_of_region(operation, region)


def _hoist_out_of_region(operation: SetEncodingOp, region: Operation) -> None:
    """Move an encoding in front of its region if its operands are available there."""
    tensor = ranked(operation.result)
    if tensor is None or isinstance(tensor.encoding, PaddingAttr) or not tensor.get_shape():
        return
    if all(use.operation.name == "flow.return" for use in operation.result.uses):
        return
    producer = made_by(operation.source, *HOISTED_PRODUCERS)
    needed = list(operation.operands)
    if producer is not None and region.is_ancestor(producer):
        needed = [*producer.operands, *operation.encoding_dims]
    else:
        producer = None
    moved: list[Operation] = []
    if not all(_can_hoist(value, region, moved) for value in needed):
        return
    for each in moved:
        each.detach()
        Rewriter.insert_op(each, InsertPoint.before(region))
    builder = builder_before(region)
    clones: dict[SSAValue, SSAValue] = {}
    if producer is not None:
        clones[operation.source] = builder.insert(producer.clone()).results[0]
    encode = builder.insert(operation.clone(value_mapper=clones))
    Rewriter.replace_op(operation, [], [encode.results[0]])
    if producer is not None:
        erase_if_unused(producer)


def _can_hoist(value: SSAValue, region: Operation, moved: list[Operation]) -> bool:
    """Return whether a value is available in front of a region, once the ops in `moved` are there.

    The producers of sizes that it takes are added to them, operands first.
    """
    if not region.is_ancestor(value.owner):
        return True
    producer = made_by(value, *HOISTED_SIZES)
    if producer is None or not all(_can_hoist(each, region, moved) for each in producer.operands):
        return False
    if producer not in moved:
        moved.append(producer)
    return True

"""Encode the operations that are marked, or pad the tensors that dispatch regions pass on.

    %r = linalg.matmul {iree.opt.data_tiling} ins(%a, %b) outs(%c)

becomes the product of encoded tensors that `set-encoding` makes of it. The marks come from
`iree-dispatch-creation-annotate-data-tiling-hints`, or from the program itself. With
`encoding-option=padding` nothing is tiled, and no marks are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal, cast

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.flow.dispatches import DispatchRegionOp
from ...dialects.iree_encoding.dialect import SetEncodingOp, UnsetEncodingOp
from ...dialects.iree_encoding.interfaces import Tensor, tensor_encoding, with_encoding
from ...dialects.iree_encoding.layouts import PaddingAttr
from ...dialects.linalg.structured_view import IteratorType
from ...ir.host_programs import DISPATCH_REGION, host_operations
from ...ir.locations import builder_before, erase_if_unused, made_by
from ...ir.tensor_types import ranked
from .analysis.contraction_encoder import encoder_of
from .analysis.contraction_matching import TiledContraction, tiled_contraction
from .analysis.dispatch_regions import (
    ATTENTION,
    RESHAPES,
    dispatch_region_of,
    region_with_result,
    reshape_inside,
    reshaped_dims,
)


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
                _pad_operands(contraction)


_FEWEST_POINTS = 64
"""A result with fewer elements than this does not pay for padding."""


def _pad_operands(contraction: TiledContraction) -> None:
    """Pad factors that other dispatch regions compute (`padding<[0, ..., ?]>`), if that may pay.

    The producing region encodes the tensor last, and each reading region decodes it first.
    """
    view = contraction.view
    if dispatch_region_of(view.operation) is None:
        return
    loops = tuple(zip(view.iterators, contraction.sizes, strict=True))
    summed = [size for kind, size in loops if kind is IteratorType.REDUCTION]
    points = [size for kind, size in loops if kind is not IteratorType.REDUCTION]
    if None in summed:
        return
    known = [size for size in points if size is not None]
    if len(known) == len(points) and prod(known) < _FEWEST_POINTS:
        return
    for value in view.inputs:
        _pad(value, view.operation)


def _pad(value: SSAValue, reader: Operation) -> None:
    """Pad a tensor that another region computes, where reshapes may be between the two.

    The reshapes move into the region that computes the tensor. Nothing else may read the tensor.
    """
    reshapes: list[Operation] = []
    while (reshape := made_by(value, *RESHAPES)) is not None and value.has_one_use():
        reshapes.insert(0, reshape)
        value = reshape.operands[0]
    if not _can_be_padded(value, reader):
        return
    source = cast(OpResult, value)
    dims = reshaped_dims(source, reshapes)
    if dims is None:
        return
    read = reshapes[-1].results[0] if reshapes else source
    tensor = cast(Tensor, read.type)
    padding = [0] * (tensor.get_num_dims() - 1) + [DYNAMIC_INDEX]
    encoding = PaddingAttr.new([ArrayAttr(IntegerAttr(size, i64) for size in padding)])
    inside, stored = reshape_inside(source, reshapes)
    padded = with_encoding(tensor, encoding)
    encode = SetEncodingOp.build(operands=[stored, ()], result_types=[padded])
    region = cast(DispatchRegionOp, source.op)
    rebuilt = region_with_result(region, source.index, inside.insert(encode).result, dims)
    result = rebuilt.results[source.index]
    decode = UnsetEncodingOp.build(operands=[result, dims, ()], result_types=[tensor])
    read.replace_all_uses_with(builder_before(reader).insert(decode).result)
    erase_if_unused(*reversed(reshapes))
    Rewriter.replace_op(region, [], rebuilt.results)


def _can_be_padded(value: SSAValue, reader: Operation) -> bool:
    """Return whether a tensor that is read once comes from another dispatch region."""
    tensor = ranked(value)
    if not isinstance(value, OpResult) or value.op.name != DISPATCH_REGION or tensor is None:
        return False
    blocks = value.op.regions[0].blocks
    return (
        bool(tensor.get_shape())
        and tensor_encoding(tensor) is None
        and value.has_one_use()
        and len(blocks) == 1
        and value.op is not dispatch_region_of(reader)
        and not any(operation.name == ATTENTION for operation in blocks[0].ops)
    )

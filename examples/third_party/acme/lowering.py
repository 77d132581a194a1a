"""The pass `convert-acme-to-linalg`: lowers the operations to linalg, which has native kernels."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyFloat,
    FloatAttr,
    IndexType,
    ModuleOp,
    TensorType,
    i64,
)
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp, YieldOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)

from .operations import AddPositionsOp, RowEnergyOp, float_tensor

PARALLEL = IteratorTypeAttr(IteratorType.PARALLEL)
REDUCTION = IteratorTypeAttr(IteratorType.REDUCTION)
ELEMENT = AffineMapAttr(AffineMap.identity(2))
ROW = AffineMapAttr(AffineMap.from_callable(lambda i, j: (i,)))


def _empty_like(
    source: SSAValue, result_type: TensorType[AnyFloat], rewriter: PatternRewriter
) -> SSAValue:
    """Create a tensor of the result's type, with the dynamic sizes of the source."""
    sizes: list[SSAValue] = []
    for dimension, size in enumerate(result_type.get_shape()):
        if size < 0:
            number = rewriter.insert(arith.ConstantOp.from_int_and_width(dimension, IndexType()))
            sizes.append(rewriter.insert(tensor.DimOp(source, number.result)).result)
    return rewriter.insert(tensor.EmptyOp(sizes, result_type)).tensor


class LowerAddPositions(RewritePattern):
    """Lower to an elementwise `linalg.generic`: add the row's index to each element."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddPositionsOp, rewriter: PatternRewriter) -> None:
        element = float_tensor(op.source).element_type
        body = Block(arg_types=[element, element])
        row = IndexOp(0)
        place = arith.AddiOp(row.result, op.first)
        integer = arith.IndexCastOp(place.result, i64)
        number = arith.SIToFPOp(integer.result, element)
        total = arith.AddfOp(body.args[0], number.result)
        body.add_ops([row, place, integer, number, total, YieldOp(total.result)])
        empty = _empty_like(op.source, float_tensor(op.result), rewriter)
        maps, iterators = [ELEMENT, ELEMENT], [PARALLEL, PARALLEL]
        rewriter.replace(
            op, GenericOp([op.source], [empty], Region(body), maps, iterators, [op.result.type])
        )


class LowerRowEnergy(RewritePattern):
    """Lower to a `linalg.generic` that sums products along each row, starting from zero."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: RowEnergyOp, rewriter: PatternRewriter) -> None:
        element = float_tensor(op.source).element_type
        body = Block(arg_types=[element, element])
        square = arith.MulfOp(body.args[0], body.args[0])
        total = arith.AddfOp(square.result, body.args[1])
        body.add_ops([square, total, YieldOp(total.result)])
        zero = rewriter.insert(arith.ConstantOp(FloatAttr(0.0, element)))
        empty = _empty_like(op.source, float_tensor(op.result), rewriter)
        start = rewriter.insert(FillOp(inputs=[zero.result], outputs=[empty], res=[op.result.type]))
        maps, iterators = [ELEMENT, ROW], [PARALLEL, REDUCTION]
        rewriter.replace(
            op,
            GenericOp([op.source], start.results, Region(body), maps, iterators, [op.result.type]),
        )


class ConvertAcmeToLinalgPass(ModulePass):
    """Lower all operations of the dialect to linalg."""

    name = "convert-acme-to-linalg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        patterns: list[RewritePattern] = [LowerAddPositions(), LowerRowEnergy()]
        PatternRewriteWalker(GreedyRewritePatternApplier(patterns)).rewrite_module(op)

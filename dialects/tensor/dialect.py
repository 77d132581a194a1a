"""The tensor ops that xDSL lacks, and `tensor.pad`, for which xDSL is too strict."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import ClassVar

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    TensorType,
    UnitAttr,
    UnrankedTensorType,
    i64,
)
from xdsl.dialects.tensor import Tensor
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import EffectInstance, IsTerminator, MemoryEffect, Pure, get_effects
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import element_type, number_list
from ...ir.dialect_extension import extended
from ...ir.index_lists import INDEX, index_array, split_list
from ...ir.syntax.assembly_format import Syntax
from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.rows import PURE, Rows
from ...ir.tensor_types import shape_text, shapes_agree, static_shape
from .checks import check_slice, require_same_elements
from .reshapes import ExpandShapeOp, GatherOp, ReshapeOp, ScatterOp

UPDATES = frozenset(("tensor.insert", "tensor.insert_slice"))
"""Operations that return their second operand with elements written to it."""

_ANY_TENSOR = base(TensorType) | base(UnrankedTensorType)


row = Rows("tensor", {"shaped": _ANY_TENSOR, "numbers": DenseArrayBase.constr(i64)})


def _verify_bitcast(operation: Operation) -> None:
    source, dest = operation.operand_types[0], operation.result_types[0]
    widths = [getattr(element_type(each), "bitwidth", None) for each in (source, dest)]
    ranked = isinstance(source, TensorType) and isinstance(dest, TensorType)
    shapes = map(static_shape, (operation.operands[0], operation.results[0]))
    if widths[0] != widths[1] or (ranked and not shapes_agree(*shapes)):
        raise VerifyException(
            f"operand type '{source}' and result type '{dest}' are cast incompatible"
        )


BitcastOp = row(
    "bitcast",
    "source:shaped -> dest:shaped",
    " $source attr-dict : type($source) to type($dest)",
    traits=PURE,
    verify=_verify_bitcast,
    doc="""Reinterpret the bits of elements as another type of the same width.

    The shapes must be compatible.
    """,
)

RankOp = row(
    "rank",
    "tensor:shaped -> result",
    " $tensor attr-dict : type($tensor)",
    traits=PURE,
    doc="Return the rank of a tensor.",
)


def _verify_index_body(body: Region, rank: int, element: Attribute) -> None:
    """Check that a body of one block maps `rank` indices to an element."""
    block = body.blocks.first
    if block is None or len(body.blocks) != 1:
        raise VerifyException(f"expected a body of one block, but found {len(body.blocks)}")
    if len(block.args) != rank:
        raise VerifyException(f"expected the block to have {rank} arguments, got {len(block.args)}")
    if any(argument.type != INDEX for argument in block.args):
        raise VerifyException("all body arguments must be index")
    last = block.last_op
    if last is None or last.name != "tensor.yield" or len(last.operands) != 1:
        raise VerifyException("expected the body to end in 'tensor.yield' of one value")
    if last.operands[0].type != element:
        raise VerifyException(
            f"expected yield type to match shape element type: '{last.operands[0].type}' is not "
            f"'{element}'"
        )


class BodyEffects(MemoryEffect):
    """The effects of the body. xDSL's `tensor.yield` has no trait that says it has none."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        effects: set[EffectInstance] = set()
        for inner in op.regions[0].block.ops:
            if not inner.has_trait(IsTerminator):
                inner_effects = get_effects(inner)
                if inner_effects is None:
                    return None
                effects |= inner_effects
        return effects


def _verify_generate(generate: Operation) -> None:
    (result,) = generate.results
    shape = static_shape(result)
    dynamic = sum(size < 0 for size in shape)
    if dynamic != len(generate.operands):
        raise VerifyException(
            "must have as many index operands as dynamic extents in the result type: "
            f"{len(generate.operands)} and {dynamic}"
        )
    _verify_index_body(generate.regions[0], len(shape), element_type(result.type))


GenerateOp = row(
    "generate",
    "dynamic_extents* -> result:tensor | | body",
    "( $dynamic_extents)? $body attr-dict : type($result)",
    traits=(BodyEffects(),),
    verify=_verify_generate,
    doc="""Create a tensor whose elements the body computes from their indices.

    There is one operand per dynamic size. The body takes one index per dimension and yields an
    element.
    """,
)


@irdl_op_definition
class PadOp(SyntaxOperation):
    """Pad a tensor before and after each dimension.

    The body takes one index per dimension and yields the padding element. The verifier compares
    static sizes of the result with the padded sizes.
    """

    name = "tensor.pad"

    source = operand_def(TensorType)
    low = var_operand_def(IndexType)
    high = var_operand_def(IndexType)
    static_low = prop_def(DenseArrayBase.constr(i64))
    static_high = prop_def(DenseArrayBase.constr(i64))
    nofold = opt_prop_def(UnitAttr)
    region = region_def()
    result = result_def(TensorType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    def __init__(
        self,
        source: SSAValue,
        low: Sequence[int | SSAValue],
        high: Sequence[int | SSAValue],
        region: Region,
        result_type: Attribute,
    ) -> None:
        super().__init__(
            operands=[source, split_list(low)[1], split_list(high)[1]],
            result_types=[result_type],
            properties={"static_low": index_array(low), "static_high": index_array(high)},
            regions=[region],
        )

    SYNTAX: ClassVar[Syntax] = (
        " $source( nofold$nofold)? low",
        "dynamic-list($low, $static_low) high",
        "dynamic-list($high, $static_high) $region attr-dict : type($source) to type($result)",
    )

    def verify_(self) -> None:
        super().verify_()
        require_same_elements(self.source, self.result)
        shape, result = static_shape(self.source), static_shape(self.result)
        low, high = number_list(self.static_low), number_list(self.static_high)
        if not len(shape) == len(low) == len(high) == len(result):
            raise VerifyException(
                f"expected amounts and a result for the {len(shape)} dimensions of the source, "
                f"found {len(low)}, {len(high)} and {len(result)}"
            )
        for numbers, values in ((low, self.low), (high, self.high)):
            if numbers.count(DYNAMIC_INDEX) != len(values):
                raise VerifyException(
                    f"expected {numbers.count(DYNAMIC_INDEX)} dynamic amounts, got {len(values)}"
                )
        expected = [
            -1 if size < 0 or DYNAMIC_INDEX in (before, after) else size + before + after
            for size, before, after in zip(shape, low, high, strict=True)
        ]
        if any(
            wanted >= 0 and wanted != size for wanted, size in zip(expected, result, strict=True)
        ):
            raise VerifyException(
                f"specified type '{self.result.type}' does not match the inferred shape "
                f"({shape_text(expected)})"
            )
        _verify_index_body(self.region, len(shape), element_type(self.source.type))


def _verify_parallel_insert(insert: Operation) -> None:
    parent = insert.parent_op()
    if parent is None or parent.name != "scf.forall.in_parallel":
        raise VerifyException("expects parent op 'scf.forall.in_parallel'")
    source, dest, *_ = insert.operands
    check_slice(insert, dest, source)


ParallelInsertSliceOp = row(
    "parallel_insert_slice",
    "source:tensor dest:tensor offsets* sizes* strides*"
    " | static_offsets:numbers static_sizes:numbers static_strides:numbers",
    (
        " $source into $dest",
        "dynamic-list($offsets, $static_offsets) dynamic-list($sizes, $static_sizes)"
        " dynamic-list($strides, $static_strides) attr-dict : type($source) into type($dest)",
    ),
    verify=_verify_parallel_insert,
    doc="""Insert a slice into a shared output of a `scf.forall`.

    The parent must be `scf.forall.in_parallel`. Offsets, sizes and strides must describe a slice of
    the output with the shape of the source.
    """,
)

ExtendedTensor = extended(
    Tensor,
    [
        BitcastOp,
        ExpandShapeOp,
        GatherOp,
        GenerateOp,
        PadOp,
        ParallelInsertSliceOp,
        RankOp,
        ReshapeOp,
        ScatterOp,
    ],
)

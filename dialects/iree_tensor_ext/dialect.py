"""The `iree_tensor_ext` dialect: what kernels are bound to, as it is spelled today."""

from __future__ import annotations

import sys
from typing import ClassVar

from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure

from ...ir.dialect_extension import dialect_of
from ...ir.syntax.assembly_format import (
    Syntax,
)
from ...ir.syntax.operations import SyntaxOperation
from . import dispatch_tensors


class ComputeBarrier(SyntaxOperation):
    """Marks where computation on a tensor starts or ends; the value is unchanged."""

    value = operand_def(TensorType)
    value_dims = var_operand_def(IndexType())
    result = result_def(TensorType)
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = " $value attr-dict : type($value)({$value_dims})? -> type($result)"


@irdl_op_definition
class ComputeBarrierStartOp(ComputeBarrier):
    """No reshape moves up across this."""

    name = "iree_tensor_ext.compute_barrier.start"


@irdl_op_definition
class ComputeBarrierEndOp(ComputeBarrier):
    """No reshape moves down across this."""

    name = "iree_tensor_ext.compute_barrier.end"


@irdl_op_definition
class BitCastOp(SyntaxOperation):
    """The same bytes as a tensor of another type."""

    name = "iree_tensor_ext.bitcast"
    source = operand_def(TensorType)
    source_dims = var_operand_def(IndexType())
    result_dims = var_operand_def(IndexType())
    result = result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        " $source attr-dict : type($source)({$source_dims})? -> type($result)({$result_dims})?"
    )


IreeTensorExt = dialect_of("iree_tensor_ext", sys.modules[__name__], dispatch_tensors)

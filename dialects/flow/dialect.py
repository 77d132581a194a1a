"""The `flow` dialect: tensors that are transferred between devices, and dispatches on them."""

from __future__ import annotations

import sys
from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ...ir.dialect_extension import dialect_of
from ...ir.index_lists import INDEX
from ...ir.syntax.assembly_format import Syntax
from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.rows import PURE
from .. import iree_tensor_ext
from ..iree_encoding.interfaces import tensor_encoding, verify_same_tensor
from ..stream import workgroups
from ..stream.types import NamedParameter
from . import collectives, dispatches, tensors
from .tensors import row

TensorTransferOp = row(
    "tensor.transfer",
    "operand:any argument_dims* -> result:any | target:attr",
    " $operand : shaped($argument_dims, $operand, $result) to $target attr-dict-with-keyword",
    traits=PURE,
    doc="Transfer a tensor to another device.",
)


TensorBarrierOp = row(
    "tensor.barrier",
    "operand:any argument_dims* -> result:any | target:attr",
    " $operand : shaped($argument_dims, $operand, $result) on $target attr-dict-with-keyword",
    traits=PURE,
    doc="Pin a tensor to a device.",
)


class TensorConversion(SyntaxOperation):
    """Base of ops that convert a tensor to another type, with the dynamic sizes of both."""

    operand = operand_def(TensorType)
    operand_dims = var_operand_def(INDEX)
    result_dims = var_operand_def(INDEX)
    result = result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        " $operand : shaped($operand_dims, $operand) -> shaped($result_dims, $result)"
        " attr-dict-with-keyword"
    )


@irdl_op_definition
class TensorEncodeOp(TensorConversion):
    """Convert a tensor to another encoding, or to none.

    The verifier asks for one element type and compatible shapes.
    """

    name = "flow.tensor.encode"

    def verify_(self) -> None:
        super().verify_()
        verify_same_tensor(self.operand.type, self.result.type)


@irdl_op_definition
class TensorReshapeOp(TensorConversion):
    """Reshape a tensor.

    The verifier rejects tensors with an encoding.
    """

    name = "flow.tensor.reshape"

    def verify_(self) -> None:
        super().verify_()
        for type_ in (self.operand.type, self.result.type):
            if (encoding := tensor_encoding(type_)) is not None:
                raise VerifyException(f"a tensor of encoding {encoding} cannot be reshaped")


@irdl_attr_definition
class NamedParameterAttr(NamedParameter):
    """Constant contents of a tensor that are stored outside of the program."""

    name = "flow.parameter.named"


Flow = dialect_of(
    "flow",
    sys.modules[__name__],
    collectives,
    dispatches,
    tensors,
    iree_tensor_ext,
    workgroups,
)

"""The `iree_encoding` dialect: tensors with encodings whose layouts are chosen later."""

from __future__ import annotations

import sys
from typing import ClassVar, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
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
from . import attributes, layouts
from .attributes import EncodingAttr
from .interfaces import Tensor, tensor_encoding


def verify_encoding_operation(
    operation: SetEncodingOp | UnsetEncodingOp,
    encoded: Attribute,
    unencoded: Attribute,
    sides: tuple[str, str],
) -> None:
    """Check that both types have the same shape, one with an encoding and one without.

    `sides` names each of them, as source or result, in messages. Raises VerifyException.
    """
    name = operation.name.partition(".")[2]
    if not isinstance(unencoded, TensorType) or not isinstance(unencoded.encoding, NoneAttr):
        raise VerifyException(
            f"{sides[1]} of {name} op cannot have a tensor encoding, found {unencoded}"
        )
    encoding = tensor_encoding(encoded)
    if encoding is None or isinstance(encoding, layouts.UnknownAttr):
        raise VerifyException(
            f"{sides[0]} of {name} op expected to have a valid tensor encoding, found {encoded}"
        )
    old, new = unencoded.get_shape(), cast(Tensor, encoded).get_shape()
    if len(old) != len(new):
        raise VerifyException(
            f"cannot change the rank of the tensor, found {unencoded} and {encoded}"
        )
    if any(a != b and DYNAMIC_INDEX not in (a, b) for a, b in zip(old, new, strict=True)):
        raise VerifyException(
            f"expected to preserve the logical shape of the tensor, found {unencoded} and {encoded}"
        )
    provided, expected = len(operation.encoding_dims), encoding.dynamic_dimensions()
    if expected is not None and provided != expected:
        raise VerifyException(
            f"encoding expects {expected} dynamic encoding dimension(s), but {provided} provided"
        )


@irdl_op_definition
class SetEncodingOp(SyntaxOperation):
    """Encode a tensor: the target chooses its layout.

    Source and result have the same shape and element type; only the result has an encoding.
    `encoding_dims` are the dynamic sizes that the encoding itself has.
    """

    name = "iree_encoding.set_encoding"
    source = operand_def(TensorType)
    encoding_dims = var_operand_def(INDEX)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        " attr-dict $source( encoding_dims{$encoding_dims})? : type($source) -> type($result)"
    )

    def verify_(self) -> None:
        super().verify_()
        verify_encoding_operation(self, self.result.type, self.source.type, ("result", "source"))


@irdl_op_definition
class UnsetEncodingOp(SyntaxOperation):
    """Decode a tensor into row-major layout.

    Source and result have the same shape and element type; only the source has an encoding.
    """

    name = "iree_encoding.unset_encoding"
    source = operand_def(TensorType)
    result_dims = var_operand_def(INDEX)
    encoding_dims = var_operand_def(INDEX)
    result = result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        " attr-dict $source( encoding_dims{$encoding_dims})? : type($source)"
        " -> shaped($result_dims, $result)"
    )

    def verify_(self) -> None:
        verify_encoding_operation(self, self.source.type, self.result.type, ("source", "result"))
        encoding = tensor_encoding(self.source.type)
        is_of_today = not isinstance(encoding, EncodingAttr) or encoding.spelling == "today"
        # IREE of October 2024 omits the sizes; code that needs them emits `tensor.dim`. The base
        # class asks for all of them.
        if self.result_dims or is_of_today:
            super().verify_()


IreeEncoding = dialect_of("iree_encoding", sys.modules[__name__], attributes, layouts)

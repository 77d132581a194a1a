"""Operations of the `stream` dialect on tensors that the host can reach, element by element."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure

from ...ir.syntax.assembly_format import (
    Syntax,
)
from .dispatch_syntax import TracedTensors
from .tensor_ops import INDEX, TensorOperation
from .types import ResourceType


@irdl_op_definition
class TensorLoadOp(TensorOperation):
    """One element of a tensor that the host can reach."""

    name = "stream.tensor.load"
    source = operand_def(ResourceType)
    source_encoding = prop_def(Attribute)
    source_encoding_dims = var_operand_def(INDEX)
    source_size = operand_def(INDEX)
    indices = var_operand_def(INDEX)
    result = result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        " $source([$indices])?"
        " : type($source_encoding)({$source_encoding_dims})? in type($source){$source_size}"
        " -> type($result) attr-dict-with-keyword"
    )


@irdl_op_definition
class TensorStoreOp(TensorOperation):
    """The same tensor, which the host can reach, with one element written."""

    name = "stream.tensor.store"
    target = operand_def(ResourceType)
    target_encoding = prop_def(Attribute)
    target_encoding_dims = var_operand_def(INDEX)
    target_size = operand_def(INDEX)
    indices = var_operand_def(INDEX)
    value = operand_def()
    result = result_def(ResourceType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        " $value, $target([$indices])? : type($value)"
        " -> type($target_encoding)({$target_encoding_dims})? in tied($target) type($target,"
        " $result){$target_size} attr-dict-with-keyword"
    )


@irdl_op_definition
class TensorTraceOp(TensorOperation):
    """Print tensors that the host can reach when the program runs."""

    name = "stream.tensor.trace"
    key = prop_def(StringAttr)
    resources = var_operand_def(ResourceType)
    resource_sizes = var_operand_def(INDEX)
    resource_encodings = prop_def(ArrayAttr[Attribute])
    resource_encoding_dims = var_operand_def(INDEX)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        " $key = [",
        TracedTensors(),
        "] attr-dict-with-keyword",
    )

"""Operations of the `flow` dialect that make, cut and change whole tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ...ir.syntax.assembly_format import (
    Parsed,
    Syntax,
    values,
)
from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.typed_values import ConstantValue
from ..iree_encoding.interfaces import Tensor

INDEX = IndexType()


@dataclass(frozen=True, slots=True)
class ElementType:
    """No text: a value is of the type of a tensor's elements."""

    element: str
    tensor: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        type_ = parsed.types[self.tensor][0]
        if not isinstance(type_, TensorType):
            parser.raise_error(f"expected a ranked tensor, found {type_}")
        parsed.types[self.element] = [cast(Tensor, type_).element_type]

    def print(self, printer: Printer, operation: Operation) -> None:
        """Nothing is to be printed."""

    def verify(self, operation: Operation) -> None:
        names = (self.element, self.tensor)
        element, tensor = (values(operation, name)[0].type for name in names)
        if isinstance(tensor, TensorType) and cast(Tensor, tensor).element_type != element:
            raise VerifyException(f"expected an element of {tensor}, found {element}")


@irdl_op_definition
class TensorConstantOp(SyntaxOperation):
    """A tensor of constant contents."""

    name = "flow.tensor.constant"
    value = prop_def(Attribute)
    result = result_def()
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        " attr-dict ",
        ConstantValue(),
    )


class NewTensor(SyntaxOperation):
    """A tensor without contents."""

    result_dims = var_operand_def(INDEX)
    result = result_def(TensorType)

    SYNTAX: ClassVar[Syntax] = " : type($result)({$result_dims})? attr-dict-with-keyword"


@irdl_op_definition
class TensorEmptyOp(NewTensor):
    """Contents that nobody reads."""

    name = "flow.tensor.empty"


@irdl_op_definition
class TensorAllocaOp(NewTensor):
    """Storage for a tensor."""

    name = "flow.tensor.alloca"


@irdl_op_definition
class TensorSplatOp(SyntaxOperation):
    """A tensor with the same value everywhere."""

    name = "flow.tensor.splat"
    value = operand_def()
    result_dims = var_operand_def(INDEX)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        " $value : type($result)({$result_dims})? attr-dict-with-keyword",
        ElementType("value", "result"),
    )


@irdl_op_definition
class TensorCloneOp(SyntaxOperation):
    """A copy."""

    name = "flow.tensor.clone"
    operand = operand_def(TensorType)
    argument_dims = var_operand_def(INDEX)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        " $operand : type($operand, $result)({$argument_dims})? attr-dict-with-keyword"
    )


@irdl_op_definition
class TensorTieShapeOp(SyntaxOperation):
    """The same tensor, with what its dynamic sizes are."""

    name = "flow.tensor.tie_shape"
    operand = operand_def(TensorType)
    dynamic_dims = var_operand_def(INDEX)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = " $operand attr-dict : type($operand, $result)({$dynamic_dims})?"


@irdl_op_definition
class TensorSliceOp(SyntaxOperation):
    """A copy of a part."""

    name = "flow.tensor.slice"
    source = operand_def(TensorType)
    source_dims = var_operand_def(INDEX)
    start_indices = var_operand_def(INDEX)
    lengths = var_operand_def(INDEX)
    result_dims = var_operand_def(INDEX)
    result = result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        " $source[$start_indices for $lengths] : type($source)({$source_dims})?"
        " -> type($result)({$result_dims})? attr-dict-with-keyword"
    )


@irdl_op_definition
class TensorUpdateOp(SyntaxOperation):
    """The same tensor with another one written to a part of it."""

    name = "flow.tensor.update"
    target = operand_def(TensorType)
    target_dims = var_operand_def(INDEX)
    start_indices = var_operand_def(INDEX)
    update = operand_def(TensorType)
    update_dims = var_operand_def(INDEX)
    result = result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        " $update, $target[$start_indices] : type($update)({$update_dims})?"
        " -> tied($target) type($target, $result)({$target_dims})? attr-dict-with-keyword"
    )


@irdl_op_definition
class TensorLoadOp(SyntaxOperation):
    """One element."""

    name = "flow.tensor.load"
    source = operand_def(TensorType)
    source_dims = var_operand_def(INDEX)
    indices = var_operand_def(INDEX)
    result = result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        " $source([$indices])? : type($source)({$source_dims})? attr-dict-with-keyword",
        ElementType("result", "source"),
    )


@irdl_op_definition
class TensorStoreOp(SyntaxOperation):
    """The same tensor with one element written."""

    name = "flow.tensor.store"
    value = operand_def()
    target = operand_def(TensorType)
    target_dims = var_operand_def(INDEX)
    indices = var_operand_def(INDEX)
    result = result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    SYNTAX: ClassVar[Syntax] = (
        " $value, $target([$indices])? : type($target, $result)({$target_dims})?"
        " attr-dict-with-keyword",
        ElementType("value", "target"),
    )


@irdl_op_definition
class TensorBitCastOp(SyntaxOperation):
    """The same bytes as a tensor of another type."""

    name = "flow.tensor.bitcast"
    source = operand_def(TensorType)
    source_dims = var_operand_def(INDEX)
    result_dims = var_operand_def(INDEX)
    result = result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        " $source : type($source)({$source_dims})? -> type($result)({$result_dims})?"
        " attr-dict-with-keyword"
    )

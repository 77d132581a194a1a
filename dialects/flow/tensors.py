"""Operations of the `flow` dialect that make, cut and change whole tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Attribute, Operation, TypedAttribute
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

from ...ir.syntax.resource_directives import operand_key
from ...ir.syntax.rows import (
    ATTRIBUTES,
    Dimensions,
    Operand,
    Operands,
    Optional,
    Parsed,
    Syntax,
    SyntaxOperation,
    Type,
    build,
    parse_pieces,
    same_types,
    type_of,
)
from ..iree_encoding.interfaces import Tensor

INDEX = IndexType()


def shaped(name: str) -> Syntax:
    """`tensor<?x4xf32>{%m}`: the type of a tensor with its dynamic sizes."""
    return (Type(name), Dimensions(f"{name}_dims"))


def same_tensor(dims: str) -> Syntax:
    """` %t : tensor<?x4xf32>{%m}`: an operand, and a result of the same type."""
    return (" ", Operand("operand"), " : ", Type("operand", ("result",)), Dimensions(dims))


@dataclass(frozen=True, slots=True)
class ConstantValue:
    """`dense<1.0> : tensor<4xf32>`: the value, which has the result's type."""

    @property
    def printed_attributes(self) -> tuple[str, ...]:
        return ("value",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        position = parser.pos
        value = parser.parse_attribute()
        type_ = self.type_carried_by(value)
        if not isinstance(type_, Attribute):
            parser.raise_error("expected a value that has a type", position)
        parsed.attributes["value"] = value
        parsed.types["result"] = [type_]

    def print(self, printer: Printer, operation: Operation) -> None:
        printer.print_attribute(cast(Attribute, operation.get_attr_or_prop("value")))

    def fits(self, operation: Operation) -> bool:
        carried = self.type_carried_by(operation.get_attr_or_prop("value"))
        return carried == type_of(operation, "result")

    def type_carried_by(self, value: Attribute | None) -> object:
        """The type that the text of a value ends with, if it ends with one."""
        own = value.get_type() if isinstance(value, TypedAttribute) else None
        return own if own is not None else getattr(value, "type", None)


@irdl_op_definition
class TensorConstantOp(SyntaxOperation):
    """A tensor of constant contents."""

    name = "flow.tensor.constant"
    value = prop_def(Attribute)
    result = result_def()
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (ATTRIBUTES, " ", ConstantValue())


class NewTensor(SyntaxOperation):
    """A tensor without contents."""

    result_dims = var_operand_def(INDEX)
    result = result_def(TensorType)

    SYNTAX: ClassVar[Syntax] = (" : ", Type("result"), Dimensions("result_dims"), ATTRIBUTES)


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
        " ",
        Operand("value"),
        " : ",
        *shaped("result"),
        ATTRIBUTES,
    )

    @classmethod
    def parse(cls, parser: Parser) -> SyntaxOperation:
        return _parse_with_element(cls, parser, "value", "result")

    def verify_(self) -> None:
        super().verify_()
        _verify_element(self.value.type, self.result.type)


@irdl_op_definition
class TensorCloneOp(SyntaxOperation):
    """A copy."""

    name = "flow.tensor.clone"
    operand = operand_def(TensorType)
    argument_dims = var_operand_def(INDEX)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (*same_tensor("argument_dims"), ATTRIBUTES)


@irdl_op_definition
class TensorTieShapeOp(SyntaxOperation):
    """The same tensor, with what its dynamic sizes are."""

    name = "flow.tensor.tie_shape"
    operand = operand_def(TensorType)
    dynamic_dims = var_operand_def(INDEX)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (*same_tensor("dynamic_dims"), ATTRIBUTES)


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
        " ",
        Operand("source"),
        "[",
        Operands("start_indices"),
        " for ",
        Operands("lengths"),
        "] : ",
        *shaped("source"),
        " -> ",
        *shaped("result"),
        ATTRIBUTES,
    )


@dataclass(frozen=True, slots=True)
class UpdatedTarget:
    """`%target as tensor<...>{%n}`: the target, which is the result too."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        target = parsed.operands["target"][0]
        position = parser.pos
        tied = parser.parse_optional_unresolved_operand()
        if tied is not None:
            if operand_key(tied) != operand_key(target):
                parser.raise_error(f"expected '%{target.operand_name}'", position)
            parser.parse_keyword("as")
        Type("target", ("result",)).parse(parser, parsed)
        Dimensions("target_dims").parse(parser, parsed)

    def print(self, printer: Printer, operation: Operation) -> None:
        Operand("target").print(printer, operation)
        printer.print_string(" as ")
        Type("target").print(printer, operation)
        Dimensions("target_dims").print(printer, operation)

    def fits(self, operation: Operation) -> bool:
        return same_types(operation, "target", ("result",))


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
        " ",
        Operand("update"),
        ", ",
        Operand("target"),
        "[",
        Operands("start_indices"),
        "] : ",
        *shaped("update"),
        " -> ",
        UpdatedTarget(),
        ATTRIBUTES,
    )


INDICES = Optional(("[", Operands("indices"), "]"), anchor="indices")


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
        " ",
        Operand("source"),
        INDICES,
        " : ",
        *shaped("source"),
        ATTRIBUTES,
    )

    @classmethod
    def parse(cls, parser: Parser) -> SyntaxOperation:
        return _parse_with_element(cls, parser, "result", "source")

    def verify_(self) -> None:
        super().verify_()
        _verify_element(self.result.type, self.source.type)


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
        " ",
        Operand("value"),
        ", ",
        Operand("target"),
        INDICES,
        " : ",
        Type("target", ("result",)),
        Dimensions("target_dims"),
        ATTRIBUTES,
    )

    @classmethod
    def parse(cls, parser: Parser) -> SyntaxOperation:
        return _parse_with_element(cls, parser, "value", "target")

    def verify_(self) -> None:
        super().verify_()
        _verify_element(self.value.type, self.target.type)


def _parse_with_element(
    cls: type[SyntaxOperation], parser: Parser, element: str, tensor: str
) -> SyntaxOperation:
    """Read an operation in whose text an element's type is left out: it is the tensor's."""
    parsed = Parsed()
    parse_pieces(parser, parsed, cls.SYNTAX)
    type_ = parsed.types[tensor][0]
    if not isinstance(type_, TensorType):
        parser.raise_error(f"expected a ranked tensor, found {type_}")
    parsed.types[element] = [cast(Tensor, type_).element_type]
    return build(cls, parser, parsed)


def _verify_element(element: Attribute, tensor: Attribute) -> None:
    if isinstance(tensor, TensorType) and cast(Tensor, tensor).element_type != element:
        raise VerifyException(f"expected an element of {tensor}, found {element}")


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
        " ",
        Operand("source"),
        " : ",
        *shaped("source"),
        " -> ",
        *shaped("result"),
        ATTRIBUTES,
    )


FLOW_TENSOR_OPERATIONS: list[type[Operation]] = [
    TensorAllocaOp,
    TensorBitCastOp,
    TensorCloneOp,
    TensorConstantOp,
    TensorEmptyOp,
    TensorLoadOp,
    TensorSliceOp,
    TensorSplatOp,
    TensorStoreOp,
    TensorTieShapeOp,
    TensorUpdateOp,
]

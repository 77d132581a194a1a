"""`tosa.variable`, `variable_read` and `variable_write`: tensors that functions share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    ShapedType,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import number_list
from ...ir.index_lists import INDEX
from ...ir.symbols import find_symbol
from ...ir.syntax.assembly_format import Parsed, Syntax
from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.rows import READS, Rows
from ...ir.syntax.typed_values import type_carried_by
from ...ir.tensor_types import shapes_agree

_OPEN = -1
"""A dynamic size in `var_shape`."""


class TypeOrInitialValue:
    """`: type` or `= value`, of which `type` and `var_shape` are the element type and the sizes."""

    printed_attributes: ClassVar[tuple[str, ...]] = ("initial_value", "type", "var_shape")

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        position = parser.pos
        if parser.parse_optional_punctuation("=") is not None:
            value = parsed.attributes["initial_value"] = parser.parse_attribute()
            type_ = type_carried_by(value)
        else:
            parser.parse_punctuation(":")
            type_ = parser.parse_type()
        if not isinstance(type_, TensorType):
            parser.raise_error("expected ranked type", position)
        tensor = cast("TensorType[Attribute]", type_)
        sizes = [max(size, _OPEN) for size in tensor.get_shape()]
        list_type = TensorType(INDEX, [len(sizes)])
        parsed.attributes["type"] = tensor.element_type
        parsed.attributes["var_shape"] = DenseIntOrFPElementsAttr.from_list(list_type, sizes)

    def print(self, printer: Printer, operation: Operation) -> None:
        value = operation.properties.get("initial_value")
        printer.print_string(" : " if value is None else " = ")
        printer.print_attribute(cast(VariableOp, operation).tensor if value is None else value)

    def verify(self, operation: Operation) -> None:
        pass


@irdl_op_definition
class VariableOp(SyntaxOperation):
    """Define a variable of the module: a tensor type, and the value that it has first."""

    name = "tosa.variable"
    sym_name = prop_def(StringAttr)
    var_shape = prop_def(DenseIntOrFPElementsAttr)
    type = prop_def(Attribute)
    initial_value = opt_prop_def(Attribute)
    traits = traits_def(SymbolOpInterface())

    SYNTAX: ClassVar[Syntax] = (" @$sym_name attr-dict", TypeOrInitialValue())

    @property
    def tensor(self) -> TensorType[Attribute]:
        """The type of the variable."""
        sizes = number_list(self.var_shape)
        return TensorType(self.type, [DYNAMIC_INDEX if size == _OPEN else size for size in sizes])

    def verify_(self) -> None:
        super().verify_()
        carried = type_carried_by(self.initial_value)
        if isinstance(carried, ShapedType):
            _verify_fits(carried, self.tensor, "initial_value")


def _verify_fits(found: Attribute, tensor: TensorType[Attribute], what: str) -> None:
    value = cast("TensorType[Attribute]", found)
    if value.element_type != tensor.element_type:
        raise VerifyException(
            f"require same element type for '{what}' ('{value.element_type}') and the input "
            f"tensor ('{tensor.element_type}')"
        )
    if not shapes_agree(value.get_shape(), tensor.get_shape()):
        raise VerifyException(
            f"require same shapes for '{what}' ('{value}') and the input tensor ('{tensor}')"
        )


def _verify_access(operation: Operation, values: Sequence[Attribute], what: str) -> None:
    """Check that the variable exists and has the type of a value that is read or written."""
    name = cast(StringAttr, operation.properties["name"]).data
    variable = find_symbol(operation, name)
    if not isinstance(variable, VariableOp):
        raise VerifyException(f"'{name}' has not been declared by 'tosa.variable'")
    for value in values:
        _verify_fits(value, variable.tensor, what)


_row = Rows("tosa", {}, default="tensor")

VariableReadOp = _row(
    "variable_read",
    "-> output1 | name:str",
    " @$name attr-dict : type($output1)",
    traits=READS,
    verify=lambda op: _verify_access(op, op.result_types, "output1"),
    doc="Return the value of a variable.",
)


VariableWriteOp = _row(
    "variable_write",
    "input1 | name:str",
    " @$name, $input1 attr-dict : type($input1)",
    verify=lambda op: _verify_access(op, op.operand_types, "input1"),
    doc="Set the value of a variable.",
)

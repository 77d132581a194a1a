"""The operations of func that xDSL lacks: functions as values."""

from __future__ import annotations

from typing import Self

from xdsl.dialects.builtin import FlatSymbolRefAttrConstr, FunctionType
from xdsl.dialects.func import Func
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure, SymbolTable
from xdsl.utils.exceptions import VerifyException

from .extension import extended


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A function as a value."""

    name = "func.constant"

    value = prop_def(FlatSymbolRefAttrConstr)
    result = result_def(FunctionType)

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parser.parse_attribute()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        return cls.create(
            result_types=[parser.parse_type()],
            properties={"value": value},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        function = SymbolTable.lookup_symbol(self, self.value)
        if function is None or function.name != "func.func":
            raise VerifyException(f"reference to undefined function '{self.value.string_value()}'")
        function_type = function.properties["function_type"]
        if function_type != self.result.type:
            raise VerifyException(
                f"reference to function with mismatched type: '{function_type}' is not "
                f"'{self.result.type}'"
            )


@irdl_op_definition
class CallIndirectOp(IRDLOperation):
    """A call of a function that is a value."""

    name = "func.call_indirect"

    callee = operand_def(FunctionType)
    arguments = var_operand_def()
    res = var_result_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        callee = parser.parse_unresolved_operand()
        position = parser.pos
        arguments = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        function_type = parser.parse_function_type()
        inputs = function_type.inputs.data
        return cls.create(
            operands=(
                parser.resolve_operand(callee, function_type),
                *parser.resolve_operands(arguments, inputs, position),
            ),
            result_types=function_type.outputs.data,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.callee)
        with printer.in_parens():
            printer.print_list(self.arguments, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.callee.type)

    def verify_(self) -> None:
        function_type = self.callee.type
        if not isinstance(function_type, FunctionType):
            raise VerifyException(f"callee must be a function, but is '{function_type}'")
        found = FunctionType.from_lists(list(self.arguments.types), list(self.res.types))
        if found != function_type:
            raise VerifyException(f"callee is '{function_type}', but is called as '{found}'")


ExtendedFunc = extended(Func, [CallIndirectOp, ConstantOp])

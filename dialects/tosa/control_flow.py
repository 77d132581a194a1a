"""`tosa.cond_if`, `while_loop` and `yield`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Region
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import element_type
from ...ir.syntax.region_headers import parse_bindings, parse_types, print_bindings, print_types
from ...ir.syntax.rows import PURE, Rows

YieldOp = Rows("tosa", {}, default="any")(
    "yield",
    "arguments*",
    "( $arguments)? attr-dict( : type($arguments))?",
    traits=(IsTerminator(), *PURE),
    doc="Yield the results of a branch or of a loop's condition or body.",
)


def _verify_region(
    region: Region, arguments: Sequence[Attribute], what: str
) -> Sequence[Attribute]:
    """Check the arguments of a region of one block; return the types that it yields."""
    block = region.blocks.first
    if block is None or len(region.blocks) != 1:
        raise VerifyException(f"expected '{what}' to be one block")
    found = [argument.type for argument in block.args]
    if found != list(arguments):
        raise VerifyException(
            f"expected arguments of '{what}' to be ({', '.join(map(str, arguments))}), but found "
            f"({', '.join(map(str, found))})"
        )
    terminator = block.last_op
    if not isinstance(terminator, YieldOp):
        raise VerifyException(f"expected '{what}' to end in 'tosa.yield'")
    return terminator.operand_types


def _verify_types(found: Sequence[Attribute], expected: Sequence[Attribute], what: str) -> None:
    if list(found) != list(expected):
        raise VerifyException(
            f"require same types of '{what}' and results: ({', '.join(map(str, found))}) and "
            f"({', '.join(map(str, expected))})"
        )


@irdl_op_definition
class IfOp(IRDLOperation):
    """Run one of two regions, depending on a tensor of i1.

    Both regions take the inputs as arguments and yield values of the result types.
    """

    name = "tosa.cond_if"

    condition = operand_def()
    inputs = var_operand_def()
    outputs = var_result_def()
    then_region = region_def()
    else_region = region_def()

    traits = traits_def(RecursiveMemoryEffect())

    # Custom parser: the header binds names that the regions do not declare as arguments.
    @classmethod
    def parse(cls, parser: Parser) -> Self:
        condition = parser.parse_unresolved_operand()
        bindings = parse_bindings(parser)
        unresolved = [operand for _, operand in bindings]
        parser.parse_punctuation(":")
        condition_type = parser.parse_type()
        position = parser.pos
        input_types: Sequence[Attribute] = ()
        if unresolved:
            input_types = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, parser.parse_type
            )
        parser.parse_punctuation("->")
        result_types = parse_types(parser)
        operands = (
            parser.resolve_operand(condition, condition_type),
            *parser.resolve_operands(unresolved, input_types, position),
        )
        then_region = parser.parse_region()
        parser.parse_keyword("else")
        else_region = parser.parse_region()
        return cls.create(
            operands=operands,
            result_types=result_types,
            attributes=parser.parse_optional_attr_dict(),
            regions=[then_region, else_region],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.condition)
        if self.inputs:
            printer.print_string(" ")
            print_bindings(printer, self.then_region.block.args, self.inputs)
        printer.print_string(" : ")
        printer.print_attribute(self.condition.type)
        if self.inputs:
            printer.print_string(" ")
            with printer.in_parens():
                printer.print_list(self.inputs.types, printer.print_attribute)
        printer.print_string(" -> ")
        print_types(printer, self.result_types)
        printer.print_string(" ")
        printer.print_region(self.then_region)
        printer.print_string(" else ")
        printer.print_region(self.else_region)
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        if element_type(self.condition.type) != i1:
            raise VerifyException(
                f"expected a tensor of i1 as condition, got '{self.condition.type}'"
            )
        for what, region in (
            ("then_graph", self.then_region),
            ("else_graph", self.else_region),
        ):
            yielded = _verify_region(region, self.inputs.types, what)
            _verify_types(yielded, self.result_types, what)


@irdl_op_definition
class WhileOp(IRDLOperation):
    """Repeat a body as long as a condition on its values holds.

    Inputs, results, arguments of both regions and the values that the body yields have the same
    types; the condition yields one value.
    """

    name = "tosa.while_loop"

    inputs = var_operand_def()
    outputs = var_result_def()
    condition_region = region_def()
    body_region = region_def()

    traits = traits_def(RecursiveMemoryEffect())

    # Custom parser: the header binds the arguments of the condition.
    @classmethod
    def parse(cls, parser: Parser) -> Self:
        bindings = parse_bindings(parser)
        parser.parse_punctuation(":")
        position = parser.pos
        function_type = parser.parse_function_type()
        input_types = function_type.inputs.data
        operands = parser.resolve_operands([each for _, each in bindings], input_types, position)
        condition = parser.parse_region(
            [name.resolve(each) for (name, _), each in zip(bindings, input_types, strict=True)]
        )
        parser.parse_keyword("do")
        body = parser.parse_region()
        return cls.create(
            operands=operands,
            result_types=function_type.outputs.data,
            attributes=parser.parse_optional_attr_dict(),
            regions=[condition, body],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_bindings(printer, self.condition_region.block.args, self.inputs)
        printer.print_string(" : ")
        printer.print_operation_type(self)
        printer.print_string(" ")
        printer.print_region(self.condition_region, print_entry_block_args=False)
        printer.print_string(" do ")
        printer.print_region(self.body_region)
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        _verify_types(self.inputs.types, self.result_types, "input_list")
        condition = _verify_region(self.condition_region, self.inputs.types, "cond_graph")
        if len(condition) != 1:
            raise VerifyException(f"expected 'cond_graph' to yield 1 value, got {len(condition)}")
        if element_type(condition[0]) != i1:
            raise VerifyException(
                f"'cond_graph' result must be a boolean tensor, got '{condition[0]}'"
            )
        body = _verify_region(self.body_region, self.inputs.types, "body_graph")
        _verify_types(body, self.result_types, "body_graph")

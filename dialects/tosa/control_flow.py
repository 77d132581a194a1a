"""`tosa.cond_if`, `while_loop` and `yield`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation, Region
from xdsl.irdl import (
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
from ...ir.syntax.assembly_format import Parsed, Syntax, values
from ...ir.syntax.operations import SyntaxOperation
from ...ir.syntax.region_headers import BoundRegion, parse_bindings, print_bindings
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


class _InputBindings:
    """` (%inner = %outer, ...)`, or nothing: names that the regions do not declare as arguments."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.operands["inputs"] = [operand for _, operand in parse_bindings(parser)]

    def print(self, printer: Printer, operation: Operation) -> None:
        if inputs := values(operation, "inputs"):
            printer.print_string(" ")
            print_bindings(printer, operation.regions[0].block.args, inputs)


@irdl_op_definition
class IfOp(SyntaxOperation):
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

    SYNTAX: ClassVar[Syntax] = (
        " $condition",
        _InputBindings(),
        " : type($condition)( (type($inputs)))? -> result-types($outputs)"
        " $then_region else $else_region attr-dict",
    )

    def verify_(self) -> None:
        super().verify_()
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
class WhileOp(SyntaxOperation):
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

    SYNTAX: ClassVar[Syntax] = (
        " ",
        BoundRegion("inputs", "outputs", "condition_region"),
        " do $body_region attr-dict",
    )

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

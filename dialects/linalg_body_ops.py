"""`linalg.yield` and `linalg.index`, the operations that occur only in the bodies of others."""

from __future__ import annotations

from typing import Self

from xdsl.dialects.builtin import IndexType, IntegerAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The values of the outputs' elements at one point of the loops."""

    name = "linalg.yield"

    arguments = var_operand_def()

    traits = traits_def(IsTerminator(), Pure())

    def __init__(self, *arguments: SSAValue) -> None:
        super().__init__(operands=[arguments])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        position = parser.pos
        unresolved = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        arguments: tuple[SSAValue, ...] = ()
        if unresolved:
            parser.parse_punctuation(":")
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
            arguments = tuple(parser.resolve_operands(unresolved, types, position))
        return cls.create(operands=arguments, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        if self.arguments:
            printer.print_string(" ")
            printer.print_list(self.arguments, printer.print_ssa_value)
            printer.print_string(" : ")
            printer.print_list(self.arguments.types, printer.print_attribute)


@irdl_op_definition
class IndexOp(IRDLOperation):
    """The position along one loop of the enclosing structured operation."""

    name = "linalg.index"

    dim = prop_def(IntegerAttr.constr(i64))
    result = result_def(IndexType)

    traits = traits_def(Pure())

    def __init__(self, dim: int) -> None:
        super().__init__(properties={"dim": IntegerAttr(dim, i64)}, result_types=[IndexType()])

    def verify_(self) -> None:
        parent = self.parent_op()
        if parent is None or not parent.name.startswith("linalg."):
            raise VerifyException("expected parent op with LinalgOp interface")
        loops = getattr(parent, "loop_count", None)
        if isinstance(loops, int) and not 0 <= self.dim.value.data < loops:
            raise VerifyException(
                f"expected dim ({self.dim.value.data}) to be lower than the number of loops "
                f"({loops}) of the enclosing LinalgOp"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        dim = parser.parse_integer(allow_boolean=False, allow_negative=False)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        result_type = parser.parse_type()
        return cls.create(
            properties={"dim": IntegerAttr(dim, i64)},
            attributes=attributes,
            result_types=[result_type],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.dim.value.data}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

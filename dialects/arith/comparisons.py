"""`arith.cmpi`, `cmpf` and `select` on tensors and vectors, and checks of predicates."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, TensorType, VectorType, i1, i64
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import with_element
from ...ir.verification import check

_PREDICATES = {
    "arith.cmpf": tuple(arith.CMPF_COMPARISON_OPERATIONS),
    "arith.cmpi": tuple(arith.CMPI_COMPARISON_OPERATIONS),
}
"""The predicates of each op; the position of each is its number."""


@check(*_PREDICATES)
def _comparison(operation: Operation) -> None:
    numbers = range(len(_PREDICATES[operation.name]))
    if operation.properties.get("predicate") not in [IntegerAttr(each, i64) for each in numbers]:
        raise VerifyException(f"expected a predicate from 0 to {numbers[-1]} of type i64")


_NONE = arith.FastMathFlagsAttr("none")


class _ComparisonOp(IRDLOperation):
    """Base of the comparisons; the result is i1, or a tensor or vector of i1."""

    SCALAR: ClassVar[type[Operation]]
    """xDSL's class, which is used for scalars."""
    FAST_MATH: ClassVar[bool] = False
    """Whether the op has a property `fastmath`."""

    predicate = prop_def(IntegerAttr)
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    # Custom parser: a comparison of scalars becomes an op of xDSL's class.
    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        position = parser.pos
        word = parser.parse_optional_str_literal() or parser.parse_identifier()
        predicates = _PREDICATES[cls.name]
        if word not in predicates:
            parser.raise_error(f"expected one of {', '.join(predicates)}", position)
        properties: dict[str, Attribute] = {"predicate": IntegerAttr(predicates.index(word), i64)}
        parser.parse_punctuation(",")
        left = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        right = parser.parse_unresolved_operand()
        if cls.FAST_MATH:
            properties["fastmath"] = _NONE
            if parser.parse_optional_keyword("fastmath"):
                flags = arith.FastMathFlagsAttr.parse_parameter(parser)
                properties["fastmath"] = arith.FastMathFlagsAttr(flags)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        value_type = parser.parse_type()
        result_type = with_element(value_type, i1)
        made = cls.SCALAR if result_type == i1 else cls
        return made.create(
            operands=[parser.resolve_operand(each, value_type) for each in (left, right)],
            result_types=[result_type],
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {_PREDICATES[self.name][self.predicate.value.data]}, ")
        printer.print_list(self.operands, printer.print_ssa_value)
        flags = self.properties.get("fastmath", _NONE)
        if isinstance(flags, arith.FastMathFlagsAttr) and flags != _NONE:
            printer.print_string(" fastmath")
            flags.print_parameter(printer)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)

    def verify_(self) -> None:
        if self.lhs.type != self.rhs.type:
            raise VerifyException(
                f"expected operands of the same type, found '{self.lhs.type}' and '{self.rhs.type}'"
            )
        wanted = with_element(self.lhs.type, i1)
        if self.result.type != wanted:
            raise VerifyException(
                "failed to verify that result type has i1 element type and same shape as "
                f"operands: expected '{wanted}', found '{self.result.type}'"
            )


@irdl_op_definition
class CmpiOp(_ComparisonOp):
    """Compare integers elementwise."""

    name = "arith.cmpi"

    SCALAR: ClassVar[type[Operation]] = arith.CmpiOp


@irdl_op_definition
class CmpfOp(_ComparisonOp):
    """Compare floats elementwise.

    A predicate is ordered (`olt`), false for NaN, or unordered (`ult`), true for NaN.
    """

    name = "arith.cmpf"

    fastmath = opt_prop_def(arith.FastMathFlagsAttr)

    SCALAR: ClassVar[type[Operation]] = arith.CmpfOp
    FAST_MATH: ClassVar[bool] = True


@irdl_op_definition
class SelectOp(IRDLOperation):
    """Select one of two values, or elementwise from two tensors or vectors.

    The condition is i1, or has the shape of the values.
    """

    name = "arith.select"

    cond = operand_def()
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    traits = traits_def(Pure())

    # Custom parser: a selection of scalars becomes an op of xDSL's class.
    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        unresolved = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        position = parser.pos
        types: list[Attribute] = [parser.parse_type()]
        if parser.parse_optional_punctuation(","):
            types.append(parser.parse_type())
        condition_type = types[0] if len(types) == 2 else i1
        operands = parser.resolve_operands(
            unresolved, [condition_type, types[-1], types[-1]], position
        )
        made = arith.SelectOp if condition_type == i1 else cls
        return made.create(operands=operands, result_types=[types[-1]], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        if self.cond.type != i1:
            printer.print_attribute(self.cond.type)
            printer.print_string(", ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        if not self.lhs.type == self.rhs.type == self.result.type:
            raise VerifyException(
                "failed to verify that all of {true_value, false_value, result} have same type: "
                f"'{self.lhs.type}', '{self.rhs.type}', '{self.result.type}'"
            )
        shaped = isinstance(self.result.type, TensorType | VectorType)
        if self.cond.type != i1 and not (
            shaped and self.cond.type == with_element(self.result.type, i1)
        ):
            raise VerifyException(
                "failed to verify that condition is signless i1 or has matching shape: "
                f"'{self.cond.type}'"
            )

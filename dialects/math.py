"""The math ops that xDSL lacks."""

from __future__ import annotations

from typing import ClassVar, Self

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import AnyFloat, i1
from xdsl.dialects.math import FloatingPointLikeUnaryMathOperation, Math
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..ir.attribute_access import element_type, with_element
from ..ir.dialect_extension import extended, variant
from ..ir.syntax.assembly_format import Syntax
from ..ir.syntax.operations import SyntaxOperation
from .arith.flags import FAST_MATH

_NONE = FastMathFlagsAttr("none")


@irdl_op_definition
class ErfcOp(FloatingPointLikeUnaryMathOperation):
    """Compute 1 - erf(x), accurately even where the result is close to 0."""

    name = "math.erfc"

    traits = traits_def(Pure())


@irdl_op_definition
class _ClassificationOp(IRDLOperation):
    """Test whether a float is finite, infinite, NaN or normal.

    Normal means none of infinite, NaN, zero and subnormal. The result is i1 or a shape of i1.
    """

    name = "math.isfinite"

    operand = operand_def()
    result = result_def()
    fastmath = prop_def(FastMathFlagsAttr, default_value=_NONE)

    traits = traits_def(Pure())

    # Custom parser: the type of the result is derived from the operand's.
    @classmethod
    def parse(cls, parser: Parser) -> Self:
        unresolved = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        flags = attributes.pop("fastmath", _NONE)
        parser.parse_punctuation(":")
        operand = parser.resolve_operand(unresolved, parser.parse_type())
        return cls.create(
            operands=[operand],
            result_types=[with_element(operand.type, i1)],
            properties={"fastmath": flags},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.operand)
        flags = {} if self.fastmath == _NONE else {"fastmath": self.fastmath}
        printer.print_op_attributes({**flags, **self.attributes})
        printer.print_string(" : ")
        printer.print_attribute(self.operand.type)

    def verify_(self) -> None:
        if not isinstance(element_type(self.operand.type), AnyFloat):
            raise VerifyException(
                f"operand must be floating-point-like, but got '{self.operand.type}'"
            )
        wanted = with_element(self.operand.type, i1)
        if self.result.type != wanted:
            raise VerifyException(
                f"expected a result of type '{wanted}', but found '{self.result.type}'"
            )


@irdl_op_definition
class ClampFOp(SyntaxOperation):
    """Clamp a float to the range from `min` to `max`."""

    name = "math.clampf"

    value = operand_def()
    min = operand_def()
    max = operand_def()
    result = result_def()
    fastmath = prop_def(FastMathFlagsAttr, default_value=_NONE)

    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        " $value to [$min, $max]",
        FAST_MATH,
        " attr-dict : type($value, $min, $max, $result)",
    )


@irdl_op_definition
class SincosOp(SyntaxOperation):
    """Compute the sine and the cosine of a float."""

    name = "math.sincos"

    operand = operand_def()
    sin = result_def()
    cos = result_def()
    fastmath = prop_def(FastMathFlagsAttr, default_value=_NONE)

    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        " $operand",
        FAST_MATH,
        " attr-dict : type($operand, $sin, $cos)",
    )


_FLOAT_CLASSES = ("finite", "inf", "nan", "normal")

ExtendedMath = extended(
    Math,
    [
        ClampFOp,
        ErfcOp,
        *(variant(_ClassificationOp, f"math.is{kind}") for kind in _FLOAT_CLASSES),
        SincosOp,
    ],
)

"""The operations of math that xDSL lacks."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import TensorType, VectorType, i1
from xdsl.dialects.math import FloatingPointLikeUnaryMathOperation, Math
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .extension import extended
from .syntax import ATTRIBUTES, Operand, Parsed, Syntax, SyntaxOperation, Type, print_pieces

_NONE = FastMathFlagsAttr("none")


@irdl_op_definition
class ErfcOp(FloatingPointLikeUnaryMathOperation):
    """1 - erf(x), exact where that is close to 0."""

    name = "math.erfc"

    traits = traits_def(Pure())


class _FastMath:
    """` fastmath<fast>`, or nothing."""

    printed_attributes = ("fastmath",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        flags = _NONE
        if parser.parse_optional_keyword("fastmath"):
            flags = FastMathFlagsAttr(FastMathFlagsAttr.parse_parameter(parser))
        parsed.attributes["fastmath"] = flags

    def print(self, printer: Printer, operation: object) -> None:
        flags = getattr(operation, "fastmath", _NONE)
        if flags != _NONE:
            printer.print_string(" fastmath")
            flags.print_parameter(printer)


_FAST_MATH = _FastMath()


def _boolean_of(value_type: Attribute) -> Attribute:
    """i1, or a tensor or vector of i1 of the same shape."""
    if isinstance(value_type, TensorType):
        return TensorType(i1, value_type.get_shape())
    if isinstance(value_type, VectorType):
        return VectorType(i1, value_type.get_shape())
    return i1


class _ClassificationOp(SyntaxOperation):
    """Base of the questions about a float."""

    operand = operand_def()
    result = result_def()
    fastmath = prop_def(FastMathFlagsAttr, default_value=_NONE)

    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (" ", Operand("operand"), _FAST_MATH, ATTRIBUTES, " : ")

    @classmethod
    def parse(cls, parser: Parser) -> SyntaxOperation:
        unresolved = parser.parse_unresolved_operand()
        parsed = Parsed()
        _FAST_MATH.parse(parser, parsed)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        operand = parser.resolve_operand(unresolved, parser.parse_type())
        return cls.create(
            operands=[operand],
            result_types=[_boolean_of(operand.type)],
            properties=parsed.attributes,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        print_pieces(printer, self, self.SYNTAX)
        printer.print_attribute(self.operand.type)

    def verify_(self) -> None:
        if self.result.type != _boolean_of(self.operand.type):
            raise VerifyException(
                f"expected a result of type '{_boolean_of(self.operand.type)}', but found "
                f"'{self.result.type}'"
            )


@irdl_op_definition
class IsFiniteOp(_ClassificationOp):
    """Whether a float is neither infinite nor NaN."""

    name = "math.isfinite"


@irdl_op_definition
class IsInfOp(_ClassificationOp):
    """Whether a float is infinite."""

    name = "math.isinf"


@irdl_op_definition
class IsNanOp(_ClassificationOp):
    """Whether a float is NaN."""

    name = "math.isnan"


@irdl_op_definition
class IsNormalOp(_ClassificationOp):
    """Whether a float is neither zero, subnormal, infinite nor NaN."""

    name = "math.isnormal"


@irdl_op_definition
class ClampFOp(SyntaxOperation):
    """A float, or the bound that it is beyond."""

    name = "math.clampf"

    value = operand_def()
    min = operand_def()
    max = operand_def()
    result = result_def()
    fastmath = prop_def(FastMathFlagsAttr, default_value=_NONE)

    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        *(" ", Operand("value"), " to [", Operand("min"), ", ", Operand("max"), "]"),
        *(_FAST_MATH, ATTRIBUTES, " : ", Type("value", ("min", "max", "result"))),
    )


@irdl_op_definition
class SincosOp(SyntaxOperation):
    """Sine and cosine."""

    name = "math.sincos"

    operand = operand_def()
    sin = result_def()
    cos = result_def()
    fastmath = prop_def(FastMathFlagsAttr, default_value=_NONE)

    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        *(" ", Operand("operand"), _FAST_MATH, ATTRIBUTES),
        *(" : ", Type("operand", ("sin", "cos"))),
    )


ExtendedMath = extended(
    Math,
    [ClampFOp, ErfcOp, IsFiniteOp, IsInfOp, IsNanOp, IsNormalOp, SincosOp],
)

"""StableHLO's elementwise ops and constants."""

from __future__ import annotations

from typing import Self, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure

from ...ir.syntax.keyword_attributes import Word
from .attributes import ComparisonDirectionAttr, ComparisonTypeAttr
from .checks import (
    verify_bitcast,
    verify_clamp,
    verify_complex_parts,
    verify_constant,
    verify_reduced_precision,
    verify_same_shape,
    verify_select,
)
from .syntax import COMPLEX_TYPES, EXPONENT_MANTISSA, SELECT_TYPES, define

_UNARY = (
    "abs cbrt ceil convert cosine count_leading_zeros exponential exponential_minus_one floor imag "
    "is_finite log log_plus_one logistic negate not popcnt real round_nearest_afz "
    "round_nearest_even rsqrt sign sine sqrt tan tanh uniform_quantize uniform_dequantize"
)
_BINARY = (
    "add and atan2 divide maximum minimum multiply or power remainder shift_left "
    "shift_right_arithmetic shift_right_logical subtract xor"
)
UNARY_OPS = [
    define(
        f"stablehlo.{name}",
        "operand -> result | result_accuracy:accuracy?",
        " $operand attr-dict : types($operand, $result)",
        verify=verify_complex_parts if name in ("real", "imag", "abs") else verify_same_shape,
    )
    for name in _UNARY.split()
]
BINARY_OPS = [
    define(
        f"stablehlo.{name}",
        "lhs rhs -> result",
        " $lhs, $rhs attr-dict : types($lhs, $rhs, $result)",
        verify=verify_same_shape,
    )
    for name in _BINARY.split()
]
ROWS = [
    *UNARY_OPS,
    *BINARY_OPS,
    define(
        "stablehlo.clamp",
        "min operand max -> result",
        " $min, $operand, $max attr-dict : types($min, $operand, $max, $result)",
        verify=verify_clamp,
    ),
    define(
        "stablehlo.compare",
        "lhs rhs -> result | comparison_direction:direction compare_type:comparison?",
        (
            " ",
            Word("comparison_direction", ComparisonDirectionAttr),
            ", $lhs, $rhs",
            Word("compare_type", ComparisonTypeAttr, optional=True),
            " attr-dict : signature($lhs, $rhs, $result)",
        ),
        verify=verify_same_shape,
    ),
    define(
        "stablehlo.reduce_precision",
        "operand -> result | exponent_bits mantissa_bits",
        (
            " $operand, format = ",
            EXPONENT_MANTISSA,
            " attr-dict : types($operand, $result)",
        ),
        verify=verify_reduced_precision,
    ),
    define(
        "stablehlo.complex",
        "lhs rhs -> result",
        (" $lhs, $rhs attr-dict : ", COMPLEX_TYPES),
        verify=verify_complex_parts,
    ),
    define(
        "stablehlo.select",
        "pred on_true on_false -> result",
        (" $pred, $on_true, $on_false attr-dict : ", SELECT_TYPES),
        verify=verify_select,
    ),
    define(
        "stablehlo.bitcast_convert",
        "operand -> result",
        " $operand attr-dict : signature($operand, $result)",
        verify=verify_bitcast,
    ),
]


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A constant tensor.

    The type of the value is the type of the result, or for quantised results their storage type.
    """

    name = "stablehlo.constant"

    value = prop_def(DenseIntOrFPElementsAttr | DenseResourceAttr)
    output = result_def()

    traits = traits_def(Pure(), ConstantLike())

    # Custom parser: the result has the type of the attribute.
    @classmethod
    def parse(cls, parser: Parser) -> Self:
        if parser.parse_optional_punctuation("("):
            # The syntax of quantised constants, whose attribute differs in type from the result.
            parser.parse_punctuation(")")
            attributes = dict[str, Attribute]()
            if parser.parse_optional_punctuation("<"):
                attributes |= parser.parse_optional_attr_dict()
                parser.parse_punctuation(">")
            attributes |= parser.parse_optional_attr_dict()
            parser.parse_punctuation(":")
            (result,) = parser.parse_function_type().outputs.data
            value: Attribute = attributes.pop("value")
            return cls.create(
                properties={"value": value}, attributes=attributes, result_types=[result]
            )
        attributes = parser.parse_optional_attr_dict()
        value = parser.parse_attribute()
        result: Attribute | None = getattr(value, "type", None)
        if not isinstance(result, TensorType):
            parser.raise_error("expected a dense constant of a tensor type")
        return cls.create(
            properties={"value": value},
            attributes=attributes,
            result_types=[cast(Attribute, result)],
        )

    def print(self, printer: Printer) -> None:
        if self.output.type != self.value.type:
            printer.print_string("() <{value = ")
            printer.print_attribute(self.value)
            printer.print_string("}>")
            printer.print_op_attributes(self.attributes)
            printer.print_string(" : ")
            printer.print_operation_type(self)
            return
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)

    def verify_(self) -> None:
        verify_constant(self)

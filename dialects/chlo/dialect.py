"""The ops and attributes of CHLO."""

from __future__ import annotations

import sys

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import attribute, flag, integer
from ...ir.dialect_extension import dialect_of, variant
from ...ir.syntax.assembly_format import Parsed
from ..stablehlo.attributes import ComparisonDirectionAttr as _Direction
from ..stablehlo.attributes import ComparisonTypeAttr as _Type
from ..stablehlo.attributes import StructAttribute, parse_integers, word_attribute
from ..stablehlo.checks import operand_shape, require_shape, verify_same_shape
from ..stablehlo.elementwise import ConstantOp
from ..stablehlo.syntax import Custom, define
from . import scan
from .broadcast_checks import verify_broadcasting, verify_broadcasting_select

UNARY = (
    "_asin_acos_kernel acos acosh asin asinh atan atanh bessel_i1e conj cosh constant_like digamma "
    "erf erf_inv erfc is_inf is_neg_inf is_pos_inf lgamma sinh square tan"
)
BINARY = "next_after polygamma zeta mulhi"
BROADCASTING = (
    "add and atan2 complex divide maximum minimum multiply next_after or polygamma power remainder "
    "shift_left shift_right_arithmetic shift_right_logical subtract xor zeta"
)


ComparisonDirectionAttr = word_attribute("chlo.comparison_direction", *_Direction.WORDS)
ComparisonTypeAttr = word_attribute("chlo.comparison_type", *_Type.WORDS)
PrecisionAttr = word_attribute("chlo.precision", "DEFAULT", "HIGH", "HIGHEST")


@irdl_attr_definition
class RaggedDotAttr(StructAttribute):
    """`#chlo.ragged_dot<lhs_contracting_dimensions = [1], ...>`."""

    name = "chlo.ragged_dot"
    FIELDS = dict.fromkeys(
        (
            *("lhs_batching_dimensions", "rhs_batching_dimensions"),
            *("lhs_contracting_dimensions", "rhs_contracting_dimensions"),
            *("lhs_ragged_dimensions", "rhs_group_dimensions"),
        ),
        parse_integers,
    )


def _parse_top_k(parser: Parser, parsed: Parsed) -> None:
    with parser.in_parens():
        parsed.operands["operand"] = [parser.parse_unresolved_operand()]
        while parser.parse_optional_punctuation(","):
            position = parser.pos
            word = parser.parse_identifier()
            parser.parse_punctuation("=")
            if word == "k":
                parsed.attributes["k"] = IntegerAttr(parser.parse_integer(), 64)
            elif word == "is_stable":
                parsed.attributes[word] = IntegerAttr.from_bool(parser.parse_boolean())
            else:
                parser.raise_error("expected k or is_stable", position)


def _print_top_k(printer: Printer, operation: Operation) -> None:
    with printer.in_parens():
        printer.print_ssa_value(operation.operands[0])
        printer.print_string(f", k = {integer(operation, 'k')}")
        if attribute(operation, "is_stable") is not None:
            printer.print_string(f", is_stable = {str(flag(operation, 'is_stable')).lower()}")


def _parse_pair(parser: Parser, parsed: Parsed) -> None:
    position = parser.pos
    parsed.types["operand"] = [parser.parse_type()]
    parser.parse_punctuation("->")
    types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    if len(types) != 2:
        parser.raise_error(f"expected 2 types of results, got {len(types)}", position)
    parsed.types["values"], parsed.types["indices"] = [types[0]], [types[1]]


def _print_pair(printer: Printer, operation: Operation) -> None:
    printer.print_attribute(operation.operands[0].type)
    printer.print_string(" -> ")
    with printer.in_parens():
        printer.print_list(operation.result_types, printer.print_attribute)


def _verify_top_k(operation: Operation) -> None:
    """Check that both results have the operand's shape with `k` elements in the last dimension."""
    *outer, length = operand_shape(operation, 0) or (0,)
    count = integer(operation, "k")
    if count < 0 or 0 <= length < count:
        raise VerifyException(f"expected k in [0, {length}], got {count}")
    for index in (0, 1):
        require_shape(operation, (*outer, count), index)


ROWS: list[type[Operation]] = [
    variant(ConstantOp, "chlo.constant"),
    *(
        define(
            f"chlo.{name}",
            "operand -> result",
            " $operand attr-dict : type($operand) -> type($result)",
            verify=verify_same_shape,
        )
        for name in UNARY.split()
        if name != "constant_like"
    ),
    *(
        define(
            f"chlo.{name}",
            "lhs rhs -> result",
            " $lhs, $rhs attr-dict : type($lhs), type($rhs) -> type($result)",
            verify=verify_same_shape,
        )
        for name in BINARY.split()
    ),
    *(
        define(
            f"chlo.broadcast_{name}",
            "lhs rhs -> result | broadcast_dimensions?",
            " $lhs, $rhs attr-dict : signature($lhs, $rhs, $result)",
            verify=verify_broadcasting,
        )
        for name in BROADCASTING.split()
    ),
    define("chlo.constant_like", "operand -> result | value"),
    define(
        "chlo.broadcast_compare",
        "lhs rhs -> result | broadcast_dimensions? comparison_direction compare_type?",
        " $lhs, $rhs attr-dict : signature($lhs, $rhs, $result)",
        verify=verify_broadcasting,
    ),
    define(
        "chlo.broadcast_select",
        "pred on_true on_false -> result",
        " $pred, $on_true, $on_false attr-dict : signature($pred, $on_true, $on_false, $result)",
        verify=verify_broadcasting_select,
    ),
    define(
        "chlo.top_k",
        "operand -> values indices | k is_stable?",
        (
            Custom(_parse_top_k, _print_top_k, ("k", "is_stable")),
            " attr-dict : ",
            Custom(_parse_pair, _print_pair),
        ),
        verify=_verify_top_k,
    ),
    define(
        "chlo.ragged_dot",
        "lhs rhs group_sizes -> result | ragged_dot_dimension_numbers precision_config?",
    ),
]

Chlo = dialect_of("chlo", sys.modules[__name__], scan)

"""The `check` dialects of StableHLO and of IREE: assertions in test programs.

Both have operations of the same names. IREE writes operands in parentheses:

    check.expect_almost_eq %a, %b, tolerance = 0.1 : tensor<4xf32>
    check.expect_almost_eq(%a, %b, atol 1.0e-4, rtol 0.0) : tensor<4xf32>

Both are read. Operations with IREE's tolerances are printed in IREE's form.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    TensorType,
    f32,
    f64,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..ir.attribute_access import attribute, text
from ..ir.dialect_extension import dialect_of
from ..ir.syntax.assembly_format import Parsed, Syntax
from ..ir.syntax.rows import Rows
from .hal.targets import DeviceType
from .stablehlo.syntax import Custom, define


def _parse_options(parser: Parser, parsed: Parsed) -> None:
    """Parse the optional `, tolerance = 0.1, max_ulp_difference = 3`."""
    while parser.parse_optional_punctuation(","):
        position = parser.pos
        word = parser.parse_identifier()
        parser.parse_punctuation("=")
        if word == "tolerance":
            parsed.attributes[word] = FloatAttr(float(parser.parse_number()), f64)
        elif word in ("max_ulp_difference", "min_ulp_difference"):
            parsed.attributes[word] = IntegerAttr(parser.parse_integer(), 64)
        else:
            parser.raise_error("expected tolerance or max_ulp_difference", position)


def _parse_tolerances(parser: Parser, parsed: Parsed) -> None:
    """Parse IREE's optional `, atol 1.0e-4, rtol 0.0`."""
    parsed.attributes |= {name: FloatAttr(number, f32) for name, number in IREE_TOLERANCES.items()}
    while parser.parse_optional_punctuation(","):
        position = parser.pos
        word = parser.parse_identifier()
        if word not in IREE_TOLERANCES:
            parser.raise_error("expected atol or rtol", position)
        parsed.attributes[word] = FloatAttr(float(parser.parse_number()), f32)


def _print_options(printer: Printer, operation: Operation) -> None:
    for name in _OPTIONS:
        found = attribute(operation, name)
        if isinstance(found, FloatAttr | IntegerAttr):
            number = found.value.data
            shown = str(number) if isinstance(number, int) else f"{number:.6e}"
            between = " " if name in IREE_TOLERANCES else " = "
            printer.print_string(f", {name}{between}{shown}")


IREE_TOLERANCES = {"atol": 1e-4, "rtol": 0.0}
"""The defaults of IREE. Numbers may differ by `atol + rtol * abs(rhs)`."""
_OPTIONS = ("tolerance", "max_ulp_difference", "min_ulp_difference", *IREE_TOLERANCES)


def _parse_value(parser: Parser, parsed: Parsed) -> None:
    position = parser.pos
    value = parser.parse_attribute()
    kind: Attribute | None = getattr(value, "type", None)
    if not isinstance(value, DenseIntOrFPElementsAttr) or not isinstance(kind, TensorType):
        parser.raise_error("expected a dense constant", position)
    parsed.attributes["value"] = value
    parsed.types["lhs"] = [kind]


def _parse_compared(parser: Parser, parsed: Parsed, *, almost: bool) -> None:
    """Parse what is compared: an operand with another one, or with a constant."""
    is_enclosed = parser.parse_optional_punctuation("(") is not None
    parsed.operands["lhs"] = [parser.parse_unresolved_operand()]
    parser.parse_punctuation(",")
    right = parser.parse_optional_unresolved_operand()
    if right is None:
        _parse_value(parser, parsed)
    else:
        parsed.operands["rhs"] = [right]
    if not is_enclosed:
        _parse_options(parser, parsed)
        return
    if almost:
        _parse_tolerances(parser, parsed)
    parser.parse_punctuation(")")


def _print_compared(printer: Printer, operation: Operation) -> None:
    is_enclosed = attribute(operation, "atol") is not None
    printer.print_string("(" if is_enclosed else " ")
    printer.print_list(operation.operands, printer.print_ssa_value)
    value = attribute(operation, "value")
    if value is not None:
        printer.print_string(", ")
        printer.print_attribute(value)
    _print_options(printer, operation)
    printer.print_string(")" if is_enclosed else "")


def _parse_type(parser: Parser, parsed: Parsed) -> None:
    if parser.parse_optional_punctuation(":") is not None:
        parsed.types["lhs"] = [parser.parse_type()]


def _print_type(printer: Printer, operation: Operation) -> None:
    if attribute(operation, "atol") is not None:
        printer.print_string(" : ")
        printer.print_attribute(operation.operand_types[0])


def _verify_constant(operation: Operation) -> None:
    value, expected = attribute(operation, "value"), operation.operand_types[0]
    kind: Attribute | None = getattr(value, "type", None)
    if not isinstance(value, DenseIntOrFPElementsAttr) or kind != expected:
        raise VerifyException(f"expected 'value' to be a dense constant of type {expected}")


def _two(*, almost: bool = False, types: str = "type($lhs, $rhs)") -> Syntax:
    return (_compared(almost=almost), f" attr-dict : {types}")


def _constant(*, almost: bool = False) -> Syntax:
    return (_compared(almost=almost), " attr-dict", Custom(_parse_type, _print_type))


def _compared(*, almost: bool) -> Custom:
    parse = partial(_parse_compared, almost=almost)
    return Custom(parse, _print_compared, ("value", *_OPTIONS))


AgreeOp = define(
    "check.agree",
    "lhs rhs -> result | how tolerance? rtol? max_ulp_difference? min_ulp_difference? is_unsigned?",
    " $how, $lhs, $rhs attr-dict : signature($lhs, $rhs, $result)",
    pure=False,
)
"""The op to which the others are converted, an extension of this project.

`how` is "eq", "almost_eq" or "close".
"""

ProbeOp = define("check.probe", "operand | probe_id?", pure=False)
"""The op to which `interpreter.probe` is converted, and without a name `interpreter.print`: an
extension of this project."""

ProbedOp = define("check.probed", "-> result | probe_id iteration?", pure=False)
"""What `check.probe` of this name was given in its run `iteration`, from 0: an extension, too."""

HoldsOp = define("check.holds", "condition values* | message:str", pure=False)
"""`cf.assert` with values, an extension of this project: `{0}` in the message is the first."""


def filled_message(op: Operation, values: Sequence[Any]) -> str:
    """Return the message of `check.holds`, with values for placeholders, or of `cf.assert`."""

    def value(placeholder: re.Match[str]) -> str:
        position = int(placeholder[1])
        return str(int(values[position])) if position < len(values) else placeholder[0]

    if op.name == "cf.assert":
        return text(op, "msg")
    return re.sub(r"\{(\d+)\}", value, text(op, "message"))


_TRUTH = "($operand) attr-dict : type($operand)"

ROWS: list[type[IRDLOperation]] = [
    define("check.expect_eq", "lhs rhs", _two(), pure=False),
    define(
        "check.expect_almost_eq",
        "lhs rhs | tolerance? atol? rtol?",
        _two(almost=True),
        pure=False,
    ),
    define(
        "check.expect_close",
        "lhs rhs | max_ulp_difference? min_ulp_difference?",
        _two(types="type($lhs), type($rhs)"),
        pure=False,
    ),
    define(
        "check.expect_serialized_eq",
        "expected | probe_id iteration?",
        " $expected, probe_id = $probe_id(, iter = uint32($iteration))? attr-dict"
        " : type($expected)",
        pure=False,
    ),
    define(
        "check.expect_eq_const", "lhs | value", _constant(), pure=False, verify=_verify_constant
    ),
    define(
        "check.expect_almost_eq_const",
        "lhs | value tolerance? atol? rtol?",
        _constant(almost=True),
        pure=False,
        verify=_verify_constant,
    ),
    define("check.expect_true", "operand", _TRUTH, pure=False),
    define("check.expect_false", "operand", _TRUTH, pure=False),
    Rows("check", {"device": DeviceType()}, default="any")(
        "expect_all_true", "device:device? operand", f"(<$device>)?{_TRUTH}"
    ),
]

Check = dialect_of("check", sys.modules[__name__])

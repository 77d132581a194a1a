"""The `check` dialect of StableHLO: assertions in test programs."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, TensorType
from xdsl.dialects.builtin import f64 as _f64
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..ir.attribute_access import attribute, text
from ..ir.dialect_extension import dialect_of
from ..ir.syntax.assembly_format import Parsed
from .stablehlo.syntax import Custom, define


def _parse_options(parser: Parser, parsed: Parsed) -> None:
    """Parse the optional `, tolerance = 0.1, max_ulp_difference = 3`."""
    while parser.parse_optional_punctuation(","):
        position = parser.pos
        word = parser.parse_identifier()
        parser.parse_punctuation("=")
        if word == "tolerance":
            parsed.attributes[word] = FloatAttr(float(parser.parse_number()), _f64)
        elif word in ("max_ulp_difference", "min_ulp_difference"):
            parsed.attributes[word] = IntegerAttr(parser.parse_integer(), 64)
        else:
            parser.raise_error("expected tolerance or max_ulp_difference", position)


def _print_options(printer: Printer, operation: Operation) -> None:
    for name in _OPTIONS:
        found = attribute(operation, name)
        if isinstance(found, FloatAttr | IntegerAttr):
            number = found.value.data
            shown = str(number) if isinstance(number, int) else f"{number:.6e}"
            printer.print_string(f", {name} = {shown}")


_OPTIONS = ("tolerance", "max_ulp_difference", "min_ulp_difference")
_TOLERANCES = Custom(_parse_options, _print_options, _OPTIONS)


def _parse_value(parser: Parser, parsed: Parsed) -> None:
    position = parser.pos
    value = parser.parse_attribute()
    kind: Attribute | None = getattr(value, "type", None)
    if not isinstance(value, DenseIntOrFPElementsAttr) or not isinstance(kind, TensorType):
        parser.raise_error("expected a dense constant", position)
    parsed.attributes["value"] = value
    parsed.types["lhs"] = [kind]


def _print_value(printer: Printer, operation: Operation) -> None:
    value = attribute(operation, "value")
    if value is not None:
        printer.print_attribute(value)


_VALUE = Custom(
    _parse_value,
    _print_value,
    ("value",),
    lambda op: getattr(attribute(op, "value"), "type", None) == op.operand_types[0],
)


def _verify_constant(operation: Operation) -> None:
    value, expected = attribute(operation, "value"), operation.operand_types[0]
    kind: Attribute | None = getattr(value, "type", None)
    if not isinstance(value, DenseIntOrFPElementsAttr) or kind != expected:
        raise VerifyException(f"expected 'value' to be a dense constant of type {expected}")


_TWO = (" $lhs, $rhs", _TOLERANCES, " attr-dict : type($lhs, $rhs)")
_BOTH = (" $lhs, $rhs", _TOLERANCES, " attr-dict : type($lhs), type($rhs)")
_CONSTANT = (" $lhs, ", _VALUE, _TOLERANCES, " attr-dict")

AgreeOp = define(
    "check.agree",
    "lhs rhs -> result | how tolerance? max_ulp_difference? min_ulp_difference? is_unsigned?",
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


ROWS: list[type[IRDLOperation]] = [
    define("check.expect_eq", "lhs rhs", _TWO, pure=False),
    define("check.expect_almost_eq", "lhs rhs | tolerance?", _TWO, pure=False),
    define(
        "check.expect_close", "lhs rhs | max_ulp_difference? min_ulp_difference?", _BOTH, pure=False
    ),
    define(
        "check.expect_serialized_eq",
        "expected | probe_id iteration?",
        " $expected, probe_id = $probe_id(, iter = uint32($iteration))? attr-dict"
        " : type($expected)",
        pure=False,
    ),
    define("check.expect_eq_const", "lhs | value", _CONSTANT, pure=False, verify=_verify_constant),
    define(
        "check.expect_almost_eq_const",
        "lhs | value tolerance?",
        _CONSTANT,
        pure=False,
        verify=_verify_constant,
    ),
]

Check = dialect_of("check", sys.modules[__name__])

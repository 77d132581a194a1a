"""Directives for the flags after operands: `overflow<nsw>`, `fastmath<fast>`, `upward`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.dialects.arith import FastMathFlagsAttr, IntegerOverflowAttr
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.dialects.utils.bit_enum_attribute import BitEnumAttribute
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...ir.syntax.assembly_format import Parsed, PrintsProperty

ROUNDING_MODES = ("to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away")
"""MLIR's rounding modes; the position of each is its value in `roundingmode`."""


@dataclass(frozen=True, slots=True)
class Flags(PrintsProperty):
    """` fastmath<fast>`, or no text.

    Without text the property is `none`, or absent if `means_none` is false.
    """

    name: str
    keyword: str
    kind: type[BitEnumAttribute[Any]]
    means_none: bool = True

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        if parser.parse_optional_keyword(self.keyword):
            parsed.attributes[self.name] = self.kind(self.kind.parse_parameter(parser))
        elif self.means_none:
            parsed.attributes[self.name] = self.kind("none")

    def print(self, printer: Printer, operation: Operation) -> None:
        flags = operation.properties.get(self.name)
        if isinstance(flags, self.kind) and not (self.means_none and flags == self.kind("none")):
            printer.print_string(f" {self.keyword}")
            flags.print_parameter(printer)


OVERFLOW = Flags("overflowFlags", "overflow", IntegerOverflowAttr)
FAST_MATH = Flags("fastmath", "fastmath", FastMathFlagsAttr)
OPTIONAL_FAST_MATH = Flags("fastmath", "fastmath", FastMathFlagsAttr, means_none=False)


class Rounding:
    """` upward` or another rounding mode; no text means to nearest."""

    printed_attributes = ("roundingmode",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        for number, mode in enumerate(ROUNDING_MODES):
            if parser.parse_optional_keyword(mode):
                parsed.attributes["roundingmode"] = IntegerAttr(number, i32)

    def print(self, printer: Printer, operation: Operation) -> None:
        mode = rounding_mode(operation)
        if mode:
            printer.print_string(f" {mode}")

    def verify(self, operation: Operation) -> None:
        if "roundingmode" in operation.properties and not rounding_mode(operation):
            raise VerifyException(
                f"expected a rounding mode from 0 to {len(ROUNDING_MODES) - 1} of type i32"
            )


def rounding_mode(operation: Operation) -> str:
    """Return the rounding mode of an op; empty if it has none or an unknown one."""
    found = operation.properties.get("roundingmode")
    for number, mode in enumerate(ROUNDING_MODES):
        if found == IntegerAttr(number, i32):
            return mode
    return ""


def rounds_to_nearest_even(operation: Operation) -> bool:
    """Return whether an op rounds to nearest even, the default of hardware."""
    return rounding_mode(operation) in ("", "to_nearest_even")

"""Syntax of values with their types: `dense<1.0> : tensor<4xf32>`, `%a, %b : t, u`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.ir import Attribute, Operation, SSAValue, TypedAttribute
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from .assembly_format import Parsed, values


def parse_typed_operands(parser: Parser) -> tuple[list[UnresolvedOperand], list[Attribute]]:
    """Read `%a, %b : t, u`, where the numbers of operands and types may still differ."""
    operands = parser.parse_comma_separated_list(
        parser.Delimiter.NONE, parser.parse_unresolved_operand
    )
    parser.parse_punctuation(":")
    return operands, [*parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)]


def print_typed_operands(printer: Printer, operands: Sequence[SSAValue]) -> None:
    """Print `%a, %b : t, u`."""
    printer.print_list(operands, printer.print_ssa_value)
    printer.print_string(" : ")
    printer.print_list(operands, lambda operand: printer.print_attribute(operand.type))


def type_carried_by(attribute: Attribute | None) -> Attribute | None:
    """Return the type at the end of an attribute's text; `None` if it has none."""
    own = attribute.get_type() if isinstance(attribute, TypedAttribute) else None
    return own if own is not None else getattr(attribute, "type", None)


def print_elements(printer: Printer, constant: Attribute) -> None:
    """Print a dense constant without its type, which stands elsewhere in the operation's text."""
    own = getattr(printer, "print_elements", None)
    if own is not None:
        own(constant)
    else:
        # xDSL's printer has no such method.
        printer.print_string(str(constant).rpartition(" : ")[0])


@dataclass(frozen=True, slots=True)
class ConstantValue:
    """The property `value`, such as `dense<1.0> : tensor<4xf32>`; its type is the result type."""

    printed_attributes: ClassVar[tuple[str, ...]] = ("value",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        position = parser.pos
        value = parser.parse_attribute()
        type_ = type_carried_by(value)
        if type_ is None:
            parser.raise_error(
                "expected an attribute with a type, such as dense<1.0> : tensor<4xf32>", position
            )
        parsed.attributes["value"] = value
        parsed.types["result"] = [type_]

    def print(self, printer: Printer, operation: Operation) -> None:
        printer.print_attribute(cast(Attribute, operation.get_attr_or_prop("value")))

    def fits(self, operation: Operation) -> bool:
        carried = type_carried_by(operation.get_attr_or_prop("value"))
        return carried == values(operation, "result")[0].type

"""Directives for values that carry their types: `dense<1.0> : tensor<4xf32>`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, cast

from xdsl.ir import Attribute, Operation, TypedAttribute
from xdsl.parser import Parser
from xdsl.printer import Printer

from .assembly_format import Parsed, values


def type_carried_by(attribute: Attribute | None) -> Attribute | None:
    """Return the type at the end of an attribute's text; `None` if it has none."""
    own = attribute.get_type() if isinstance(attribute, TypedAttribute) else None
    return own if own is not None else getattr(attribute, "type", None)


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

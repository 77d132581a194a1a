"""Constant bytes of host programs: buffers, and contents that are made of several parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, cast

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntegerAttr, StringAttr, VectorType
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from ...ir.syntax.assembly_format import (
    Parsed,
    Syntax,
)
from ...ir.syntax.directives import print_struct
from ...ir.syntax.operations import SyntaxOperation
from .types import BufferType


@irdl_attr_definition
class CompositeAttr(ParametrizedAttribute):
    """`#util.composite<64xi8, [part, part,]>`: parts that follow one another in memory."""

    name = "util.composite"
    type: VectorType[Attribute]
    """How many elements all parts have, of which type; the notation leaves `vector` out."""
    parts: ArrayAttr[Attribute]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        parts: list[Attribute] = []
        with parser.in_angle_brackets():
            shape, element = parser.parse_ranked_shape()
            parser.parse_punctuation(",")
            parser.parse_punctuation("[")
            # A comma may follow the last part too.
            while parser.parse_optional_punctuation("]") is None:
                parts.append(parser.parse_attribute())
                if parser.parse_optional_punctuation(",") is None:
                    parser.parse_punctuation("]")
                    break
        return [VectorType(element, shape), ArrayAttr(parts)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            for size in self.type.get_shape():
                printer.print_string(f"{size}x")
            printer.print_attribute(self.type.element_type)
            printer.print_string(", [\n")
            for part in self.parts:
                printer.print_string("    ")
                printer.print_attribute(part)
                printer.print_string(",\n")
            printer.print_string("]")


@dataclass(frozen=True, slots=True)
class BufferForm:
    """` <alignment = 64, mime_type = "text/plain">` with what is known, or nothing."""

    @property
    def printed_attributes(self) -> tuple[str, ...]:
        return ("alignment", "mime_type")

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        if parser.parse_optional_punctuation("<") is None:
            return
        while True:
            key = parser.parse_identifier()
            parser.parse_punctuation("=")
            if key == "alignment":
                value: Attribute = IntegerAttr.from_index_int_value(parser.parse_integer())
            elif key == "mime_type":
                value = StringAttr(parser.parse_str_literal())
            else:
                parser.raise_error(f"expected alignment or mime_type, found '{key}'")
            parsed.attributes[key] = value
            if parser.parse_optional_punctuation(",") is None:
                break
        parser.parse_punctuation(">")

    def print(self, printer: Printer, operation: Operation) -> None:
        alignment = operation.get_attr_or_prop("alignment")
        if isinstance(alignment, IntegerAttr):
            number = cast(IntegerAttr, alignment).value.data
            alignment = partial(printer.print_string, str(number))
        fields = [("alignment", alignment), ("mime_type", operation.get_attr_or_prop("mime_type"))]
        if any(value is not None for _, value in fields):
            printer.print_string(" ")
            print_struct(printer, fields)


@irdl_op_definition
class BufferConstantOp(SyntaxOperation):
    """Constant bytes in host memory."""

    name = "util.buffer.constant"
    name_ = opt_prop_def(StringAttr, prop_name="name")
    value = prop_def(Attribute)
    alignment = opt_prop_def(IntegerAttr[IndexType])
    mime_type = opt_prop_def(StringAttr)
    result = result_def(BufferType)
    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        "( $name)?",
        BufferForm(),
        " attr-dict : type($result) = $value",
    )

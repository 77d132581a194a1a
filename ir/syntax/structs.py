"""Struct syntax of attributes and properties: `<alignment = 64, mime_type = "text">`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, cast

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation
from xdsl.irdl import OpDef
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer

from ..index_lists import INDEX
from .assembly_format import Directive, Parsed, directive
from .directives import dialect_attribute_class, parse_dialect_attribute, property_classes

ParseField = Callable[[AttrParser], Attribute]


def parse_struct(
    parser: AttrParser,
    fields: Mapping[str, ParseField],
    required: Sequence[str] = (),
    *,
    braces: bool = False,
    last_comma: bool = False,
) -> dict[str, Attribute]:
    """Read `<key = value, ...>`, or `<{key = value, ...}>`, with keys in any order.

    A comma may follow the last field if `last_comma` allows it. Raises ParseError for an unknown,
    repeated or missing key.
    """
    parser.parse_punctuation("<")
    if braces:
        parser.parse_punctuation("{")
    found = parse_fields(parser, fields, "}" if braces else ">", last_comma=last_comma)
    if braces:
        parser.parse_punctuation(">")
    for key in required:
        if key not in found:
            parser.raise_error(f"struct is missing required parameter: {key}")
    return found


def parse_fields(
    parser: AttrParser,
    fields: Mapping[str, ParseField],
    end: Literal[">", "}"] = ">",
    *,
    last_comma: bool = False,
) -> dict[str, Attribute]:
    """Read the fields after `<`, and `>`. Raises ParseError for an unknown or repeated key."""
    found: dict[str, Attribute] = {}
    if parser.parse_optional_punctuation(end) is None:
        while True:
            position = parser.pos
            key = parser.parse_identifier()
            if key not in fields or key in found:
                parser.raise_error(f"duplicate or unknown struct parameter name: {key}", position)
            parser.parse_punctuation("=")
            found[key] = fields[key](parser)
            if parser.parse_optional_punctuation(",") is None:
                parser.parse_punctuation(end)
                break
            if last_comma and parser.parse_optional_punctuation(end):
                break
    return found


def print_struct(
    printer: Printer,
    fields: Sequence[tuple[str, Callable[[], None] | Attribute | None]],
    braces: bool = False,
) -> None:
    """Print fields in order.

    A value is an attribute, a function that prints it, or `None` if the field is absent.
    """

    def print_field(pair: tuple[str, Callable[[], None] | Attribute | None]) -> None:
        key, value = pair
        printer.print_string(f"{key} = ")
        if isinstance(value, Attribute):
            printer.print_attribute(value)
        elif value is not None:
            value()

    with printer.delimited(*(("<{", "}>") if braces else "<>")):
        printer.print_list([pair for pair in fields if pair[1] is not None], print_field)


@directive("struct")
def _struct(definition: OpDef, *names: str) -> Directive:
    """`struct($a, $b)`: the properties that are present, ` <a = 1, b = "text">`, or nothing."""
    return PropertyStruct(tuple((name, _field(definition, name)) for name in names))


def _field(definition: OpDef, name: str) -> ParseField:
    """Return the parser of a property's value."""
    classes = property_classes(definition, name)
    cls = dialect_attribute_class(classes)
    if cls is not None:
        return lambda parser: parse_dialect_attribute(parser, cls)
    return _number if classes == {IntegerAttr} else AttrParser.parse_attribute


def _number(parser: AttrParser) -> Attribute:
    """Read `64`, which has type index, or `1 : i8`."""
    number = parser.parse_integer(allow_boolean=False)
    if parser.parse_optional_punctuation(":") is None:
        return IntegerAttr(number, INDEX)
    position = parser.pos
    type_ = parser.parse_type()
    if not isinstance(type_, IntegerType):
        parser.raise_error(f"expected an integer type, found {type_}", position)
    return IntegerAttr(number, cast(IntegerType, type_))


@dataclass(eq=False)
class PropertyStruct:
    """Properties written as fields of a struct, each if it is present."""

    fields: tuple[tuple[str, ParseField], ...]
    numbers: Attribute = INDEX
    """The type of integers that are written without one."""

    @property
    def printed_attributes(self) -> tuple[str, ...]:
        return tuple(dict(self.fields))

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        if parser.parse_optional_punctuation("<") is None:
            return
        # The properties may also be written as a dictionary: `<{a = 1}>`.
        if written := parser.parse_optional_attr_dict():
            parsed.attributes.update(written)
            parser.parse_punctuation(">")
        else:
            parsed.attributes.update(parse_fields(parser, dict(self.fields)))

    def print(self, printer: Printer, operation: Operation) -> None:
        found = [(name, operation.get_attr_or_prop(name)) for name, _ in self.fields]
        if any(attribute is not None for _, attribute in found):
            printer.print_string(" ")
            print_struct(printer, [(name, self._shown(printer, each)) for name, each in found])

    def _shown(
        self, printer: Printer, attribute: Attribute | None
    ) -> Callable[[], None] | Attribute | None:
        """Return a property's value for `print_struct`."""
        if not isinstance(attribute, IntegerAttr):
            return attribute
        number = cast("IntegerAttr[IntegerType | IndexType]", attribute)
        return (
            partial(printer.print_int, number.value.data) if number.type == self.numbers else number
        )

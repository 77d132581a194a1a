"""`<key = value, key = value>`: how many attributes of the encoding dialects are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import Attribute
from xdsl.parser import AttrParser
from xdsl.printer import Printer

ParseField = Callable[[AttrParser], Attribute]


def parse_struct(
    parser: AttrParser, fields: Mapping[str, ParseField], required: Sequence[str] = ()
) -> dict[str, Attribute]:
    """Read keys in any order. An unknown, repeated or missing key is an error."""
    found: dict[str, Attribute] = {}
    parser.parse_punctuation("<")
    if parser.parse_optional_punctuation(">") is None:
        while True:
            position = parser.pos
            key = parser.parse_identifier()
            if key not in fields or key in found:
                parser.raise_error(f"duplicate or unknown struct parameter name: {key}", position)
            parser.parse_punctuation("=")
            found[key] = fields[key](parser)
            if parser.parse_optional_punctuation(",") is None:
                break
        parser.parse_punctuation(">")
    for key in required:
        if key not in found:
            parser.raise_error(f"struct is missing required parameter: {key}")
    return found


def print_struct(
    printer: Printer, fields: Sequence[tuple[str, Callable[[], None] | Attribute | None]]
) -> None:
    """Write keys in order. A value is an attribute, a function that prints it, or absent."""

    def print_field(pair: tuple[str, Callable[[], None] | Attribute | None]) -> None:
        key, value = pair
        printer.print_string(f"{key} = ")
        if isinstance(value, Attribute):
            printer.print_attribute(value)
        elif value is not None:
            value()

    with printer.in_angle_brackets():
        printer.print_list([pair for pair in fields if pair[1] is not None], print_field)

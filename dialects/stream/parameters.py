"""Parameters: constants whose contents are in a file of their own."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import NoneAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.parser import AttrParser
from xdsl.printer import Printer


class NamedParameter(ParametrizedAttribute):
    """`<"scope"::"key"> : T`: constant contents that are kept outside of the program."""

    scope: StringAttr | NoneAttr
    key: StringAttr
    type: Attribute

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            scope: Attribute = NoneAttr()
            key = StringAttr(parser.parse_str_literal())
            if parser.parse_optional_punctuation(":") is not None:
                parser.parse_punctuation(":")
                scope, key = key, StringAttr(parser.parse_str_literal())
        parser.parse_punctuation(":")
        return [scope, key, parser.parse_type()]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            if isinstance(self.scope, StringAttr):
                printer.print_string_literal(self.scope.data)
                printer.print_string("::")
            printer.print_string_literal(self.key.data)
        printer.print_string(" : ")
        printer.print_attribute(self.type)

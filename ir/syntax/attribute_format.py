"""Declarative syntax of attributes and types, in the notation of `assembly_format.py`.

Example:

    FORMAT = "<$backend:string, $format:string(, $configuration)?>"

`$name` is a parameter in generic syntax, `$name:kind` one in the syntax of a kind in `KINDS` or in
the class's own `KINDS`. `(...)?` is an optional group: it is absent if a parameter in it is
`NoneAttr`, and it must begin with literal text. All other text is literal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    IntAttr,
    IntegerAttr,
    NoneAttr,
    StringAttr,
    SymbolRefAttr,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from .assembly_format import parse_optional_text, parse_text
from .structs import parse_struct, print_struct

Kind = tuple[Callable[[AttrParser], Attribute], Callable[[Printer, Attribute], None]]
"""The parser and the printer of a parameter."""


def _print_int(printer: Printer, number: Attribute) -> None:
    printer.print_int(cast(IntAttr, number).data)


def print_number(printer: Printer, number: Attribute) -> None:
    """Print an integer without its type."""
    printer.print_int(cast(IntegerAttr, number).value.data)


def _print(printer: Printer, attribute: Attribute) -> None:
    printer.print_attribute(attribute)


def _print_word(printer: Printer, word: Attribute) -> None:
    printer.print_string(cast(StringAttr, word).data)


def _print_text(printer: Printer, text: Attribute) -> None:
    printer.print_string_literal(cast(StringAttr, text).data)


def print_bool(printer: Printer, flag: Attribute) -> None:
    """Write `true` or `false`."""
    printer.print_string("true" if cast(IntegerAttr, flag).value.data else "false")


def _print_name(printer: Printer, name: Attribute) -> None:
    printer.print_identifier_or_string_literal(cast(StringAttr, name).data)


KINDS: Mapping[str, Kind] = {
    "attr": (lambda p: p.parse_attribute(), _print),
    "type": (lambda p: p.parse_type(), _print),
    "word": (lambda p: StringAttr(p.parse_identifier()), _print_word),
    "string": (lambda p: StringAttr(p.parse_str_literal()), _print_text),
    "name": (lambda p: StringAttr(p.parse_identifier_or_str_literal()), _print_name),
    "bool": (lambda p: BoolAttr.from_bool(p.parse_boolean()), print_bool),
    "index": (
        lambda p: IntegerAttr.from_index_int_value(p.parse_integer(allow_boolean=False)),
        print_number,
    ),
    "natural": (
        lambda p: IntegerAttr.from_index_int_value(
            p.parse_integer(allow_boolean=False, allow_negative=False)
        ),
        print_number,
    ),
    "int": (lambda p: IntAttr(p.parse_integer(allow_boolean=False)), _print_int),
    "count": (
        lambda p: IntAttr(p.parse_integer(allow_boolean=False, allow_negative=False)),
        _print_int,
    ),
    "i64": (lambda p: IntegerAttr(p.parse_integer(), i64), print_number),
    "symbol": (lambda p: SymbolRefAttr(p.parse_symbol_name()), _print),
}


def one_of(words: Sequence[str]) -> Kind:
    """Return the kind of a parameter that is one of several keywords."""
    return lambda parser: StringAttr(parser.parse_keyword_in(words)), _print_word


def list_of(
    parse: Callable[[AttrParser], Attribute],
    print_one: Callable[[Printer, Attribute], None] = _print,
    delimiter: AttrParser.Delimiter = AttrParser.Delimiter.NONE,
) -> Kind:
    """Return the kind of a parameter that is a list, separated by commas."""
    first, last = delimiter.value or ("", "")

    def parse_list(parser: AttrParser) -> Attribute:
        return ArrayAttr(parser.parse_comma_separated_list(delimiter, lambda: parse(parser)))

    def print_list(printer: Printer, attribute: Attribute) -> None:
        entries = cast("ArrayAttr[Attribute]", attribute)
        with printer.delimited(first, last):
            printer.print_list(entries, lambda entry: print_one(printer, entry))

    return parse_list, print_list


_PIECE = re.compile(r"\((?P<group>[^()]*)\)\?|\$(?P<name>\w+)(:(?P<kind>\w+))?|(?P<text>[^$(]+|\()")

Piece = str | tuple[str, str] | list["Piece"]
"""A literal text, a parameter name with its kind, or an optional group."""


@lru_cache
def _pieces(text: str) -> list[Piece]:
    def pieces() -> Iterator[Piece]:
        for found in _PIECE.finditer(text):
            if found["group"] is not None:
                yield _pieces(found["group"])
            else:
                yield found["text"] or (found["name"], found["kind"] or "attr")

    return list(pieces())


class FormattedAttribute(ParametrizedAttribute):
    """An attribute or type whose parameters are parsed and printed by its `FORMAT`."""

    FORMAT: ClassVar[str]
    KINDS: ClassVar[Mapping[str, Kind]] = {}
    """Kinds of this class alone."""

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        found: dict[str, Attribute] = {}
        cls._parse(parser, _pieces(cls.FORMAT), found)
        names = (name for name, _ in cls.get_irdl_definition().parameters)
        return [found.get(name, NoneAttr()) for name in names]

    @classmethod
    def _parse(
        cls, parser: AttrParser, pieces: Sequence[Piece], found: dict[str, Attribute]
    ) -> None:
        for piece in pieces:
            if isinstance(piece, str):
                parse_text(parser, piece)
            elif isinstance(piece, tuple):
                found[piece[0]] = cls._kind(piece[1])[0](parser)
            elif parse_optional_text(parser, cast(str, piece[0])):
                cls._parse(parser, piece[1:], found)

    @classmethod
    def _kind(cls, name: str) -> Kind:
        return cls.KINDS[name] if name in cls.KINDS else KINDS[name]

    def print_parameters(self, printer: Printer) -> None:
        self._print(printer, _pieces(self.FORMAT))

    def _print(self, printer: Printer, pieces: Sequence[Piece]) -> None:
        for piece in pieces:
            if isinstance(piece, str):
                printer.print_string(piece)
            elif isinstance(piece, tuple):
                self._kind(piece[1])[1](printer, getattr(self, piece[0]))
            elif self._is_present(piece):
                self._print(printer, piece)

    def _is_present(self, group: Sequence[Piece]) -> bool:
        names = (piece[0] for piece in group if isinstance(piece, tuple))
        return not any(isinstance(getattr(self, name), NoneAttr) for name in names)


class FieldsAttribute(ParametrizedAttribute):
    """An attribute with named fields, `<a = 1, b = "text">`, each of which may be absent."""

    FIELDS: ClassVar[Mapping[str, Kind]]
    """The name and kind of each parameter."""
    REQUIRED: ClassVar[Sequence[str]] = ()
    BRACES: ClassVar[bool] = False
    """Whether the fields are in braces, `<{a = 1}>`."""
    LAST_COMMA: ClassVar[bool] = False
    """Whether a comma may follow the last field."""
    DEFAULTS: ClassVar[Sequence[Attribute]] = ()
    """Values that stand for a field that is not required and is absent."""

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        readers = {key: read for key, (read, _) in cls.FIELDS.items()}
        return cls.parameters_of(
            parse_struct(
                parser, readers, cls.REQUIRED, braces=cls.BRACES, last_comma=cls.LAST_COMMA
            )
        )

    @classmethod
    def parameters_of(cls, found: Mapping[str, Attribute]) -> Sequence[Attribute]:
        """Return the parameters for these fields: `NoneAttr` for one that is absent."""
        present = {
            key: value
            for key, value in found.items()
            if key in cls.REQUIRED or value not in cls.DEFAULTS
        }
        return [present.get(key, NoneAttr()) for key in cls.FIELDS]

    def field(self, name: str) -> Attribute | None:
        """Return a field; `None` if it is absent."""
        found = dict(zip(self.FIELDS, self.parameters, strict=True))[name]
        return None if isinstance(found, NoneAttr) else found

    def print_parameters(self, printer: Printer) -> None:
        pairs = zip(self.FIELDS.items(), self.parameters, strict=True)
        print_struct(
            printer,
            [
                (key, None if isinstance(value, NoneAttr) else partial(write, printer, value))
                for (key, (_, write)), value in pairs
            ],
            self.BRACES,
        )

"""Attributes and directives for values written as one keyword."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar, cast

from xdsl.dialects.builtin import IntegerAttr, i1, i32
from xdsl.ir import Data, OpaqueSyntaxAttribute, Operation
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer

from ..attribute_access import attribute
from ..diagnostics import OperationError
from .assembly_format import Parsed, PrintsProperty, directive
from .attribute_format import print_bool

WordT = TypeVar("WordT", bound=str)


class KeywordAttribute(Data[WordT]):
    """Base of attributes with one keyword of a fixed set: `#linalg.iterator_type<parallel>`."""

    WORDS: ClassVar[Sequence[Any]]

    @classmethod
    def parse_word(cls, parser: AttrParser) -> Self:
        """Read one of the keywords, without brackets. Raises ParseError for any other token."""
        for word in cls.WORDS:
            if parser.parse_optional_keyword(word) is not None:
                return cls(word)
        parser.raise_error(f"expected one of {', '.join(cls.WORDS)}")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> WordT:
        with parser.in_angle_brackets():
            return cls.parse_word(parser).data

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")


class OpaqueKeywordAttribute(OpaqueSyntaxAttribute, KeywordAttribute[str]):
    """Base of such attributes in opaque syntax: `#stablehlo<precision HIGH>`."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        return cls.parse_word(parser).data

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f" {self.data}")


@dataclass(eq=False)
class KeywordIndex(PrintsProperty):
    """A keyword that is stored as an i32: its index in `words` plus `first`."""

    name: str
    words: Sequence[str]
    first: int = 0
    """The number of the first keyword."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        index = self.words.index(parser.parse_keyword_in(self.words))
        parsed.attributes[self.name] = IntegerAttr(self.first + index, i32)

    def print(self, printer: Printer, operation: Operation) -> None:
        number = cast(IntegerAttr, operation.get_attr_or_prop(self.name))
        printer.print_string(self.words[number.value.data - self.first])

    def fits(self, operation: Operation) -> bool:
        """Return whether the number corresponds to a keyword."""
        numbers = range(self.first, self.first + len(self.words))
        number = operation.get_attr_or_prop(self.name)
        return number in [IntegerAttr(each, i32) for each in numbers]


@dataclass(frozen=True, slots=True)
class Word(PrintsProperty):
    """A keyword that stands for its attribute; if optional, a comma precedes it."""

    name: str
    kind: type[OpaqueKeywordAttribute]
    optional: bool = False

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        if self.optional and parser.parse_optional_punctuation(",") is None:
            return
        parsed.attributes[self.name] = self.kind.parse_word(parser)

    def print(self, printer: Printer, operation: Operation) -> None:
        word = operation.get_attr_or_prop(self.name)
        if isinstance(word, self.kind):
            printer.print_string(f"{', ' if self.optional else ''}{word.data}")

    def fits(self, operation: Operation) -> bool:
        word = operation.get_attr_or_prop(self.name)
        return isinstance(word, self.kind) or (word is None and self.optional)


def word(op: Operation, name: str) -> str:
    """Return the keyword of an attribute. Raises OperationError if the operation lacks it."""
    found = attribute(op, name)
    if not isinstance(found, OpaqueKeywordAttribute):
        raise OperationError(op, f"needs the attribute '{name}', found {found}")
    return found.data


@directive("bool")
@dataclass(frozen=True, slots=True)
class Boolean(PrintsProperty):
    """A property of type i1: `true` or `false`."""

    name: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.attributes[self.name] = IntegerAttr(int(parser.parse_boolean()), i1)

    def print(self, printer: Printer, operation: Operation) -> None:
        print_bool(printer, cast(IntegerAttr, operation.get_attr_or_prop(self.name)))

    def fits(self, operation: Operation) -> bool:
        """Return whether the property is of type i1."""
        number = cast("IntegerAttr | None", operation.get_attr_or_prop(self.name))
        return number is None or number == IntegerAttr(number.value.data, i1)

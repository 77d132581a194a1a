"""Operation syntax as data: a row of texts and directives that both reads and writes.

An operation lists its syntax the way that it looks when printed:

    SYNTAX = (ON_AFFINITY, " ", Operand("source"), " : ", Sized("source", "source_size"))

A plain text is printed as it stands and read token by token. A directive names the operands,
results, properties or regions it is about; the definition of the operation (IRDL) says which of
these they are. Nothing is compiled at import, so a dialect of eighty operations loads quickly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Protocol, TypeVar, cast

from xdsl.dialects.builtin import DenseArrayBase, IndexType, UnitAttr, i32
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    EqAttrConstraint,
    IRDLOperation,
    OpDef,
    RangeLengthConstraint,
    RangeOf,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

INDEX = IndexType()

_TOKEN = re.compile(r"->|[\w.]+|[^\w\s]")


@lru_cache(maxsize=1024)
def tokens(text: str) -> tuple[str, ...]:
    """A literal text as the words and punctuation marks that it is read by."""
    return tuple(_TOKEN.findall(text))


def parse_text(parser: Parser, text: str) -> None:
    """Read a literal text; an error says which token was expected."""
    for token in tokens(text):
        if token[0].isalpha() or token[0] == "_":
            parser.parse_keyword(token)
        else:
            # xDSL types punctuation as a Literal; the texts are ours.
            parser.parse_punctuation(token)  # pyright: ignore[reportArgumentType]


def parse_optional_text(parser: Parser, text: str) -> bool:
    """Read a literal text if its first token is there."""
    first, *rest = tokens(text)
    if first[0].isalpha() or first[0] == "_":
        found = parser.parse_optional_keyword(first) is not None
    else:
        found = (
            parser.parse_optional_punctuation(first)  # pyright: ignore[reportArgumentType]
            is not None
        )
    if found:
        for token in rest:
            parse_text(parser, token)
    return found


@dataclass(slots=True)
class Parsed:
    """What has been read of an operation so far, by the names of its definition."""

    operands: dict[str, list[UnresolvedOperand]] = field(
        default_factory=dict[str, list[UnresolvedOperand]]
    )
    types: dict[str, list[Attribute]] = field(default_factory=dict[str, list[Attribute]])
    """Types of operands and results; some operands have types that go without saying."""
    attributes: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    """Properties and other attributes."""
    regions: dict[str, Region] = field(default_factory=dict[str, Region])


class Directive(Protocol):
    """One piece of an operation's syntax.

    A directive may also have `verify(operation)`, which raises VerifyException for what no text
    can mean, and `fits(operation) -> bool`: whether what it prints reads as the same again.
    """

    def parse(self, parser: Parser, parsed: Parsed) -> None: ...

    def print(self, printer: Printer, operation: Operation) -> None: ...


Syntax = tuple["str | Directive", ...]


def values(operation: Operation, name: str) -> tuple[SSAValue, ...]:
    """The operands or results that a definition calls `name`, however many it allows."""
    found = getattr(operation, name, None)
    if found is None:
        return ()
    if isinstance(found, SSAValue):
        return (cast(SSAValue, found),)
    return tuple(cast(Sequence[SSAValue], found))


def type_of(operation: Operation, name: str) -> Attribute:
    """The type of the only operand or result called `name`."""
    return cast(SSAValue, getattr(operation, name)).type


@lru_cache(maxsize=1024)
def _mentioned(syntax: Syntax) -> frozenset[str]:
    """Names of attributes that the syntax itself prints."""
    names: set[str] = set()
    for piece in syntax:
        names |= set(getattr(piece, "printed_attributes", ()))
        names |= _mentioned(getattr(piece, "pieces", ()))
    return frozenset(names)


def parse_pieces(parser: Parser, parsed: Parsed, pieces: Syntax) -> None:
    """Read texts and directives in order."""
    for piece in pieces:
        if isinstance(piece, str):
            parse_text(parser, piece)
        else:
            piece.parse(parser, parsed)


def print_pieces(printer: Printer, operation: Operation, pieces: Syntax) -> None:
    """Write texts and directives in order."""
    for piece in pieces:
        if isinstance(piece, str):
            printer.print_string(piece)
        else:
            piece.print(printer, operation)


@lru_cache(maxsize=1024)
def _methods(syntax: Syntax, name: str) -> tuple[Callable[[Operation], bool | None], ...]:
    """The methods of that name of all directives that have it, also of those in options."""
    found: list[Callable[[Operation], bool | None]] = []
    for piece in syntax:
        if (method := getattr(piece, name, None)) is not None:
            found.append(method)
        found += _methods(getattr(piece, "pieces", ()), name)
    return tuple(found)


class SyntaxOperation(IRDLOperation):
    """An operation that is read and written by the row of directives in `SYNTAX`.

    Verifiers of its subclasses call this one's first.
    """

    SYNTAX: ClassVar[Syntax] = ()

    @classmethod
    def parse(cls, parser: Parser) -> SyntaxOperation:
        parsed = Parsed()
        parse_pieces(parser, parsed, cls.SYNTAX)
        return build(cls, parser, parsed)

    def print(self, printer: Printer) -> None:
        print_pieces(printer, self, self.SYNTAX)

    def verify_(self) -> None:
        for verify in _methods(self.SYNTAX, "verify"):
            verify(self)

    def prints_generically(self) -> bool:
        """Whether the syntax would lose something of this operation."""
        if not all(fits(self) for fits in _methods(self.SYNTAX, "fits")):
            return True
        rest = unmentioned_attributes(self, _mentioned(self.SYNTAX))
        if not rest or not self.SYNTAX:
            return False
        dictionaries = [place for place, piece in enumerate(self.SYNTAX) if piece in _DICTIONARIES]
        if not dictionaries:
            return True
        # `{` behind a type would be read as its sizes.
        before = self.SYNTAX[dictionaries[0] - 1]
        braces = isinstance(before, Dimensions) and not values(self, before.name)
        return braces and self.SYNTAX[dictionaries[0]] is ATTRIBUTES


def unmentioned_attributes(
    operation: Operation, mentioned: Collection[str]
) -> dict[str, Attribute]:
    """The attributes, properties first, that a syntax does not print by itself."""
    return {
        name: attribute
        for name, attribute in (operation.properties | operation.attributes).items()
        if name not in mentioned and name not in ATTRIBUTES_PRINTED_NEVER
    }


def same_types(operation: Operation, name: str, others: Sequence[str]) -> bool:
    """Whether values that are printed with one list of types have these types."""
    types = [value.type for value in values(operation, name)]
    return all([value.type for value in values(operation, other)] == types for other in others)


def is_plain(operation: Operation | None) -> bool:
    """Whether an operation is nothing but its name, so that a reader can put it back."""
    return operation is not None and not (
        operation.operands
        or operation.results
        or operation.attributes
        or operation.properties
        or operation.regions
        or operation.successors
    )


OperationT = TypeVar("OperationT", bound=IRDLOperation)


def build(cls: type[OperationT], parser: Parser, parsed: Parsed) -> OperationT:
    """The operation that has been read."""
    definition = cls.get_irdl_definition()
    position = parser.pos
    operands: list[SSAValue] = []
    segments: list[int] = []
    for name, _ in definition.operands:
        unresolved = parsed.operands.get(name, [])
        types = parsed.types.get(name) or [implied_type(cls, name)] * len(unresolved)
        operands += parser.resolve_operands(unresolved, types, position)
        segments.append(len(unresolved))
    results = [t for name, _ in definition.results for t in parsed.types.get(name, ())]
    properties, attributes = split_attributes(definition, parsed.attributes)
    if any(isinstance(option, AttrSizedOperandSegments) for option in definition.options):
        properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, segments)
    regions = [parsed.regions.get(name) or Region() for name, _ in definition.regions]
    return cls.create(
        operands=operands,
        result_types=results,
        properties=properties,
        attributes=attributes,
        regions=regions,
    )


@lru_cache(maxsize=1024)
def implied_type(cls: type[IRDLOperation], name: str) -> Attribute:
    """The type of an operand whose type the text leaves out: the only one it may have."""
    constraint = dict(cls.get_irdl_definition().operands)[name].constr
    if isinstance(constraint, RangeLengthConstraint):
        constraint = constraint.constraint
    one = constraint.constr if isinstance(constraint, RangeOf) else None
    return one.attr if isinstance(one, EqAttrConstraint) else INDEX


def split_attributes(
    definition: OpDef, attributes: dict[str, Attribute]
) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """Attributes as the definition keeps them: its properties, then the others."""
    properties = {n: a for n, a in attributes.items() if n in definition.properties}
    others = {n: a for n, a in attributes.items() if n not in definition.properties}
    return properties, others


# Directives


@dataclass(frozen=True, slots=True)
class Operand:
    """`%value`."""

    name: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.operands[self.name] = [parser.parse_unresolved_operand()]

    def print(self, printer: Printer, operation: Operation) -> None:
        for value in values(operation, self.name):
            printer.print_ssa_value(value)


@dataclass(frozen=True, slots=True)
class Operands:
    """`%a, %b`, perhaps none."""

    name: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        operands = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        parsed.operands[self.name] = operands or []

    def print(self, printer: Printer, operation: Operation) -> None:
        printer.print_list(values(operation, self.name), printer.print_ssa_value)


@dataclass(frozen=True, slots=True)
class Type:
    """The type of one operand or result; `also` names others that have the same."""

    name: str
    also: tuple[str, ...] = ()

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        type_ = parser.parse_type()
        for name in (self.name, *self.also):
            parsed.types[name] = [type_]

    def print(self, printer: Printer, operation: Operation) -> None:
        printer.print_attribute(type_of(operation, self.name))

    def fits(self, operation: Operation) -> bool:
        return same_types(operation, self.name, self.also)


@dataclass(frozen=True, slots=True)
class Types:
    """The types of several operands or results: `T, U`, perhaps none; `also` names others."""

    name: str
    also: str = ""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        types = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_type, parser.parse_type
        )
        parsed.types[self.name] = list[Attribute](types or [])
        if self.also:
            parsed.types[self.also] = parsed.types[self.name]

    def print(self, printer: Printer, operation: Operation) -> None:
        printer.print_list(
            values(operation, self.name), lambda value: printer.print_attribute(value.type)
        )

    def fits(self, operation: Operation) -> bool:
        return not self.also or same_types(operation, self.name, (self.also,))


@dataclass(frozen=True, slots=True)
class ValuesAndTypes:
    """` %a, %b : T, U`, or nothing."""

    name: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        Operands(self.name).parse(parser, parsed)
        if parsed.operands[self.name]:
            parser.parse_punctuation(":")
            Types(self.name).parse(parser, parsed)

    def print(self, printer: Printer, operation: Operation) -> None:
        if values(operation, self.name):
            print_pieces(printer, operation, (" ", Operands(self.name), " : ", Types(self.name)))


@dataclass(frozen=True, slots=True)
class Dimensions:
    """The sizes of dynamic dimensions, `{%m, %n}`, or nothing."""

    name: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.operands[self.name] = parse_dimensions(parser)

    def print(self, printer: Printer, operation: Operation) -> None:
        print_dimensions(printer, values(operation, self.name))


def parse_dimensions(parser: Parser) -> list[UnresolvedOperand]:
    """`{%m, %n}`, or nothing."""
    return (
        parser.parse_optional_comma_separated_list(
            parser.Delimiter.BRACES, parser.parse_unresolved_operand
        )
        or []
    )


def print_dimensions(printer: Printer, dimensions: Sequence[SSAValue]) -> None:
    """The inverse of `parse_dimensions`."""
    if dimensions:
        with printer.in_braces():
            printer.print_list(dimensions, printer.print_ssa_value)


@dataclass(frozen=True, slots=True)
class AttributeValue:
    """A property in its usual notation."""

    name: str

    @property
    def printed_attributes(self) -> tuple[str, ...]:
        return (self.name,)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.attributes[self.name] = parser.parse_attribute()

    def print(self, printer: Printer, operation: Operation) -> None:
        if (attribute := operation.get_attr_or_prop(self.name)) is not None:
            printer.print_attribute(attribute)


@dataclass(frozen=True, slots=True)
class Optional:
    """Pieces that are there or not together.

    The first piece is a text by which a reader knows. `anchor` names what must be present for a
    printer; `flag` is a unit property that the text alone stands for.
    """

    pieces: Syntax
    anchor: str = ""
    flag: str = ""

    @property
    def printed_attributes(self) -> tuple[str, ...]:
        return (self.flag,) if self.flag else ()

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        first, *rest = self.pieces
        if not parse_optional_text(parser, cast(str, first)):
            return
        if self.flag:
            parsed.attributes[self.flag] = UnitAttr()
        parse_pieces(parser, parsed, tuple(rest))

    def print(self, printer: Printer, operation: Operation) -> None:
        if self.is_present(operation):
            print_pieces(printer, operation, self.pieces)

    def fits(self, operation: Operation) -> bool:
        """Nothing that the pieces print may be there where their anchor is not."""
        if self.flag and operation.get_attr_or_prop(self.flag) not in (None, UnitAttr()):
            return False
        if self.is_present(operation):
            return True
        names = [getattr(piece, "name", "") for piece in self.pieces]
        return not any(
            name and (operation.get_attr_or_prop(name) is not None or values(operation, name))
            for name in names
        )

    def is_present(self, operation: Operation) -> bool:
        if self.flag:
            return operation.get_attr_or_prop(self.flag) is not None
        if operation.get_attr_or_prop(self.anchor) is not None:
            return True
        return bool(values(operation, self.anchor))


ATTRIBUTES_PRINTED_NEVER = frozenset({"operandSegmentSizes", "resultSegmentSizes"})


@dataclass(frozen=True, slots=True)
class AttributeDictionary:
    """`{a = 1}` or nothing: every attribute that the rest of the syntax does not print."""

    keyword: bool = False
    """Whether the word `attributes` comes first."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        if self.keyword:
            found = parser.parse_optional_attr_dict_with_keyword()
            parsed.attributes.update(found.data if found is not None else {})
        else:
            parsed.attributes.update(parser.parse_optional_attr_dict())

    def print(self, printer: Printer, operation: Operation) -> None:
        self.print_except(printer, operation, _mentioned(cast(SyntaxOperation, operation).SYNTAX))

    def print_except(self, printer: Printer, operation: Operation, printed: frozenset[str]) -> None:
        """Write the attributes that are not among those `printed` already."""
        rest = unmentioned_attributes(operation, printed)
        if not rest:
            return
        printer.print_string(" attributes " if self.keyword else " ")
        printer.print_attr_dict(rest)


ATTRIBUTES = AttributeDictionary()
ATTRIBUTES_WITH_KEYWORD = AttributeDictionary(keyword=True)
_DICTIONARIES = (ATTRIBUTES, ATTRIBUTES_WITH_KEYWORD)

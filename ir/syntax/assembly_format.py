"""Operation syntax as data: a format in the notation of MLIR's `assemblyFormat` reads and writes.

An operation says how it looks when printed:

    SYNTAX = " $source[$offset] : type($source){$source_size}( to($target))? attr-dict"

* `$name` is an operand, a list of operands, an attribute, or a region; `@$name` is a symbol.
* `type($a)` is the type of an operand or result, or the one in a property. `type($a, $b)` is the
  one type that both have.
* `(...)?` is there if its anchor is: the first name in it, or the one that is marked, `$name^`.
  A unit attribute has no text of its own: `( uninitialized$uninitialized)?`.
* ` attr-dict`, ` attr-dict-with-keyword` are all attributes that the rest does not print.
* A word before `($name)` may be a directive (`@directive`). All else stands for itself.

Types that the format leaves out are the only ones that the definition allows. What a format cannot
say is an object with the methods of `Directive`, in a tuple of formats and objects.

A format is compiled when the first operation of its kind is read or written, since most programs
use few kinds. xDSL's `assembly_format`, which is compiled at import, costs ten times as much.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Protocol, cast

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import OpDef
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.printer import Printer

INDEX = IndexType()

_TOKEN = re.compile(r"->|[\w.]+|[^\w\s]")


@lru_cache(maxsize=1024)
def tokens(text: str) -> tuple[str, ...]:
    """A literal text as the words and punctuation marks that it is read by."""
    return tuple(_TOKEN.findall(text))


def parse_text(parser: AttrParser, text: str) -> None:
    """Read a literal text; an error says which token was expected."""
    for token in tokens(text):
        if token[0].isalpha() or token[0] == "_":
            parser.parse_keyword(token)
        else:
            # xDSL types punctuation as a Literal; the texts are ours.
            parser.parse_punctuation(token)  # pyright: ignore[reportArgumentType]


def parse_optional_text(parser: AttrParser, text: str) -> bool:
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
    """Types of operands and results; some have types that go without saying."""
    uniform_types: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    """The one type of all operands of a name, however many there are."""
    attributes: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    """Properties and other attributes."""
    regions: dict[str, Region] = field(default_factory=dict[str, Region])
    region_lists: dict[str, list[Region]] = field(default_factory=dict[str, list[Region]])
    """Regions of names that stand for several."""


class Directive(Protocol):
    """One piece of an operation's syntax.

    A directive may also have `verify(operation)`, which raises VerifyException for what no text
    can mean, `fits(operation) -> bool`: whether what it prints reads as the same again, and
    `printed_attributes`, the names of attributes that it prints. One that can begin an optional
    group has `parse_optional(parser, parsed) -> bool`.
    """

    def parse(self, parser: Parser, parsed: Parsed) -> None: ...

    def print(self, printer: Printer, operation: Operation) -> None: ...


class PrintsProperty:
    """A base of directives that print the property `name`."""

    __slots__ = ()
    name: str

    @property
    def printed_attributes(self) -> tuple[str, ...]:
        return (self.name,)


Pieces = tuple["str | Directive", ...]
"""Literal texts and directives: a compiled format."""

Syntax = str | Pieces
"""A format, or several with directives between them."""

MakeDirective = Callable[..., Directive]
DIRECTIVES: dict[str, MakeDirective] = {}


def directive(word: str) -> Callable[[MakeDirective], MakeDirective]:
    """Register what `word($a, $b)` in a format means: `$` and `@$` are names that stand alone.

    A class is called with the names, a function with the operation's definition before them.
    """

    def register(make: MakeDirective) -> MakeDirective:
        def from_names(definition: OpDef, *names: str) -> Directive:
            del definition
            return make(*names)

        DIRECTIVES[word] = from_names if isinstance(make, type) else make
        return make

    return register


class FormattedOperation(Protocol):
    """A class of operations that has a format."""

    SYNTAX: ClassVar[Syntax]

    @classmethod
    def get_irdl_definition(cls) -> OpDef: ...


# Formats

_PIECE = re.compile(
    r"(?P<dictionary> attr-dict(?:-with-keyword)?)"
    r"|(?P<word>[a-z][a-z-]*)\((?P<names>\$\w+(?:, \$\w+)*)\)"
    r"|(?P<sigil>@?\$)(?P<name>\w+)(?P<anchor>\^?)"
    r"|(?P<open>\()"
    r"|(?P<close>\)\??)"
    r"|(?P<text>[\w-]+|.)"
)


@dataclass(slots=True)
class _Group:
    """Pieces between parentheses."""

    pieces: list[str | Directive] = field(default_factory=list["str | Directive"])
    anchor: str = ""

    def add(self, *pieces: str | Directive) -> None:
        """Append pieces; texts that follow one another become one."""
        for piece in pieces:
            if isinstance(piece, str) and self.pieces and isinstance(self.pieces[-1], str):
                self.pieces[-1] += piece
            else:
                self.pieces.append(piece)

    def optional(self) -> Optional:
        """The group as pieces that are there or not together."""
        named = (getattr(piece, "name", "") for piece in self.pieces)
        return Optional(tuple(self.pieces), self.anchor or next(filter(None, named)))


def compile_format(definition: OpDef, text: str) -> Pieces:
    """The pieces of one format for an operation of that definition."""
    groups = [_Group()]
    position = 0
    while (match := _PIECE.match(text, position)) is not None:
        group, position = groups[-1], match.end()
        if match["dictionary"]:
            group.add(ATTRIBUTES_WITH_KEYWORD if "keyword" in match[0] else ATTRIBUTES)
        elif match["word"] in DIRECTIVES:
            names = match["names"].replace("$", "").split(", ")
            group.add(DIRECTIVES[match["word"]](definition, *names))
        elif match["word"]:
            position = match.end("word")
            group.add(match["word"])
        elif match["name"]:
            group.add(DIRECTIVES[match["sigil"]](definition, match["name"]))
            group.anchor = match["name"] if match["anchor"] else group.anchor
        elif match["open"]:
            groups.append(_Group())
        elif match["close"] == ")?":
            groups.pop()
            groups[-1].add(group.optional())
        elif match["close"] and len(groups) > 1:
            groups.pop()
            groups[-1].add("(", *group.pieces, ")")
        else:
            group.add(match[0])
    # A parenthesis may be closed in another format of the operation.
    first, *rest = groups
    for group in rest:
        first.add("(", *group.pieces)
    return tuple(first.pieces)


@lru_cache(maxsize=1024)
def pieces_of(cls: type[FormattedOperation]) -> Pieces:
    """The compiled syntax of a kind of operation."""
    definition = cls.get_irdl_definition()
    pieces: list[str | Directive] = []
    for piece in (cls.SYNTAX,) if isinstance(cls.SYNTAX, str) else cls.SYNTAX:
        pieces += compile_format(definition, piece) if isinstance(piece, str) else (piece,)
    return tuple(pieces)


@lru_cache(maxsize=1024)
def printed_attributes_of(pieces: Pieces) -> frozenset[str]:
    """Names of attributes that the syntax itself prints."""
    names: set[str] = set()
    for piece in pieces:
        names |= set(getattr(piece, "printed_attributes", ()))
        names |= printed_attributes_of(getattr(piece, "pieces", ()))
    return frozenset(names)


@lru_cache(maxsize=1024)
def methods_of(pieces: Pieces, name: str) -> tuple[Callable[[Operation], bool | None], ...]:
    """The methods of that name of all directives that have it, also of those in options."""
    found: list[Callable[[Operation], bool | None]] = []
    for piece in pieces:
        if (method := getattr(piece, name, None)) is not None:
            found.append(method)
        found += methods_of(getattr(piece, "pieces", ()), name)
    return tuple(found)


def parse_pieces(parser: Parser, parsed: Parsed, pieces: Pieces) -> None:
    """Read texts and directives in order."""
    for piece in pieces:
        if isinstance(piece, str):
            parse_text(parser, piece)
        else:
            piece.parse(parser, parsed)


def print_pieces(printer: Printer, operation: Operation, pieces: Pieces) -> None:
    """Write texts and directives in order."""
    for piece in pieces:
        if isinstance(piece, str):
            printer.print_string(piece)
        else:
            piece.print(printer, operation)


def unmentioned_attributes(
    operation: Operation, mentioned: Collection[str]
) -> dict[str, Attribute]:
    """The attributes, properties first, that a syntax does not print by itself."""
    return {
        name: attribute
        for name, attribute in (operation.properties | operation.attributes).items()
        if name not in mentioned and name not in ATTRIBUTES_PRINTED_NEVER
    }


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


def values(operation: Operation, name: str) -> tuple[SSAValue, ...]:
    """The operands or results that a definition calls `name`, however many it allows."""
    found = getattr(operation, name, None)
    if found is None:
        return ()
    if isinstance(found, SSAValue):
        return (cast(SSAValue, found),)
    return tuple(cast(Sequence[SSAValue], found))


# What a format has besides names and words


@dataclass(frozen=True, slots=True)
class Optional:
    """Pieces that are there or not together.

    A reader knows by the first piece with a text, a printer by what `anchor` names.
    """

    pieces: Pieces
    anchor: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        first, *rest = self.pieces
        if isinstance(first, str) and not tokens(first):
            first, *rest = rest
        if isinstance(first, str):
            found = parse_optional_text(parser, first)
        else:
            parse: Callable[[Parser, Parsed], bool] = getattr(first, "parse_optional")  # noqa: B009
            found = parse(parser, parsed)
        if found:
            parse_pieces(parser, parsed, tuple(rest))

    def print(self, printer: Printer, operation: Operation) -> None:
        if self.is_present(operation):
            print_pieces(printer, operation, self.pieces)

    def fits(self, operation: Operation) -> bool:
        """Nothing that the pieces print may be there where their anchor is not."""
        names = (getattr(piece, "name", "") for piece in self.pieces)
        return self.is_present(operation) or not any(
            name and (operation.get_attr_or_prop(name) is not None or values(operation, name))
            for name in names
        )

    def is_present(self, operation: Operation) -> bool:
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
        pieces = pieces_of(type(cast(FormattedOperation, operation)))
        rest = unmentioned_attributes(operation, printed_attributes_of(pieces))
        if rest:
            printer.print_string(" attributes " if self.keyword else " ")
            printer.print_attr_dict(dict(sorted(rest.items())))


ATTRIBUTES = AttributeDictionary()
ATTRIBUTES_WITH_KEYWORD = AttributeDictionary(keyword=True)
DICTIONARIES = (ATTRIBUTES, ATTRIBUTES_WITH_KEYWORD)

"""Assembly formats: one string in the notation of MLIR's `assemblyFormat` parses and prints an op.

Example:

    SYNTAX = " $source[$offset] : type($source){$source_size}( to($target))? attr-dict"

* `$name` is an operand, a list of operands, an attribute, or a region; `@$name` is a symbol.
* `type($a)` is the type of an operand or result, or the type in a property. `type($a, $b)` is one
  type that both have.
* `(...)?` is an optional group. It is printed if its anchor is present: the name marked `$name^`,
  or else the first name in it. A property that has its default value counts as absent. A unit
  attribute is written as literal text before its name, which has no text of its own:
  `( uninitialized$uninitialized)?`.
* ` attr-dict` and ` attr-dict-with-keyword` are the attributes that nothing else prints.
* `word($name)` may be a directive (see `directive`). All other text is literal.

A value whose type the format does not mention has the only type that the op definition allows. What
a format cannot express is an object with the methods of `Directive`, in a tuple of formats and
objects.

A format is compiled when the first op of its class is parsed or printed, since most programs use
few op classes. xDSL compiles its `assembly_format` at import, which takes ten times as long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Protocol, cast

from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import AttrOrPropDef, IRDLOperation, OpDef
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.printer import Printer

_TOKEN = re.compile(r"->|[\w.]+|[^\w\s]")


@lru_cache(maxsize=1024)
def tokens(text: str) -> tuple[str, ...]:
    """Split literal text into the words and punctuation tokens to parse."""
    return tuple(_TOKEN.findall(text))


def parse_text(parser: AttrParser, text: str) -> None:
    """Read literal text. Raises ParseError that names the expected token."""
    for token in tokens(text):
        if token[0].isalpha() or token[0] == "_":
            if parser.parse_optional_keyword(token) is None:
                parser.raise_error(f"expected '{token}'")
        else:
            # xDSL's parameter type is a Literal of punctuation; `token` is always punctuation here.
            parser.parse_punctuation(token)  # pyright: ignore[reportArgumentType]


def parse_optional_text(parser: AttrParser, text: str) -> bool:
    """Read literal text if its first token comes next, and return whether it did."""
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
    """The parts of an operation parsed so far, by their names in the op definition."""

    operands: dict[str, list[UnresolvedOperand]] = field(
        default_factory=dict[str, list[UnresolvedOperand]]
    )
    types: dict[str, list[Attribute]] = field(default_factory=dict[str, list[Attribute]])
    """The types of operands and results that the text contains."""
    uniform_types: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    """The common type of all operands of a name, regardless of their number."""
    attributes: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    """Properties and discardable attributes."""
    regions: dict[str, Region] = field(default_factory=dict[str, Region])
    region_lists: dict[str, list[Region]] = field(default_factory=dict[str, list[Region]])
    """The regions of variadic region names."""


class Directive(Protocol):
    """One element of an assembly format.

    A directive may have these optional members:

    * `verify(operation)` raises VerifyException for an operation that the syntax cannot express.
    * `fits(operation) -> bool` returns whether the printed text parses to the same operation.
    * `printed_attributes` holds the names of the attributes that it prints.
    * `parse_optional(parser, parsed) -> bool` is required to begin an optional group.
    """

    def parse(self, parser: Parser, parsed: Parsed) -> None: ...

    def print(self, printer: Printer, operation: Operation) -> None: ...


class PrintsProperty:
    """Base of directives that print the property `name`."""

    __slots__ = ()
    name: str

    @property
    def printed_attributes(self) -> tuple[str, ...]:
        return (self.name,)


Pieces = tuple["str | Directive", ...]
"""A compiled format: literal texts and directives."""

Syntax = str | Pieces
"""A format, or a tuple of formats and directives."""

MakeDirective = Callable[..., Directive]
DIRECTIVES: dict[str, MakeDirective] = {}


def directive(word: str) -> Callable[[MakeDirective], MakeDirective]:
    """Register the directive `word($a, $b)` of formats; `$` and `@$` are prefixes of a name.

    A class is called with the names; a function gets the op definition before the names.
    """

    def register(make: MakeDirective) -> MakeDirective:
        def from_names(definition: OpDef, *names: str) -> Directive:
            return make(*names)

        DIRECTIVES[word] = from_names if isinstance(make, type) else make
        return make

    return register


class FormattedOperation(Protocol):
    """An op class with an assembly format."""

    SYNTAX: ClassVar[Syntax]

    @classmethod
    def get_irdl_definition(cls) -> OpDef: ...


# Formats

_PIECE = re.compile(
    r"(?P<dictionary> attr-dict(?:-with-keyword)?)"
    r"|(?P<word>[a-z][a-z0-9-]*)\((?P<names>\$\w+(?:, \$\w+)*)\)"
    r"|(?P<sigil>@?\$)(?P<name>\w+)(?P<anchor>\^?)"
    r"|(?P<open>\()"
    r"|(?P<close>\)\??)"
    r"|(?P<text>[\w-]+|.)"
)


@dataclass(slots=True)
class _Group:
    """The contents of parentheses in a format."""

    pieces: list[str | Directive] = field(default_factory=list["str | Directive"])
    anchor: str = ""

    def add(self, *pieces: str | Directive) -> None:
        """Append pieces; merge adjacent literal texts."""
        for piece in pieces:
            if isinstance(piece, str) and self.pieces and isinstance(self.pieces[-1], str):
                self.pieces[-1] += piece
            else:
                self.pieces.append(piece)

    def optional(self) -> Optional:
        """Return the group as an optional group."""
        named = (getattr(piece, "anchor", getattr(piece, "name", "")) for piece in self.pieces)
        return Optional(tuple(self.pieces), self.anchor or next(filter(None, named)))


def compile_format(definition: OpDef, text: str) -> Pieces:
    """Compile a format for an op definition.

    Raises ValueError for a name that the definition does not have.
    """
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
    # A parenthesis may be closed in a later format of the same op.
    first, *rest = groups
    for group in rest:
        first.add("(", *group.pieces)
    return tuple(first.pieces)


def compile_syntax(definition: OpDef, syntax: Syntax) -> Pieces:
    """Compile the formats in a syntax.

    Raises ValueError for a name that the definition does not have.
    """
    pieces: list[str | Directive] = []
    for piece in (syntax,) if isinstance(syntax, str) else syntax:
        pieces += compile_format(definition, piece) if isinstance(piece, str) else (piece,)
    return tuple(pieces)


@lru_cache(maxsize=1024)
def pieces_of(cls: type[FormattedOperation]) -> Pieces:
    """Return the compiled syntax of an op class."""
    return compile_syntax(cls.get_irdl_definition(), cls.SYNTAX)


@lru_cache(maxsize=1024)
def printed_attributes_of(pieces: Pieces) -> frozenset[str]:
    """Return the names of the attributes that a format prints, apart from `attr-dict`."""
    names: set[str] = set()
    for piece in pieces:
        names |= set(getattr(piece, "printed_attributes", ()))
        names |= printed_attributes_of(getattr(piece, "pieces", ()))
    return frozenset(names)


@lru_cache(maxsize=1024)
def methods_of(pieces: Pieces, name: str) -> tuple[Callable[[Operation], bool | None], ...]:
    """Return the methods of that name of all directives, including nested directives."""
    found: list[Callable[[Operation], bool | None]] = []
    for piece in pieces:
        if (method := getattr(piece, name, None)) is not None:
            found.append(method)
        found += methods_of(getattr(piece, "pieces", ()), name)
    return tuple(found)


def parse_pieces(parser: Parser, parsed: Parsed, pieces: Pieces) -> None:
    """Parse literal texts and directives in order."""
    for piece in pieces:
        if isinstance(piece, str):
            parse_text(parser, piece)
        else:
            piece.parse(parser, parsed)


def print_pieces(printer: Printer, operation: Operation, pieces: Pieces) -> None:
    """Print literal texts and directives in order."""
    for piece in pieces:
        if isinstance(piece, str):
            printer.print_string(piece)
        else:
            piece.print(printer, operation)


def unmentioned_attributes(
    operation: Operation, mentioned: Collection[str]
) -> dict[str, Attribute]:
    """Return the properties and attributes that a format does not print itself."""
    return {
        name: attribute
        for name, attribute in (operation.properties | operation.attributes).items()
        if name not in mentioned and name not in ATTRIBUTES_PRINTED_NEVER
    }


def is_plain(operation: Operation | None) -> bool:
    """Return whether an operation is nothing but its name, so that a parser can restore it."""
    return operation is not None and not (
        operation.operands
        or operation.results
        or operation.attributes
        or operation.properties
        or operation.regions
        or operation.successors
    )


def values(operation: Operation, name: str) -> tuple[SSAValue, ...]:
    """Return the operands or results of that name in the definition, as a tuple."""
    found = getattr(operation, name, None)
    if found is None or found is operation.name:  # A property may be called `name`, too.
        return ()
    if isinstance(found, SSAValue):
        return (cast(SSAValue, found),)
    return tuple(cast(Sequence[SSAValue], found))


def operand_index(operation: Operation, name: str) -> int:
    """Return the index, among all operands, of the first one that the definition calls `name`.

    Raises ValueError if the definition has no such operand.
    """
    index = 0
    for each, _ in cast(IRDLOperation, operation).get_irdl_definition().operands:
        if each == name:
            return index
        index += len(values(operation, each))
    raise ValueError(f"{operation.name} has no operand {name}")


# Parts of a format besides names and words


@dataclass(frozen=True, slots=True)
class Optional:
    """An optional group: pieces that are present or absent together.

    The parser decides by the first piece with text, the printer by the presence of `anchor`.
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
        """Return false if a piece has something to print while the anchor is absent."""
        return self.is_present(operation) or not any(
            name != self.anchor and _is_stated(operation, name) for name in names_in(self.pieces)
        )

    def is_present(self, operation: Operation) -> bool:
        return _is_stated(operation, self.anchor)


@lru_cache(maxsize=1024)
def names_in(pieces: Pieces) -> tuple[str, ...]:
    """Return the names of the values and properties that pieces parse."""
    return tuple(name for piece in pieces if (name := getattr(piece, "name", "")))


def _is_stated(operation: Operation, name: str) -> bool:
    """Return whether a name has values, or a property other than its default."""
    known = _attribute_of(type(cast(IRDLOperation, operation)), name)
    if (found := operation.get_attr_or_prop(name)) is not None:
        return known is None or found != known.default_value
    return known is None and bool(values(operation, name))


@lru_cache(maxsize=1024)
def _attribute_of(cls: type[IRDLOperation], name: str) -> AttrOrPropDef | None:
    """Return the definition of a property or attribute; `None` if the name is none of these."""
    definition = cls.get_irdl_definition()
    return definition.properties.get(name) or definition.attributes.get(name)


ATTRIBUTES_PRINTED_NEVER = frozenset({"operandSegmentSizes", "resultSegmentSizes"})


@dataclass(frozen=True, slots=True)
class AttributeDictionary:
    """`{a = 1}` or nothing: the attributes that no other part of the format prints."""

    keyword: bool = False
    """Whether the word `attributes` precedes it."""

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
            printer.print_attr_dict(rest)


ATTRIBUTES = AttributeDictionary()
ATTRIBUTES_WITH_KEYWORD = AttributeDictionary(keyword=True)
DICTIONARIES = (ATTRIBUTES, ATTRIBUTES_WITH_KEYWORD)

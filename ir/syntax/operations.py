"""The base class of operations with an assembly format, and construction of parsed operations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar, TypeVar

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    EqAttrConstraint,
    IRDLOperation,
    OpDef,
    RangeLengthConstraint,
    RangeOf,
    VariadicDef,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from ..index_lists import INDEX
from . import keyword_attributes, numbers, structs, symbol_directives  # noqa: F401  # pyright: ignore[reportUnusedImport]
from .assembly_format import (
    ATTRIBUTES,
    DICTIONARIES,
    Parsed,
    Syntax,
    methods_of,
    parse_pieces,
    pieces_of,
    print_pieces,
    printed_attributes_of,
    unmentioned_attributes,
    values,
)

# The import fills the table of directives, too, with those of `directives.py`.
from .resource_directives import DynamicSizes, ShapedTypes


class SyntaxOperation(IRDLOperation):
    """An operation that is parsed and printed by its `SYNTAX`.

    Subclasses that override `verify_` call this class's first.
    """

    SYNTAX: ClassVar[Syntax] = ""

    @classmethod
    def parse(cls, parser: Parser) -> SyntaxOperation:
        parsed = Parsed()
        parse_pieces(parser, parsed, pieces_of(cls))
        return build(cls, parser, parsed)

    def print(self, printer: Printer) -> None:
        print_pieces(printer, self, pieces_of(type(self)))

    def verify_(self) -> None:
        for verify in methods_of(pieces_of(type(self)), "verify"):
            verify(self)

    def prints_generically(self) -> bool:
        """Return whether the custom form would lose information."""
        pieces = pieces_of(type(self))
        if not all(fits(self) for fits in methods_of(pieces, "fits")):
            return True
        rest = unmentioned_attributes(self, printed_attributes_of(pieces))
        if not rest or not pieces:
            return False
        dictionaries = [place for place, piece in enumerate(pieces) if piece in DICTIONARIES]
        if not dictionaries:
            nested = (getattr(piece, "pieces", ()) for piece in pieces)
            return not any(piece in DICTIONARIES for inner in nested for piece in inner)
        # `{` after a type would be parsed as dynamic sizes.
        before = pieces[dictionaries[0] - 1]
        if isinstance(before, ShapedTypes):
            before = before.pieces[-1]
        absent = isinstance(before, DynamicSizes) and not values(self, before.name)
        return absent and pieces[dictionaries[0]] is ATTRIBUTES


OperationT = TypeVar("OperationT", bound=IRDLOperation)


def build(cls: type[OperationT], parser: Parser, parsed: Parsed) -> OperationT:
    """Create the operation from its parsed parts.

    Raises ParseError if operands are used with other types elsewhere.
    """
    definition = cls.get_irdl_definition()
    position = parser.pos
    operands: list[SSAValue] = []
    segments: list[int] = []
    for name, _ in definition.operands:
        unresolved = parsed.operands.get(name, [])
        types: Sequence[Attribute] = parsed.types.get(name, ())
        if not types:
            type_ = parsed.uniform_types.get(name) or implied_type(cls, name)
            types = [type_] * len(unresolved)
        operands += parser.resolve_operands(unresolved, types, position)
        segments.append(len(unresolved))
    results: list[Attribute] = []
    for name, result in definition.results:
        several = isinstance(result, VariadicDef)
        results += parsed.types.get(name) or ([] if several else [implied_type(cls, name)])
    properties, attributes = split_attributes(definition, parsed.attributes)
    if any(isinstance(option, AttrSizedOperandSegments) for option in definition.options):
        properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, segments)
    regions: list[Region] = []
    for name, region in definition.regions:
        several = isinstance(region, VariadicDef)
        one = parsed.regions.get(name) or Region()
        regions += parsed.region_lists.get(name, []) if several else [one]
    return cls.create(
        operands=operands,
        result_types=results,
        properties=properties,
        attributes=attributes,
        regions=regions,
    )


@lru_cache(maxsize=1024)
def implied_type(cls: type[IRDLOperation], name: str) -> Attribute:
    """Return the type of a value that the text omits: the only one that its constraint allows.

    Index is the default if the constraint does not fix one type.
    """
    definition = cls.get_irdl_definition()
    constraint = dict([*definition.operands, *definition.results])[name].constr
    if isinstance(constraint, RangeLengthConstraint):
        constraint = constraint.constraint
    one = constraint.constr if isinstance(constraint, RangeOf) else None
    return one.attr if isinstance(one, EqAttrConstraint) else INDEX


def split_attributes(
    definition: OpDef, attributes: dict[str, Attribute]
) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """Split parsed attributes into (properties of the definition, discardable attributes)."""
    properties = {n: a for n, a in attributes.items() if n in definition.properties}
    others = {n: a for n, a in attributes.items() if n not in definition.properties}
    return properties, others

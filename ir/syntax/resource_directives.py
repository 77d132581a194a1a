"""Directives shared by the stream, flow, hal and util dialects: sizes and ties.

`T{%size}` is a resource type with its size in bytes, `tensor<?x4xf32>{%n}` a tensor type with its
dynamic dimension sizes, and `%arg0 as T{%size}` a result that is tied to an operand, i.e. stored in
its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice
from typing import ClassVar, TypeVar, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IndexType, IntegerAttr, ShapedType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import OpDef
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..index_lists import INDEX
from .assembly_format import (
    DIRECTIVES,
    Directive,
    Parsed,
    directive,
    parse_pieces,
    print_pieces,
    values,
)
from .directives import same_types

RESOURCE = "stream.resource"
UNTIED = -1


@directive("tied")
@dataclass(frozen=True, slots=True)
class TiedOperand:
    """The operand that the result is tied to: `%target as`. It may be absent when parsed."""

    operand: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        target = parsed.operands[self.operand][0]
        position = parser.pos
        if (tied := parser.parse_optional_unresolved_operand()) is not None:
            if operand_key(tied) != operand_key(target):
                parser.raise_error(
                    f"expected the result to be tied to '%{target.operand_name}'", position
                )
            parser.parse_keyword("as")

    def print(self, printer: Printer, operation: Operation) -> None:
        printer.print_ssa_value(values(operation, self.operand)[0])
        printer.print_string(" as")


def operand_key(operand: UnresolvedOperand) -> tuple[str, int]:
    """Return the identity of an operand reference: `%a#1` differs from `%a`."""
    return operand.operand_name, operand.index


@directive("sized")
@dataclass(frozen=True, slots=True)
class SizedTypes:
    """The types of several resources with their sizes: `T{%size}, U{%size}`.

    `results` names results with the same types.
    """

    name: str
    sizes: str
    results: str = ""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        types = parsed.types.setdefault(self.name, [])
        sizes = parsed.operands.setdefault(self.sizes, [])

        def parse_one() -> None:
            types.append(parser.parse_type())
            with parser.in_braces():
                sizes.append(parser.parse_unresolved_operand())

        parser.parse_comma_separated_list(parser.Delimiter.NONE, parse_one)
        if self.results:
            parsed.types[self.results] = types

    def print(self, printer: Printer, operation: Operation) -> None:
        def print_one(pair: tuple[SSAValue, SSAValue]) -> None:
            printer.print_attribute(pair[0].type)
            print_dimensions(printer, pair[1:])

        pairs = zip(values(operation, self.name), values(operation, self.sizes), strict=True)
        printer.print_list(tuple(pairs), print_one)

    def verify(self, operation: Operation) -> None:
        verify_columns(operation, self.name, self.sizes)

    def fits(self, operation: Operation) -> bool:
        return not self.results or same_types(operation, self.name, (self.results,))


@dataclass(frozen=True, slots=True)
class DynamicSizes:
    """`{%m, %n}` after the type of a value or property: the sizes of its dynamic dimensions."""

    name: str
    shaped: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parsed.operands[self.name] = parse_dimensions(parser)

    def print(self, printer: Printer, operation: Operation) -> None:
        print_dimensions(printer, values(operation, self.name))

    def verify(self, operation: Operation) -> None:
        stored = operation.get_attr_or_prop(self.shaped)
        type_ = values(operation, self.shaped)[0].type if stored is None else stored
        expected, found = dynamic_dimensions(type_), len(values(operation, self.name))
        if found != expected:
            raise VerifyException(
                f"{type_}: {'value' if stored is None else 'type'} set has {expected} dynamic "
                f"dimensions but only {found} dimension values are attached"
            )


@directive("dims")
def _dims(definition: OpDef, sizes: str, name: str) -> Directive:
    """`dims($dims, $a)`: the sizes of the dynamic dimensions of `a`."""
    return DynamicSizes(sizes, name)


@directive("shaped")
def _shaped(definition: OpDef, sizes: str, name: str, *also: str) -> Directive:
    """`shaped($dims, $a, $b)`: the common type of `a` and `b` with its dynamic dimension sizes."""
    return ShapedTypes((DIRECTIVES["type"](definition, name, *also), DynamicSizes(sizes, name)))


@dataclass(frozen=True, slots=True)
class ShapedTypes:
    """A type with its dynamic dimension sizes: `tensor<?x4xf32>{%n}`."""

    pieces: tuple[Directive, DynamicSizes]

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        parse_pieces(parser, parsed, self.pieces)

    def print(self, printer: Printer, operation: Operation) -> None:
        print_pieces(printer, operation, self.pieces)


@directive("parameter")
@dataclass(frozen=True, slots=True)
class Parameter:
    """`%scope::%key[%offset]`: a position in a parameter file; the scope is optional."""

    scope: str
    key: str
    offset: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        key = parser.parse_unresolved_operand()
        if parser.parse_optional_punctuation(":") is not None:
            parser.parse_punctuation(":")
            parsed.operands[self.scope] = [key]
            key = parser.parse_unresolved_operand()
        parsed.operands[self.key] = [key]
        with parser.in_square_brackets():
            parsed.operands[self.offset] = [parser.parse_unresolved_operand()]

    def print(self, printer: Printer, operation: Operation) -> None:
        for scope in values(operation, self.scope):
            printer.print_ssa_value(scope)
            printer.print_string("::")
        printer.print_ssa_value(values(operation, self.key)[0])
        with printer.in_square_brackets():
            printer.print_ssa_value(values(operation, self.offset)[0])


def verify_columns(operation: Operation, *names: str) -> None:
    """Raise VerifyException unless the lists of values of these names have equal lengths."""
    counts = [len(values(operation, name)) for name in names]
    if len(set(counts)) > 1:
        found = ", ".join(f"{count} {name}" for count, name in zip(counts, names, strict=True))
        raise VerifyException(f"expected lists of one length, found {found}")


def parse_dimensions(parser: Parser) -> list[UnresolvedOperand]:
    """Read `{%m, %n}` or nothing."""
    return (
        parser.parse_optional_comma_separated_list(
            parser.Delimiter.BRACES, parser.parse_unresolved_operand
        )
        or []
    )


def print_dimensions(printer: Printer, dimensions: Sequence[SSAValue]) -> None:
    """Print `{%m, %n}`, or nothing if there are no dimensions."""
    if dimensions:
        with printer.in_braces():
            printer.print_list(dimensions, printer.print_ssa_value)


class ValueForm(Enum):
    """How types of operands and results are written in a function type with ties."""

    PLAIN = auto()
    """The type alone: `T`."""
    RESOURCE = auto()
    """A resource with its size, `!stream.resource<*>{%size}`; other types alone."""
    SHAPED = auto()
    """A shaped type with its dynamic dimension sizes: `tensor<?x4xf32>{%n}`."""


def dynamic_dimensions(type_: Attribute) -> int:
    """Return the number of dynamic dimensions of a type; 0 if it has no shape."""
    if isinstance(type_, ShapedType):
        return sum(size == DYNAMIC_INDEX for size in type_.get_shape())
    shape = getattr(type_, "shape", None)
    return cast(tuple[int | None, ...], shape).count(None) if isinstance(shape, tuple) else 0


def sizes_by_type(
    types: Iterable[Attribute], sizes: Iterable[SSAValue]
) -> list[tuple[SSAValue, ...]]:
    """Return for each type the sizes of its dynamic dimensions, out of those listed for all types.

    A type without a shape has none.
    """
    rest = iter(sizes)
    return [tuple(islice(rest, dynamic_dimensions(type_))) for type_ in types]


def _sizes_of(type_: Attribute, form: ValueForm) -> int:
    match form:
        case ValueForm.PLAIN:
            return 0
        case ValueForm.RESOURCE:
            return int(type_.name == RESOURCE)
        case ValueForm.SHAPED:
            return dynamic_dimensions(type_)


def parse_type_sizes(parser: Parser, form: ValueForm, type_: Attribute) -> list[UnresolvedOperand]:
    """Read the sizes of a type. Raises ParseError if there are more or fewer than it needs."""
    expected = _sizes_of(type_, form)
    position = parser.pos
    found = parse_dimensions(parser)
    if len(found) != expected:
        parser.raise_error(f"expected {expected} sizes for {type_}, found {len(found)}", position)
    return found


@dataclass(frozen=True, slots=True)
class TiedFunctionType:
    """Types, sizes and ties of operands and results: `(T{%s}, index) -> (%arg0{%s}, U{%t})`.

    Ties are stored in the property `tied_operands`: for each result the index in `operands` of the
    operand that it is tied to, or -1.
    """

    form: ValueForm
    operands: str
    operand_sizes: str
    results: str
    result_sizes: str
    parenthesized: bool = False
    """Whether a single result is in parentheses, too."""

    printed_attributes: ClassVar[tuple[str, ...]] = ("tied_operands",)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        types: list[Attribute] = []
        sizes: list[UnresolvedOperand] = []

        def parse_operand() -> None:
            types.append(parser.parse_type())
            sizes.extend(parse_type_sizes(parser, self.form, types[-1]))

        parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_operand)
        parsed.types[self.operands] = types
        if self.operand_sizes:
            parsed.operands[self.operand_sizes] = sizes
        parser.parse_punctuation("->")
        self.parse_results(parser, parsed)

    def parse_results(self, parser: Parser, parsed: Parsed) -> None:
        """Read the part after the arrow."""
        names = [operand_key(operand) for operand in parsed.operands.get(self.operands, ())]
        operand_types = parsed.types.get(self.operands, [])
        types: list[Attribute] = []
        sizes: list[UnresolvedOperand] = []
        ties: list[int] = []

        def parse_result() -> None:
            tie, type_ = parse_tied_type(parser, names, operand_types)
            ties.append(tie)
            types.append(type_)
            sizes.extend(parse_type_sizes(parser, self.form, types[-1]))

        parse_results(parser, parse_result)
        parsed.types[self.results] = types
        if self.result_sizes:
            parsed.operands[self.result_sizes] = sizes
        if self.operands:
            set_ties(parsed, ties)

    def print(self, printer: Printer, operation: Operation) -> None:
        sizes = iter(values(operation, self.operand_sizes))

        def print_operand(value: SSAValue) -> None:
            printer.print_attribute(value.type)
            self._print_sizes(printer, value.type, sizes)

        with printer.in_parens():
            printer.print_list(values(operation, self.operands), print_operand)
        printer.print_string(" -> ")
        self.print_results(printer, operation)

    def print_results(self, printer: Printer, operation: Operation) -> None:
        """Print the part after the arrow."""
        operands = values(operation, self.operands)
        operand_types = [operand.type for operand in operands]
        results = values(operation, self.results)
        sizes = iter(values(operation, self.result_sizes))

        def print_operand(tie: int) -> None:
            printer.print_ssa_value(operands[tie])

        def print_result(pair: tuple[SSAValue, int]) -> None:
            value, tie = pair
            print_tied_type(printer, value.type, tie, operand_types, print_operand)
            self._print_sizes(printer, value.type, sizes)

        pairs = tuple(zip(results, ties_of(operation, len(results)), strict=True))
        print_results(printer, pairs, print_result, always=self.parenthesized)

    def verify(self, operation: Operation) -> None:
        operands, results = values(operation, self.operands), values(operation, self.results)
        verify_ties(operation, len(operands), len(results))
        for what, found, name in (
            ("operands", operands, self.operand_sizes),
            ("results", results, self.result_sizes),
        ):
            expected = sum(_sizes_of(value.type, self.form) for value in found)
            given = len(values(operation, name))
            if given != expected:
                raise VerifyException(f"expected {expected} sizes of {what}, found {given}")

    def fits(self, operation: Operation) -> bool:
        return not self.operands or ties_fit(operation, len(values(operation, self.results)))

    def _print_sizes(self, printer: Printer, type_: Attribute, sizes: Iterator[SSAValue]) -> None:
        print_dimensions(printer, [next(sizes) for _ in range(_sizes_of(type_, self.form))])


@dataclass(frozen=True, slots=True)
class TiedResultTypes(TiedFunctionType):
    """The result part of a `TiedFunctionType`: `(T{%s}, U)`."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        self.parse_results(parser, parsed)

    def print(self, printer: Printer, operation: Operation) -> None:
        self.print_results(printer, operation)


@directive("result-types")
@dataclass(frozen=True, slots=True)
class ResultTypes:
    """The types of results: `T`, `(T, U)` or `()`."""

    name: str

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        types = parsed.types.setdefault(self.name, [])
        parse_results(parser, lambda: types.append(parser.parse_type()))

    def print(self, printer: Printer, operation: Operation) -> None:
        types = [value.type for value in values(operation, self.name)]
        print_results(printer, types, printer.print_attribute, always=False)


def parse_tie(parser: Parser, names: Sequence[tuple[str, int]]) -> int:
    """Read the operand that a result is tied to, and return its index in `names`, or -1 if none.

    Raises ParseError if it is not an operand.
    """
    position = parser.pos
    tied = parser.parse_optional_unresolved_operand()
    if tied is None:
        return UNTIED
    if operand_key(tied) not in names:
        parser.raise_error(f"'%{tied.operand_name}' is not an operand", position)
    return names.index(operand_key(tied))


def parse_tied_type(
    parser: Parser, names: Sequence[tuple[str, int]], types: Sequence[Attribute]
) -> tuple[int, Attribute]:
    """Read `T`, `%a as T`, or `%a` for an operand of the result's type.

    `names` and `types` are those of the operands. Return the index of the operand, or -1 if there
    is none, and the type of the result. Raises ParseError for a value that is no operand.
    """
    tie = parse_tie(parser, names)
    if tie != UNTIED and parser.parse_optional_keyword("as") is None:
        return tie, types[tie]
    return tie, parser.parse_type()


def print_tied_type(
    printer: Printer,
    type_: Attribute,
    tie: int,
    types: Sequence[Attribute],
    print_operand: Callable[[int], object],
) -> None:
    """Print the type and tie of a result as `parse_tied_type` reads them."""
    if tie != UNTIED:
        print_operand(tie)
    if tie == UNTIED or types[tie] != type_:
        printer.print_string("" if tie == UNTIED else " as ")
        printer.print_attribute(type_)


def set_ties(parsed: Parsed, ties: Sequence[int]) -> None:
    """Store ties as IREE does: for every operation with results, with -1 for an untied result."""
    if ties:
        parsed.attributes["tied_operands"] = tied_operands(ties)


def tied_operands(ties: Sequence[int]) -> ArrayAttr[IntegerAttr[IndexType]]:
    """Return the property that stores the operand index of each result, or -1."""
    return ArrayAttr(IntegerAttr(tie, INDEX) for tie in ties)


def ties_of(operation: Operation, results: int) -> tuple[int, ...]:
    """Return the index of the operand that each result is tied to, or -1.

    Raises VerifyException for ties that are no integers.
    """
    attribute = operation.get_attr_or_prop("tied_operands")
    if not isinstance(attribute, ArrayAttr):
        return (UNTIED,) * results
    ties = cast("ArrayAttr[Attribute]", attribute)
    found = [tie.value.data for tie in ties if isinstance(tie, IntegerAttr)]
    if len(found) != len(ties):
        raise VerifyException(f"expects integers as tied operands, but has {attribute}")
    return tuple(found)


def verify_ties(operation: Operation, operands: int, results: int) -> None:
    """Raise VerifyException unless each result has a valid tie."""
    ties = ties_of(operation, results)
    if len(ties) != results:
        raise VerifyException(
            f"expected {results} tied operands, one for each result, found {len(ties)}"
        )
    for tie in ties:
        if not UNTIED <= tie < operands:
            raise VerifyException(
                f"a result is tied to operand #{tie}, but there are only {operands} operands"
            )


def ties_fit(operation: Operation, results: int) -> bool:
    """Return whether the property is present exactly when the parser would set it."""
    return (operation.get_attr_or_prop("tied_operands") is not None) == bool(results)


def parse_results(parser: Parser, parse_one: Callable[[], None]) -> None:
    """Read `T`, `(T, U)`, `()` or, as IREE does, `T, U`."""
    if parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, parse_one) is None:
        parser.parse_comma_separated_list(parser.Delimiter.NONE, parse_one)


ItemT = TypeVar("ItemT")


def print_results(
    printer: Printer, items: Sequence[ItemT], print_one: Callable[[ItemT], None], *, always: bool
) -> None:
    """Print `T`, `(T, U)` or `()`; with `always`, a single item is in parentheses, too."""
    if len(items) == 1 and not always:
        print_one(items[0])
        return
    with printer.in_parens():
        printer.print_list(items, print_one)

"""The textual syntax of `shard` ops as data.

Most of these ops are written as `input on @grid`, then clauses such as `gather_axis = 0`, then
attributes and types. A `Clause` describes the syntax of one property; both the format and the
constructor of an op are derived from its list of clauses.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache, lru_cache
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, OpDef
from xdsl.parser import Parser
from xdsl.printer import Printer

from ...ir.index_lists import parse_index_list, print_index_list, split_list
from ...ir.syntax.assembly_format import Parsed, PrintsProperty, directive
from ...ir.syntax.operations import SyntaxOperation
from ...sharding.sharding import ReductionKind
from .attributes import (
    AxesArrayAttr,
    AxesAttr,
    IndicesAttr,
    ReductionKindAttr,
    axes_attribute,
    indices_attribute,
    parse_axes,
    print_axes,
)

INDEX = IndexType()


class NamedResults(SyntaxOperation, ABC):
    """An op that suggests SSA names for its results, as upstream's printer does.

    A name that the text gives takes precedence.
    """

    RESULT_NAMES: ClassVar[tuple[str, ...]] = ()
    """One name for each result; the last one is reused for further results. None by default."""

    def result_names(self) -> tuple[str, ...]:
        """Return the suggested names for this op."""
        return self.RESULT_NAMES

    def __post_init__(self) -> None:
        if _has_defaults(type(self)):
            super().__post_init__()
        names = self.result_names()
        if names:
            for position, result in enumerate(self.results):
                result.name_hint = names[min(position, len(names) - 1)]


@cache
def _has_defaults(operation: type[IRDLOperation]) -> bool:
    """Return whether any property or attribute of an op class has a default value.

    Annotations have none, and they are the most frequent ops of a program.
    """
    definition = operation.get_irdl_definition()
    members = (*definition.properties.values(), *definition.attributes.values())
    return any(member.default_value is not None for member in members)


class Form(Enum):
    """The syntax of a clause's value."""

    AXES = auto()
    """`[0, 1]`: grid axes."""
    AXES_ARRAY = auto()
    """`[[0], []]`: grid axes for each dimension."""
    INDEX = auto()
    """`1`: an attribute of type index."""
    INTEGER = auto()
    """`-1`: an attribute of type i64."""
    KIND = auto()
    """`max`: a reduction kind."""
    FLAG = auto()
    """Nothing: the keyword stands alone."""
    INDEX_LIST = auto()
    """`[1, %i]`: integers in a property, SSA values in an operand segment."""
    PARTIAL = auto()
    """`sum[1]`: a reduction kind and grid axes, in two properties."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One `keyword = value` in the text of an op.

    An optional clause is not printed if its property is absent, empty or the default reduction.
    `dynamic` names the operand segment of an INDEX_LIST. `set_when_absent` says whether a property
    of axes, indices or a reduction gets its default if the clause is left out. `synonyms` are
    further keywords that are parsed.
    """

    name: str
    form: Form
    optional: bool = False
    dynamic: str = ""
    set_when_absent: bool = True
    synonyms: tuple[str, ...] = ()

    @property
    def keyword(self) -> str:
        """The name of the property without the prefix of the static part of a list."""
        return self.name.removeprefix("static_")


ClauseValue = int | ReductionKind | Sequence[int | SSAValue] | None
"""The value of a clause as a caller passes it: a boolean for a flag, `None` if left out."""


def clause_values(
    clauses: Sequence[Clause], values: Mapping[str, ClauseValue]
) -> tuple[dict[str, Attribute | None], list[Sequence[SSAValue]]]:
    """Return the properties and the operand segments for the values of some clauses.

    A reduction that is left out is a sum. Raises TypeError if `values` has an unknown clause or
    lacks one that is not optional.
    """
    properties: dict[str, Attribute | None] = {}
    segments: list[Sequence[SSAValue]] = []
    needed = {clause.name for clause in clauses if not clause.optional}
    if needed - values.keys() or values.keys() - {clause.name for clause in clauses}:
        raise TypeError(f"expected {', '.join(c.name for c in clauses)}, found {list(values)}")
    for clause in clauses:
        default = ReductionKind.SUM if clause.form is Form.KIND else None
        value = values.get(clause.name, default)
        attribute: Attribute | None
        dynamic: Sequence[SSAValue] = ()
        match value:
            case None:
                attribute = None
            case bool():
                attribute = UnitAttr() if value else None
            case int():
                attribute = _integer(value, INDEX if clause.form is Form.INDEX else i64)
            case ReductionKind():
                attribute = ReductionKindAttr.from_kind(value)
            case _:
                numbers, dynamic = split_list(value)
                attribute = indices_attribute(numbers)
        properties[clause.name] = attribute
        if clause.dynamic:
            segments.append(dynamic)
    return properties, segments


@lru_cache(maxsize=64)
def _integer(value: int, integer_type: IndexType | IntegerType) -> Attribute:
    return IntegerAttr(value, integer_type)


_EXPECTED = "expected dimensions such as 2x?x4"


@directive("dimensions")
def _dimensions(definition: OpDef, name: str) -> Dimensions:
    return Dimensions(name, definition.name)


@dataclass(frozen=True, slots=True)
class Dimensions(PrintsProperty):
    """`2x?x4`, or `[]` if there are no dimensions."""

    name: str
    operation: str
    """The name of the operation, for errors."""

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        dimensions: list[int] = []
        if parser.parse_optional_punctuation("[") is not None:
            is_list = parser.parse_optional_punctuation("]") is not None
        else:
            dimensions = parser.parse_dimension_list()
            # If the text after a dimension is invalid, such as the `q` of `2xq`, the parser stops
            # before the `x`.
            is_list = bool(dimensions) and parser.parse_optional_keyword("x") is None
            start = parser.pos
            if is_list and (rest := parser.parse_optional_identifier()) is not None:
                end = parser.pos
                text = rest.removeprefix("x")
                parser.raise_error(f"invalid dimension '{text}', {_EXPECTED}", start + 1, end)
        if not is_list:
            parser.raise_error(
                self._no_list() if not dimensions else f"invalid dimension, {_EXPECTED}"
            )
        parsed.attributes[self.name] = indices_attribute(dimensions)

    def _no_list(self) -> str:
        return (
            f"custom op '{self.operation}' Failed parsing dimension list. Did you mean an empty "
            f'list? It must be denoted by "[]". {_EXPECTED.capitalize()}'
        )

    def print(self, printer: Printer, operation: Operation) -> None:
        dimensions = cast(IndicesAttr, operation.properties[self.name]).get_values()
        if dimensions:
            printer.print_dimension_list(dimensions)
        else:
            printer.print_string("[]")


@dataclass(eq=False)
class Clauses:
    """A list of clauses, each preceded by a space."""

    rows: tuple[Clause, ...]

    @property
    def printed_attributes(self) -> tuple[str, ...]:
        partial = any(row.form is Form.PARTIAL for row in self.rows)
        also = ("partial_type", "partial_axes") if partial else ()
        return (*(row.name for row in self.rows), *also)

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        """Parse the clauses in order. An absent optional clause gets its default."""
        for clause in self.rows:
            words = (clause.keyword, *clause.synonyms)
            if any(parser.parse_optional_keyword(word) for word in words):
                _parse_value(parser, clause, parsed)
            elif clause.optional:
                _leave_out(clause, parsed)
            else:
                parser.raise_error(f"expected '{words[0]}'")

    def print(self, printer: Printer, operation: Operation) -> None:
        for clause in self.rows:
            value = operation.properties.get(clause.name)
            if clause.form is Form.PARTIAL:
                _print_partial(printer, operation)
            elif value is None or (clause.optional and _may_be_left_out(value)):
                continue
            elif isinstance(value, UnitAttr):
                printer.print_string(f" {clause.keyword}")
            else:
                printer.print_string(f" {clause.keyword} = ")
                _print_value(printer, operation, clause, value)


def _parse_value(parser: Parser, clause: Clause, parsed: Parsed) -> None:
    name = clause.name
    properties = parsed.attributes
    if clause.form is Form.FLAG:
        properties[name] = UnitAttr()
        return
    parser.parse_punctuation("=")
    match clause.form:
        case Form.AXES:
            properties[name] = parse_axes(parser)
        case Form.AXES_ARRAY:
            properties[name] = AxesArrayAttr.parse_lists(parser)
        case Form.INDEX:
            properties[name] = IntegerAttr(parser.parse_integer(allow_boolean=False), INDEX)
        case Form.INTEGER:
            position = parser.pos
            number = parser.parse_integer(allow_boolean=False)
            if not -(2**63) <= number < 2**63:
                parser.raise_error(f"{number} does not fit in 64 bits", position, parser.pos)
            properties[name] = IntegerAttr(number, i64)
        case Form.KIND:
            properties[name] = ReductionKindAttr.parse_keyword(parser)
        case Form.INDEX_LIST:
            numbers, operands = parse_index_list(parser)
            properties[name] = indices_attribute(numbers)
            parsed.operands[clause.dynamic] = operands
        case Form.PARTIAL:
            properties["partial_type"] = ReductionKindAttr.parse_keyword(parser)
            properties["partial_axes"] = parse_axes(parser)


def _leave_out(clause: Clause, parsed: Parsed) -> None:
    if not clause.set_when_absent:
        return
    name = clause.name
    match clause.form:
        case Form.AXES:
            parsed.attributes[name] = axes_attribute(())
        case Form.INDEX_LIST:
            parsed.attributes[name] = indices_attribute(())
        case Form.KIND:
            parsed.attributes[name] = ReductionKindAttr.from_kind(ReductionKind.SUM)
        case _:
            pass


def _may_be_left_out(value: Attribute) -> bool:
    match value:
        case DenseArrayBase():
            return not len(value)
        case ReductionKindAttr():
            return value.reduction is ReductionKind.SUM
        case _:
            return False


def _print_value(printer: Printer, operation: Operation, clause: Clause, value: Attribute) -> None:
    match value:
        case AxesArrayAttr():
            value.print_parameters(printer)
        case ReductionKindAttr():
            printer.print_string(" ")  # mlir-opt 22 prints two spaces
            value.print_parameters(printer)
        case IntegerAttr():
            printer.print_int(value.value.data)
        case DenseArrayBase() if clause.form is Form.INDEX_LIST:
            operands: Sequence[SSAValue] = getattr(operation, clause.dynamic)
            print_index_list(printer, cast(IndicesAttr, value).get_values(), operands)
        case DenseArrayBase():
            print_axes(printer, cast(AxesAttr, value))
        case _:
            printer.print_attribute(value)


def _print_partial(printer: Printer, operation: Operation) -> None:
    kind = operation.properties.get("partial_type")
    axes = operation.properties.get("partial_axes")
    if isinstance(kind, ReductionKindAttr) and isinstance(axes, DenseArrayBase):
        printer.print_string(f" partial = {kind.kind.data}")
        print_axes(printer, cast(AxesAttr, axes))


def grid_reference(grid: str | SymbolRefAttr) -> SymbolRefAttr:
    """Return a reference to a grid that is given by name or by reference."""
    return SymbolRefAttr(StringAttr(grid)) if isinstance(grid, str) else grid

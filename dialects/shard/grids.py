"""Grids of processes, and the questions a process asks about its grid.

Definitions without a name: `dialect.py` and `dialects/mesh.py` give them their names.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    I64,
    DenseArrayBase,
    FlatSymbolRefAttr,
    IndexType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ...sharding.grid import Grid
from .attributes import SHARD_SPELLING, AxesAttr, Spelling, axes_attribute, indices_attribute
from .checks import DEVICES, check_axes, check_spelling, grid_value, resolve_grid
from .syntax import (
    INDEX,
    Clause,
    Form,
    NamedResults,
    grid_reference,
    parse_attributes,
    parse_clauses,
    parse_dimensions,
    parse_grid,
    print_attributes,
    print_clauses,
    print_dimensions,
    print_grid,
)
from .traits import ShardCanonicalization


class GridDefinition(IRDLOperation, ABC):
    """A named grid of processes: `shard.grid @g(shape = 2x?x4)`."""

    SPELLING: ClassVar[Spelling] = SHARD_SPELLING

    sym_name = prop_def(SymbolNameConstraint())
    shape = prop_def(DenseArrayBase[I64])

    traits = traits_def(SymbolOpInterface(), Pure())

    def __init__(self, name: str, shape: Sequence[int | None]) -> None:
        extents = [DYNAMIC_INDEX if extent is None else extent for extent in shape]
        super().__init__(
            properties={"sym_name": StringAttr(name), "shape": indices_attribute(extents)}
        )

    @property
    def grid(self) -> Grid:
        """The grid as a value of the sharding algebra."""
        return grid_value(self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        visibility = parser.parse_optional_str_literal()
        name = parser.parse_symbol_name()
        parser.parse_punctuation("(")
        parser.parse_keyword("shape")
        parser.parse_punctuation("=")
        shape = parse_dimensions(parser)
        parser.parse_punctuation(")")
        properties: dict[str, Attribute] = {"sym_name": name, "shape": indices_attribute(shape)}
        attributes = parse_attributes(parser, cls, properties)
        if visibility is not None:
            attributes["sym_visibility"] = StringAttr(visibility)
        return cls.create(
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        with printer.in_parens():
            printer.print_string("shape = ")
            print_dimensions(printer, self.shape.get_values())
        print_attributes(printer, self)

    def verify_(self) -> None:
        word = self.SPELLING.word("grid")
        extents = self.shape.get_values()
        if not extents:
            raise VerifyException(f"rank of {word} is expected to be a positive integer")
        for extent in extents:
            if extent <= 0 and extent != DYNAMIC_INDEX:
                raise VerifyException(
                    f"dimension size of a {word} is expected to be positive or dynamic, "
                    f"got {extent}"
                )
        if DEVICES in self.attributes:
            from .boundary import verify_devices

            verify_devices(self, word)


class OnGrid(NamedResults, ABC):
    """An operation that refers to a grid by its symbol."""

    SPELLING: ClassVar[Spelling] = SHARD_SPELLING

    grid = prop_def(FlatSymbolRefAttr)

    def resolve_grid(self) -> Grid:
        """The grid that the symbol names. Raises VerifyException if there is none."""
        return resolve_grid(self, self.grid, self.SPELLING)

    def verify_(self) -> None:
        check_spelling(self, self.SPELLING)
        self.verify_on_grid(self.resolve_grid())

    def verify_on_grid(self, grid: Grid) -> None:
        """Check what can be checked with the grid at hand."""


_AXES = Clause("axes", Form.AXES, optional=True)
_SPLIT_AXES = Clause("split_axes", Form.AXES)


class _PerAxis(OnGrid, ABC):
    """One index for each of the listed axes, or for all axes where none are listed."""

    PREPOSITION: ClassVar[str]

    axes = prop_def(AxesAttr, default_value=axes_attribute(()))
    result = var_result_def(IndexType)

    traits = traits_def(Pure(), ShardCanonicalization())

    def __init__(
        self,
        grid: str | SymbolRefAttr,
        axes: Sequence[int] = (),
        result_count: int | None = None,
    ) -> None:
        """`result_count` is needed where `axes` is empty: the rank of the grid."""
        count = len(axes) if result_count is None else result_count
        super().__init__(
            properties={
                self.SPELLING.word("grid"): grid_reference(grid),
                "axes": axes_attribute(axes),
            },
            result_types=[[INDEX] * count],
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        if cls.PREPOSITION:
            parser.parse_keyword(cls.PREPOSITION)
        grid = parse_grid(parser)
        clauses = parse_clauses(parser, (_AXES,), cls.SPELLING)
        properties: dict[str, Attribute] = {cls.SPELLING.word("grid"): grid, **clauses.properties}
        attributes = parse_attributes(parser, cls, properties)
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return cls.create(
            properties=properties,
            result_types=types,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.PREPOSITION} " if self.PREPOSITION else " ")
        print_grid(printer, self.grid)
        print_clauses(printer, self, (_AXES,), self.SPELLING)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_list(self.result_types, printer.print_attribute)

    def listed_axes(self, grid: Grid) -> tuple[int, ...]:
        """The axes of the results, all of the grid's where none are listed."""
        return self.axes.get_values() or tuple(range(grid.rank))

    def verify_on_grid(self, grid: Grid) -> None:
        check_axes(self.axes.get_values(), grid, self.SPELLING.word("grid"))
        count = len(self.listed_axes(grid))
        if count != len(self.results):
            raise VerifyException(
                f"Unexpected number of results {len(self.results)}. Expected {count}."
            )


class GridShapeDefinition(_PerAxis, ABC):
    """Extents of a grid: `shard.grid_shape @g axes = [1, 0] : index, index`."""

    RESULT_NAMES: ClassVar[tuple[str, ...]] = ("grid_shape",)
    PREPOSITION: ClassVar[str] = ""


class ProcessMultiIndexDefinition(_PerAxis, ABC):
    """Coordinates of this process: `shard.process_multi_index on @g axes = [0] : index`."""

    RESULT_NAMES: ClassVar[tuple[str, ...]] = ("proc_linear_idx",)
    PREPOSITION: ClassVar[str] = "on"


class ProcessLinearIndexDefinition(OnGrid, ABC):
    """Row-major number of this process: `shard.process_linear_index on @g : index`."""

    RESULT_NAMES: ClassVar[tuple[str, ...]] = ("proc_linear_idx",)

    result = result_def(IndexType)

    traits = traits_def(Pure())

    def __init__(self, grid: str | SymbolRefAttr) -> None:
        super().__init__(
            properties={self.SPELLING.word("grid"): grid_reference(grid)}, result_types=[INDEX]
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_keyword("on")
        grid = parse_grid(parser)
        properties: dict[str, Attribute] = {cls.SPELLING.word("grid"): grid}
        attributes = parse_attributes(parser, cls, properties)
        parser.parse_punctuation(":")
        return cls.create(
            properties=properties,
            result_types=[parser.parse_type()],
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" on ")
        print_grid(printer, self.grid)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)


class NeighborsLinearIndicesDefinition(OnGrid, ABC):
    """Numbers of the processes before and after a device along axes, -1 where there is none.

    `shard.neighbors_linear_indices on @g[%i, %j] split_axes = [1] : index, index`
    """

    RESULT_NAMES: ClassVar[tuple[str, ...]] = ("down_linear_idx", "up_linear_idx")

    split_axes = prop_def(AxesAttr)
    device = var_operand_def(IndexType)
    neighbor_down = result_def(IndexType)
    neighbor_up = result_def(IndexType)

    traits = traits_def(Pure())

    def __init__(
        self,
        grid: str | SymbolRefAttr,
        device: Sequence[SSAValue],
        split_axes: Sequence[int],
    ) -> None:
        super().__init__(
            operands=[device],
            properties={
                self.SPELLING.word("grid"): grid_reference(grid),
                "split_axes": axes_attribute(split_axes),
            },
            result_types=[INDEX, INDEX],
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        parser.parse_keyword("on")
        grid = parse_grid(parser)
        position = parser.pos
        device = parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, parser.parse_unresolved_operand
        )
        clauses = parse_clauses(parser, (_SPLIT_AXES,), cls.SPELLING)
        properties: dict[str, Attribute] = {cls.SPELLING.word("grid"): grid, **clauses.properties}
        attributes = parse_attributes(parser, cls, properties)
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return cls.create(
            operands=parser.resolve_operands(device, [INDEX] * len(device), position),
            properties=properties,
            result_types=types,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" on ")
        print_grid(printer, self.grid)
        with printer.in_square_brackets():
            printer.print_list(self.device, printer.print_ssa_value)
        print_clauses(printer, self, (_SPLIT_AXES,), self.SPELLING)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_list(self.result_types, printer.print_attribute)

    def verify_on_grid(self, grid: Grid) -> None:
        word = self.SPELLING.word("grid")
        check_axes(self.split_axes.get_values(), grid, word)
        if len(self.device) != grid.rank:
            raise VerifyException(
                f"device has {len(self.device)} coordinates, expected {grid.rank}, the rank of "
                f"{word} @{grid.name}"
            )

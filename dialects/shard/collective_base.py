"""What the collectives share: text, groups, and the rules for their types.

A group is the set of processes that agree in all coordinates outside `grid_axes`; in a group
they are ordered row-major over `grid_axes` as listed, the first axis slowest. No axes: each
process is alone. The definitions have no name: `dialect.py` and `dialects/mesh.py` give it to them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    SymbolRefAttr,
    TensorType,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyOf,
    BaseAttr,
    prop_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...sharding.grid import Grid
from ...sharding.sharding import Axes
from .attributes import AxesAttr, IndicesAttr, ReductionKindAttr, axes_attribute
from .checks import (
    check_axes,
    check_conversion,
    check_dimension,
    check_divided,
    check_in_group_device,
    check_index_count,
    check_ranked_above_zero,
    check_reduction,
    check_shape,
    element_type_of,
    shape_of,
    times,
)
from .grids import OnGrid
from .syntax import (
    Clause,
    ClauseValue,
    Form,
    clause_values,
    grid_reference,
    parse_attributes,
    parse_clauses,
    parse_grid,
    print_attributes,
    print_clauses,
    print_grid,
)

TENSOR = BaseAttr(TensorType)
TENSOR_OR_MEMREF = AnyOf((BaseAttr(TensorType), BaseAttr(MemRefType)))
DimensionAttr = IntegerAttr[IndexType]

GRID_AXES = Clause("grid_axes", Form.AXES, optional=True)
REDUCTION = Clause("reduction", Form.KIND, optional=True)
SCATTER_AXIS = Clause("scatter_axis", Form.INDEX, synonyms=("scatter_dim",))
ROOT = Clause("root", Form.INDEX_LIST, dynamic="root_dynamic")


class Collective(OnGrid, ABC):
    """What all collectives share: an input, a grid, the axes that span a group, and clauses."""

    CLAUSES: ClassVar[tuple[Clause, ...]]
    FUNCTION_TYPE: ClassVar[bool] = False
    """Whether the types are written `(T, index) -> U`, or else `T -> U`."""
    TAKES_SCALARS: ClassVar[bool] = False
    """Whether tensors of rank 0 take part, as they do where nothing is cut or joined."""

    grid_axes = prop_def(AxesAttr, default_value=axes_attribute(()))

    def result_names(self) -> tuple[str, ...]:
        return (self.name.partition(".")[2],)

    def initialize(
        self,
        input: SSAValue,
        grid: str | SymbolRefAttr,
        grid_axes: Sequence[int],
        result_type: Attribute,
        **values: ClauseValue,
    ) -> None:
        """Build the operation from the values of its clauses, by their names."""
        properties, dynamic = clause_values(self.CLAUSES, values, self.SPELLING)
        super().__init__(
            operands=[input, *dynamic],
            properties={
                self.SPELLING.word("grid"): grid_reference(grid),
                self.SPELLING.word("grid_axes"): axes_attribute(grid_axes),
                **properties,
            },
            result_types=[result_type],
        )

    @property
    def axes(self) -> Axes:
        """The grid axes that span a group, the first slowest."""
        return self.grid_axes.get_values()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        parser.parse_keyword("on")
        grid = parse_grid(parser)
        clauses = parse_clauses(parser, (GRID_AXES, *cls.CLAUSES), cls.SPELLING)
        properties: dict[str, Attribute] = {cls.SPELLING.word("grid"): grid, **clauses.properties}
        attributes = parse_attributes(parser, cls, properties)
        parser.parse_punctuation(":")
        position = parser.pos
        operands = [source, *(value for named in clauses.operands.values() for value in named)]
        if cls.FUNCTION_TYPE:
            types = parser.parse_type()
            if not isinstance(types, FunctionType):
                parser.raise_error("expected a function type", position, parser.pos)
            operand_types, result_types = types.inputs.data, types.outputs.data
        else:
            operand_types = (parser.parse_type(),)
            parser.parse_punctuation("->")
            result_types = (parser.parse_type(),)
        return cls.create(
            operands=parser.resolve_operands(operands, operand_types, position),
            properties=properties,
            result_types=result_types,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.operands[0])
        printer.print_string(" on ")
        print_grid(printer, self.grid)
        print_clauses(printer, self, (GRID_AXES, *self.CLAUSES), self.SPELLING)
        print_attributes(printer, self)
        printer.print_string(" : ")
        if self.FUNCTION_TYPE:
            printer.print_function_type(self.operand_types, self.result_types)
        else:
            printer.print_attribute(self.operands[0].type)
            printer.print_string(" -> ")
            printer.print_attribute(self.results[0].type)

    def verify_on_grid(self, grid: Grid) -> None:
        if not self.TAKES_SCALARS:
            check_ranked_above_zero(self.operands[0].type)
        check_axes(self.axes, grid, self.SPELLING.word("grid"))
        self.verify_in_groups(grid, grid.size(self.axes))

    @abstractmethod
    def verify_in_groups(self, grid: Grid, group: int | None) -> None:
        """Check types and properties, given the number of devices in a group."""


def check_same_type_kind(source: Attribute, result: Attribute) -> None:
    """Tensors make tensors, and memrefs memrefs."""
    if isinstance(source, MemRefType) != isinstance(result, MemRefType):
        raise VerifyException(f"expected a result of the same kind as {source}, got {result}")


def check_gathered(operation: Collective, dimension: int, group: int | None) -> None:
    """The result is `group` inputs long in one dimension, and as the input otherwise."""
    shape = shape_of(operation.operands[0].type)
    check_dimension("Gather axis", dimension, len(shape))
    expected = [*shape]
    expected[dimension] = times(shape[dimension], group)
    check_shape(shape_of(operation.results[0].type), tuple(expected))


def check_divided_type(operation: Collective, what: str, dimension: int, group: int | None) -> None:
    """The result is one of `group` equal pieces in one dimension, and as the input otherwise."""
    shape = shape_of(operation.operands[0].type)
    check_dimension(what, dimension, len(shape))
    expected = [*shape]
    expected[dimension] = check_divided(dimension, shape[dimension], group)
    check_shape(shape_of(operation.results[0].type), tuple(expected))


def check_reduction_types(operation: Collective, kind: ReductionKindAttr) -> None:
    """The input converts to the result's element type, which the kind can combine."""
    source, result = operation.operands[0].type, operation.results[0].type
    check_conversion(source, result)
    check_reduction(kind.reduction, element_type_of(result))


def check_device(
    operation: Collective,
    what: str,
    numbers: IndicesAttr,
    dynamic: Sequence[SSAValue],
    grid: Grid,
) -> None:
    """The device is given by one coordinate for each axis of the group."""
    values = numbers.get_values()
    check_index_count(what, values, dynamic)
    check_in_group_device(what, values, operation.axes, grid)

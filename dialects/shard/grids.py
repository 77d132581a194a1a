"""Ops that define a grid of processes or query it from a running process."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

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
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
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

from ...ir.index_lists import INDEX
from ...ir.syntax.assembly_format import Parsed, Syntax
from ...ir.syntax.operations import SyntaxOperation
from ...ir.verification import attribute_check
from ...sharding.grid import Grid
from .attributes import CANONICALIZATION, AxesAttr, axes_attribute, indices_attribute
from .checks import DEVICES, check_axes, grid_value, resolve_grid
from .syntax import NamedResults, grid_reference


class _OldVisibility:
    """Parse a string literal before the symbol name as `sym_visibility`.

    It is printed in the attribute dictionary.
    """

    def parse(self, parser: Parser, parsed: Parsed) -> None:
        if (visibility := parser.parse_optional_str_literal()) is not None:
            parsed.attributes["sym_visibility"] = StringAttr(visibility)

    def print(self, printer: Printer, operation: Operation) -> None:
        """Print nothing."""


@irdl_op_definition
class GridOp(SyntaxOperation):
    """Define a named grid of processes: `shard.grid @g(shape = 2x?x4)`.

    The verifier asks for a rank of at least 1 and for positive or dynamic extents. The attribute
    `devices`, if present, lists one device for each process.
    """

    name = "shard.grid"

    sym_name = prop_def(SymbolNameConstraint())
    shape = prop_def(DenseArrayBase[I64])

    traits = traits_def(SymbolOpInterface(), Pure())

    SYNTAX: ClassVar[Syntax] = (
        " ",
        _OldVisibility(),
        "@$sym_name(shape = dimensions($shape)) attr-dict",
    )

    def __init__(self, name: str, shape: Sequence[int | None]) -> None:
        extents = [DYNAMIC_INDEX if extent is None else extent for extent in shape]
        super().__init__(
            properties={"sym_name": StringAttr(name), "shape": indices_attribute(extents)}
        )

    @property
    def grid(self) -> Grid:
        """The grid as a `Grid` of `sharding/`."""
        return grid_value(self)

    def verify_(self) -> None:
        super().verify_()
        extents = self.shape.get_values()
        if not extents:
            raise VerifyException("rank of grid is expected to be a positive integer")
        for extent in extents:
            if extent <= 0 and extent != DYNAMIC_INDEX:
                raise VerifyException(
                    f"dimension size of a grid is expected to be positive or dynamic, got {extent}"
                )
        if DEVICES in self.attributes:
            from .boundary import verify_devices

            verify_devices(self)


@attribute_check("shard.boundary")
def _is_shard(function: Operation, attribute: Attribute, types: Sequence[Attribute]) -> None:
    """Check the boundary of an argument or result of a function."""
    from .boundary import verify_boundary

    for value_type in types:
        verify_boundary(function, attribute, value_type)


class OnGrid(NamedResults, ABC):
    """Base of the ops that refer to a grid by its symbol."""

    grid = prop_def(FlatSymbolRefAttr)

    def resolve_grid(self) -> Grid:
        """Return the grid that the symbol names. Raises VerifyException if there is none."""
        return resolve_grid(self, self.grid)

    def verify_(self) -> None:
        super().verify_()
        self.verify_without_grid()
        self.verify_on_grid(self.resolve_grid())

    def verify_without_grid(self) -> None:
        """Check the parts of the op that do not depend on the grid."""

    def verify_on_grid(self, grid: Grid) -> None:
        """Check the op against its grid."""


_AXES_AND_TYPES = "( axes = axes($axes))? attr-dict : type($result)"


class _PerAxis(OnGrid, ABC):
    """Base of the ops with one result for each of `axes`, or for every grid axis if it is empty."""

    axes = prop_def(AxesAttr, default_value=axes_attribute(()))
    result = var_result_def(IndexType)

    traits = traits_def(Pure(), CANONICALIZATION)

    def __init__(
        self,
        grid: str | SymbolRefAttr,
        axes: Sequence[int] = (),
        result_count: int | None = None,
    ) -> None:
        """Build the op; `result_count` is required if `axes` is empty: the rank of the grid."""
        count = len(axes) if result_count is None else result_count
        super().__init__(
            properties={
                "grid": grid_reference(grid),
                "axes": axes_attribute(axes),
            },
            result_types=[[INDEX] * count],
        )

    def listed_axes(self, grid: Grid) -> tuple[int, ...]:
        """Return the grid axis of each result: `axes`, or all axes if it is empty."""
        return self.axes.get_values() or tuple(range(grid.rank))

    def verify_on_grid(self, grid: Grid) -> None:
        check_axes(self.axes.get_values(), grid)
        count = len(self.listed_axes(grid))
        if count != len(self.results):
            raise VerifyException(
                f"Unexpected number of results {len(self.results)}. Expected {count}."
            )


@irdl_op_definition
class GridShapeOp(_PerAxis):
    """Return extents of a grid: `shard.grid_shape @g axes = [1, 0] : index, index`.

    There is one result for each of `axes`, or for every grid axis if none are listed.
    """

    name = "shard.grid_shape"

    RESULT_NAMES: ClassVar[tuple[str, ...]] = ("grid_shape",)
    SYNTAX: ClassVar[Syntax] = " @$grid" + _AXES_AND_TYPES


@irdl_op_definition
class ProcessMultiIndexOp(_PerAxis):
    """Return coordinates of this process: `shard.process_multi_index on @g axes = [0] : index`.

    There is one result for each of `axes`, or for every grid axis if none are listed.
    """

    name = "shard.process_multi_index"

    RESULT_NAMES: ClassVar[tuple[str, ...]] = ("proc_linear_idx",)
    SYNTAX: ClassVar[Syntax] = " on @$grid" + _AXES_AND_TYPES


@irdl_op_definition
class ProcessLinearIndexOp(OnGrid):
    """Return the row-major number of this process: `shard.process_linear_index on @g : index`."""

    name = "shard.process_linear_index"

    RESULT_NAMES: ClassVar[tuple[str, ...]] = ("proc_linear_idx",)

    result = result_def(IndexType)

    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = " on @$grid attr-dict : type($result)"

    def __init__(self, grid: str | SymbolRefAttr) -> None:
        super().__init__(properties={"grid": grid_reference(grid)}, result_types=[INDEX])


@irdl_op_definition
class NeighborsLinearIndicesOp(OnGrid):
    """Return the numbers of the processes before and after a device along `split_axes`.

    `shard.neighbors_linear_indices on @g[%i, %j] split_axes = [1] : index, index`

    A number is -1 if there is no such process. The verifier asks for one coordinate per grid axis.
    """

    name = "shard.neighbors_linear_indices"

    RESULT_NAMES: ClassVar[tuple[str, ...]] = ("down_linear_idx", "up_linear_idx")

    split_axes = prop_def(AxesAttr)
    device = var_operand_def(IndexType)
    neighbor_down = result_def(IndexType)
    neighbor_up = result_def(IndexType)

    traits = traits_def(Pure())

    SYNTAX: ClassVar[Syntax] = (
        " on @$grid[$device] split_axes = axes($split_axes)"
        " attr-dict : type($neighbor_down), type($neighbor_up)"
    )

    def __init__(
        self,
        grid: str | SymbolRefAttr,
        device: Sequence[SSAValue],
        split_axes: Sequence[int],
    ) -> None:
        super().__init__(
            operands=[device],
            properties={
                "grid": grid_reference(grid),
                "split_axes": axes_attribute(split_axes),
            },
            result_types=[INDEX, INDEX],
        )

    def verify_on_grid(self, grid: Grid) -> None:
        check_axes(self.split_axes.get_values(), grid)
        if len(self.device) != grid.rank:
            raise VerifyException(
                f"device has {len(self.device)} coordinates, expected {grid.rank}, the rank of "
                f"grid @{grid.name}"
            )

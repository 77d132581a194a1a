"""The base class of collectives: syntax, groups and the rules for types.

A group is the set of processes whose coordinates agree on all axes except `grid_axes`. Its
processes are ordered row-major over `grid_axes` as listed, the first axis slowest. Without axes
each process is a group of its own.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, SymbolRefAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AnyOf, BaseAttr, prop_def
from xdsl.utils.exceptions import VerifyException

from ...ir.index import IndexList
from ...ir.index_lists import INDEX, split_list
from ...ir.syntax.assembly_format import Directive, Syntax
from ...ir.tensor_types import Shape
from ...sharding.collective_rows import COLLECTIVES, RECV, CollectiveRow
from ...sharding.grid import Grid
from ...sharding.sharding import Axes, ReductionKind
from .attributes import AxesAttr, IndicesAttr, ReductionKindAttr, axes_attribute, indices_attribute
from .checks import (
    check_axes,
    check_compatible_shape,
    check_conversion,
    check_dimension,
    check_in_group_device,
    check_index_count,
    check_ranked_above_zero,
    check_reduction,
    check_same_element_type,
    check_same_shape,
    check_shape,
    ranked_shape,
    require_ranked,
)
from .grids import OnGrid
from .syntax import GRID_AXES, Keyword, grid_reference

TENSOR = BaseAttr(TensorType)
TENSOR_OR_MEMREF = AnyOf((BaseAttr(TensorType), BaseAttr(MemRefType)))
DimensionAttr = IntegerAttr[IndexType]


def collective_syntax(row: CollectiveRow, device: str = "") -> Syntax:
    """Return the format of a collective, as its row implies it.

    `device` is the property that names one device of the group. Its coordinates may be operands,
    and then types are written `(T, index) -> U`.
    """
    pieces: list[str | Directive] = [" $input on @$grid", GRID_AXES]
    if row.reduces:
        # mlir-opt 22 prints two spaces.
        pieces.append("( reduction =  bare($reduction))?")
    for name in filter(None, (row.divides, row.joins)):
        word = Keyword(name, "scatter_dim") if name == "scatter_axis" else name
        pieces += [" ", word, f" = signed-index(${name})"]
    types = "type($input) -> type($result)"
    if device:
        stated = f" {device} = dynamic-list(${device}_dynamic, ${device})"
        # A message may be received from any device.
        pieces.append(f"({stated})?" if row is RECV else stated)
        types = f"signature($input, ${device}_dynamic, $result)"
    return (*pieces, f" attr-dict : {types}")


PropertyValue = int | ReductionKind | IndexList
"""The value of a property as a caller passes it: a dimension, a reduction, or coordinates."""


class Collective(OnGrid, ABC):
    """Base of the collectives: an input, a grid, the axes that span a group, and properties."""

    TAKES_SCALARS: ClassVar[bool] = False
    """Whether tensors of rank 0 are accepted. Ops that split or join a dimension do not."""

    DEVICE: ClassVar[str] = ""
    """The property that names one device of the group; empty if there is none."""

    grid_axes = prop_def(AxesAttr, default_value=axes_attribute(()))

    def result_names(self) -> tuple[str, ...]:
        return (self.name.partition(".")[2],)

    def __init__(
        self,
        input: SSAValue,
        grid: str | SymbolRefAttr,
        grid_axes: Sequence[int],
        result_type: Attribute | None = None,
        **values: PropertyValue,
    ) -> None:
        """Build the op; `values` maps names of properties to their values.

        The result has the type of the input if `result_type` is `None`. A reduction that is left
        out is a sum.
        """
        properties: dict[str, Attribute] = {
            "grid": grid_reference(grid),
            "grid_axes": axes_attribute(grid_axes),
        }
        coordinates: list[SSAValue] = []
        for name, value in values.items():
            if isinstance(value, int):
                properties[name] = IntegerAttr(value, INDEX)
            elif isinstance(value, ReductionKind):
                properties[name] = ReductionKindAttr.from_kind(value)
            else:
                numbers, coordinates = split_list(value)
                properties[name] = indices_attribute(numbers)
        super().__init__(
            operands=[input, *([coordinates] if self.DEVICE else [])],
            properties=properties,
            result_types=[result_type or input.type],
        )

    @property
    def axes(self) -> Axes:
        """The grid axes that span a group, the slowest first."""
        return self.grid_axes.get_values()

    def verify_on_grid(self, grid: Grid) -> None:
        if not self.TAKES_SCALARS:
            check_ranked_above_zero(self.operands[0].type)
        check_axes(self.axes, grid)
        self.verify_in_groups(grid, grid.size(self.axes))

    def verify_in_groups(self, grid: Grid, group: int | None) -> None:
        """Check types and properties, given the number of devices in a group."""
        row = COLLECTIVES[self.name]
        source, result = self.operands[0].type, self.results[0].type
        if isinstance(source, MemRefType) != isinstance(result, MemRefType):
            raise VerifyException(f"expected a result of the same kind as {source}, got {result}")
        if not row.reduces:
            check_same_element_type(source, result, self.DEVICE != "")
        if self.DEVICE:
            self._verify_device(grid)
        if row.divides or row.joins:
            check_shape(ranked_shape(result), self._result_shape(row, ranked_shape(source), group))
        elif self.DEVICE:
            check_same_shape(source, result)
        else:
            check_compatible_shape(source, result)
        if row.reduces:
            kind = cast(ReductionKindAttr, self.properties["reduction"]).reduction
            check_conversion(source, result)
            check_reduction(kind, require_ranked(result).element_type)

    def _verify_device(self, grid: Grid) -> None:
        """Check that the device has one coordinate for each axis of the group."""
        numbers = cast("IndicesAttr | None", self.properties.get(self.DEVICE))
        values = () if numbers is None else numbers.get_values()
        check_index_count(self.DEVICE, values, getattr(self, f"{self.DEVICE}_dynamic"))
        if numbers is not None:
            check_in_group_device(self.DEVICE, values, self.axes, grid)

    def _result_shape(self, row: CollectiveRow, shape: Shape, group: int | None) -> Shape:
        """Return the expected shape of the result; `None` for sizes that are not known.

        Dimension `row.divides` is split into `group` pieces, dimension `row.joins` is concatenated
        from as many. Raises VerifyException if pieces are unequal, except in an all-to-all, where
        the devices then receive different sizes.
        """
        divided, joined = (self._dimension(name, shape) for name in (row.divides, row.joins))
        expected = [*shape]
        if divided is not None:
            size = shape[divided]
            known = None if size is None or group is None else divmod(size, group)
            if known is None:
                expected[divided] = size if divided == joined else None
            elif not known[1]:
                expected[divided] = size if divided == joined else known[0]
            elif joined is not None:
                expected[divided] = None
            else:
                raise VerifyException(
                    f"Operand dimension size {size} is not divisible by collective device group "
                    f"size {group} for tensor axis {divided}."
                )
        if joined is not None and divided != joined:
            size = shape[joined]
            expected[joined] = None if size is None or group is None else size * group
        return tuple(expected)

    def _dimension(self, name: str, shape: Shape) -> int | None:
        """Return the dimension that an attribute names, `None` without a name.

        Raises VerifyException if the shape has no such dimension.
        """
        if not name:
            return None
        dimension = cast(DimensionAttr, self.properties[name]).value.data
        check_dimension(name.replace("_", " ").capitalize(), dimension, len(shape))
        return dimension

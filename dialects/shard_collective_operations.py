"""Communication between the processes of a group.

A group is the set of processes that agree in all coordinates outside `grid_axes`; in a group
they are ordered row-major over `grid_axes` as listed, the first axis slowest. No axes: each
process is alone. The definitions have no name: `shard.py` and `mesh.py` give it to them.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    I64,
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyOf,
    BaseAttr,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..sharding.grid import Grid
from ..sharding.sharding import Axes, ReductionKind
from .shard_attributes import (
    AxesArrayAttr,
    AxesAttr,
    IndicesAttr,
    ReductionKindAttr,
    axes_attribute,
    indices_attribute,
)
from .shard_checks import (
    check_axes,
    check_conversion,
    check_dimension,
    check_divided,
    check_in_group_device,
    check_index_count,
    check_ranked_above_zero,
    check_reduction,
    check_same_element_type,
    check_same_shape,
    check_shape,
    element_type_of,
    shape_of,
    times,
)
from .shard_grid_operations import OnGrid
from .shard_sharding_checks import check_halo_update
from .shard_syntax import (
    INDEX,
    Clause,
    Form,
    grid_reference,
    mixed_list,
    parse_attributes,
    parse_clauses,
    parse_grid,
    print_attributes,
    print_clauses,
    print_grid,
    split_list,
)

_TENSOR = BaseAttr(TensorType)
_TENSOR_OR_MEMREF = AnyOf((BaseAttr(TensorType), BaseAttr(MemRefType)))
_IndexAttr = IntegerAttr[IndexType]

_GRID_AXES = Clause("grid_axes", Form.AXES, optional=True)
_REDUCTION = Clause("reduction", Form.KIND, optional=True)
_ROOT = Clause("root", Form.INDEX_LIST, dynamic="root_dynamic")


class Collective(OnGrid, ABC):
    """What all collectives share: an input, a grid, the axes that span a group, and clauses."""

    CLAUSES: ClassVar[tuple[Clause, ...]]
    FUNCTION_TYPE: ClassVar[bool] = False
    """Whether the types are written `(T, index) -> U`, or else `T -> U`."""

    grid_axes = prop_def(AxesAttr, default_value=axes_attribute(()))

    def _build(
        self,
        input: SSAValue,
        grid: str | SymbolRefAttr,
        grid_axes: Sequence[int],
        result_type: Attribute,
        properties: dict[str, Attribute | None],
        *dynamic: Sequence[SSAValue],
    ) -> None:
        super().__init__(
            operands=[input, *dynamic],
            properties={
                self.SPELLING.word("grid"): grid_reference(grid),
                self.SPELLING.word("grid_axes"): axes_attribute(grid_axes),
                **properties,
            },
            result_types=[result_type],
        )
        _set_hint(self)

    @property
    def axes(self) -> Axes:
        """The grid axes that span a group, the first slowest."""
        return self.grid_axes.get_values()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        parser.parse_keyword("on")
        grid = parse_grid(parser)
        clauses = parse_clauses(parser, (_GRID_AXES, *cls.CLAUSES), cls.SPELLING)
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
        operation = cls.create(
            operands=parser.resolve_operands(operands, operand_types, position),
            properties=properties,
            result_types=result_types,
            attributes=attributes,
        )
        _set_hint(operation)
        return operation

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.operands[0])
        printer.print_string(" on ")
        print_grid(printer, self.grid)
        print_clauses(printer, self, (_GRID_AXES, *self.CLAUSES), self.SPELLING)
        print_attributes(printer, self)
        printer.print_string(" : ")
        if self.FUNCTION_TYPE:
            printer.print_operation_type(self)
        else:
            printer.print_attribute(self.operands[0].type)
            printer.print_string(" -> ")
            printer.print_attribute(self.results[0].type)

    def verify_on_grid(self, grid: Grid) -> None:
        check_axes(self.axes, grid, self.SPELLING.word("grid"))
        self.verify_in_groups(grid, grid.size(self.axes))

    def verify_in_groups(self, grid: Grid, group: int | None) -> None:
        """Check types and properties, given the number of devices in a group."""
        raise NotImplementedError


def _set_hint(operation: Operation) -> None:
    for result in operation.results:
        result.name_hint = operation.name.partition(".")[2]


def _index(value: int) -> _IndexAttr:
    return IntegerAttr(value, INDEX)


def _check_same_type_kind(source: Attribute, result: Attribute) -> None:
    if isinstance(source, MemRefType) != isinstance(result, MemRefType):
        raise VerifyException(f"expected a result of the same kind as {source}, got {result}")


def _check_gathered(operation: Collective, dimension: int, group: int | None) -> None:
    source, result = operation.operands[0].type, operation.results[0].type
    shape = shape_of(source)
    check_same_element_type(source, result)
    check_dimension("Gather axis", dimension, len(shape))
    expected = [*shape]
    expected[dimension] = times(shape[dimension], group)
    check_shape(shape_of(result), tuple(expected))


def _check_divided(operation: Collective, what: str, dimension: int, group: int | None) -> None:
    shape = shape_of(operation.operands[0].type)
    check_dimension(what, dimension, len(shape))
    expected = [*shape]
    expected[dimension] = check_divided(what, dimension, shape[dimension], group)
    check_shape(shape_of(operation.results[0].type), tuple(expected))


class AllGatherDefinition(Collective, ABC):
    """Concatenate the pieces of a group along a dimension, on every device.

    `shard.all_gather %t on @g grid_axes = [1] gather_axis = 1 : tensor<2x2xi8> -> tensor<2x4xi8>`
    """

    CLAUSES: ClassVar[tuple[Clause, ...]] = (Clause("gather_axis", Form.INDEX),)

    input = operand_def(_TENSOR)
    gather_axis = prop_def(_IndexAttr)
    result = result_def(_TENSOR)

    traits = traits_def(Pure())

    def __init__(
        self,
        input: SSAValue,
        grid: str | SymbolRefAttr,
        grid_axes: Sequence[int],
        gather_axis: int,
        result_type: Attribute,
    ) -> None:
        self._build(input, grid, grid_axes, result_type, {"gather_axis": _index(gather_axis)})

    def verify_in_groups(self, grid: Grid, group: int | None) -> None:
        _check_gathered(self, self.gather_axis.value.data, group)


class AllReduceDefinition(Collective, ABC):
    """Combine the tensors of a group elementwise, on every device.

    `shard.all_reduce %t on @g grid_axes = [1] reduction = max : tensor<4xf32> -> tensor<4xf64>`
    converts the input to the result's element type first.
    """

    CLAUSES: ClassVar[tuple[Clause, ...]] = (_REDUCTION,)

    input = operand_def(_TENSOR_OR_MEMREF)
    reduction = prop_def(BaseAttr(ReductionKindAttr))
    result = result_def(_TENSOR_OR_MEMREF)

    traits = traits_def(Pure())

    def __init__(
        self,
        input: SSAValue,
        grid: str | SymbolRefAttr,
        grid_axes: Sequence[int],
        reduction: ReductionKind = ReductionKind.SUM,
        result_type: Attribute | None = None,
    ) -> None:
        kind = self.SPELLING.reduction_kind.from_kind(reduction)
        self._build(input, grid, grid_axes, result_type or input.type, {"reduction": kind})

    def verify_in_groups(self, grid: Grid, group: int | None) -> None:
        _check_same_type_kind(self.input.type, self.result.type)
        check_same_shape(self.input.type, self.result.type, allow_dynamic=True)
        _check_reduction(self, self.reduction)


def _check_reduction(operation: Collective, kind: ReductionKindAttr) -> None:
    source, result = operation.operands[0].type, operation.results[0].type
    check_conversion(source, result)
    check_reduction(kind.reduction, element_type_of(result))


class AllSliceDefinition(Collective, ABC):
    """Keep this device's piece along a dimension: the inverse of all_gather, no communication.

    `shard.all_slice %t on @g grid_axes = [1] slice_axis = 1 : tensor<2x4xi8> -> tensor<2x2xi8>`
    """

    CLAUSES: ClassVar[tuple[Clause, ...]] = (Clause("slice_axis", Form.INDEX),)

    input = operand_def(_TENSOR)
    slice_axis = prop_def(_IndexAttr)
    result = result_def(_TENSOR)

    traits = traits_def(Pure())

    def __init__(
        self,
        input: SSAValue,
        grid: str | SymbolRefAttr,
        grid_axes: Sequence[int],
        slice_axis: int,
        result_type: Attribute,
    ) -> None:
        self._build(input, grid, grid_axes, result_type, {"slice_axis": _index(slice_axis)})

    def verify_in_groups(self, grid: Grid, group: int | None) -> None:
        check_same_element_type(self.input.type, self.result.type)
        _check_divided(self, "Slice axis", self.slice_axis.value.data, group)


class AllToAllDefinition(Collective, ABC):
    """Split along one dimension, exchange the pieces, concatenate along another.

    `shard.all_to_all %t on @g grid_axes = [0] split_axis = 0 concat_axis = 1
    : tensor<4x2xi8> -> tensor<2x4xi8>`
    """

    CLAUSES: ClassVar[tuple[Clause, ...]] = (
        Clause("split_axis", Form.INDEX),
        Clause("concat_axis", Form.INDEX),
    )

    input = operand_def(_TENSOR)
    split_axis = prop_def(_IndexAttr)
    concat_axis = prop_def(_IndexAttr)
    result = result_def(_TENSOR)

    traits = traits_def(Pure())

    def __init__(
        self,
        input: SSAValue,
        grid: str | SymbolRefAttr,
        grid_axes: Sequence[int],
        split_axis: int,
        concat_axis: int,
        result_type: Attribute,
    ) -> None:
        properties: dict[str, Attribute | None] = {
            "split_axis": _index(split_axis),
            "concat_axis": _index(concat_axis),
        }
        self._build(input, grid, grid_axes, result_type, properties)

    def verify_in_groups(self, grid: Grid, group: int | None) -> None:
        shape = shape_of(self.input.type)
        split, concat = self.split_axis.value.data, self.concat_axis.value.data
        check_same_element_type(self.input.type, self.result.type)
        check_dimension("Split axis", split, len(shape))
        check_dimension("Concat axis", concat, len(shape))
        piece = check_divided("Split axis", split, shape[split], group)
        expected = [*shape]
        if split != concat:
            expected[split] = piece
            expected[concat] = times(shape[concat], group)
        check_shape(shape_of(self.result.type), tuple(expected))


class BroadcastDefinition(Collective, ABC):
    """Give every device of a group the root's tensor.

    `shard.broadcast %t on @g grid_axes = [0] root = [0] : (tensor<2xi8>) -> tensor<2xi8>`
    """

    CLAUSES: ClassVar[tuple[Clause, ...]] = (_ROOT,)
    FUNCTION_TYPE: ClassVar[bool] = True

    input = operand_def(_TENSOR)
    root_dynamic = var_operand_def(IndexType)
    root = prop_def(IndicesAttr)
    result = result_def(_TENSOR)

    traits = traits_def(Pure())

    def __init__(
        self,
        input: SSAValue,
        grid: str | SymbolRefAttr,
        grid_axes: Sequence[int],
        root: Sequence[int | SSAValue],
    ) -> None:
        numbers, dynamic = split_list(root)
        properties: dict[str, Attribute | None] = {"root": indices_attribute(numbers)}
        self._build(input, grid, grid_axes, input.type, properties, dynamic)

    def verify_in_groups(self, grid: Grid, group: int | None) -> None:
        _check_device(self, "root", self.root, self.root_dynamic, grid)
        check_same_element_type(self.input.type, self.result.type)
        check_same_shape(self.input.type, self.result.type, allow_dynamic=False)


def _check_device(
    operation: Collective,
    what: str,
    numbers: IndicesAttr,
    dynamic: Sequence[SSAValue],
    grid: Grid,
) -> None:
    values = numbers.get_values()
    check_index_count(what, values, dynamic)
    check_in_group_device(what, values, operation.axes, grid)


class GatherDefinition(Collective, ABC):
    """Concatenate the pieces of a group on the root; undefined elsewhere.

    `shard.gather %t on @g grid_axes = [1] gather_axis = 1 root = [1]
    : (tensor<2x2xi8>) -> tensor<2x4xi8>`
    """

    CLAUSES: ClassVar[tuple[Clause, ...]] = (Clause("gather_axis", Form.INDEX), _ROOT)
    FUNCTION_TYPE: ClassVar[bool] = True

    input = operand_def(_TENSOR)
    root_dynamic = var_operand_def(IndexType)
    gather_axis = prop_def(_IndexAttr)
    root = prop_def(IndicesAttr)
    result = result_def(_TENSOR)

    traits = traits_def(Pure())

    def __init__(
        self,
        input: SSAValue,
        grid: str | SymbolRefAttr,
        grid_axes: Sequence[int],
        gather_axis: int,
        root: Sequence[int | SSAValue],
        result_type: Attribute,
    ) -> None:
        numbers, dynamic = split_list(root)
        properties: dict[str, Attribute | None] = {
            "gather_axis": _index(gather_axis),
            "root": indices_attribute(numbers),
        }
        self._build(input, grid, grid_axes, result_type, properties, dynamic)

    def verify_in_groups(self, grid: Grid, group: int | None) -> None:
        _check_device(self, "root", self.root, self.root_dynamic, grid)
        _check_gathered(self, self.gather_axis.value.data, group)


class ReduceDefinition(Collective, ABC):
    """Combine the tensors of a group elementwise on the root; undefined elsewhere.

    `shard.reduce %t on @g grid_axes = [1] reduction = max root = [1]
    : (tensor<4xf32>) -> tensor<4xf64>`
    """

    CLAUSES: ClassVar[tuple[Clause, ...]] = (_REDUCTION, _ROOT)
    FUNCTION_TYPE: ClassVar[bool] = True

    input = operand_def(_TENSOR)
    root_dynamic = var_operand_def(IndexType)
    reduction = prop_def(BaseAttr(ReductionKindAttr))
    root = prop_def(IndicesAttr)
    result = result_def(_TENSOR)

    traits = traits_def(Pure())

    def __init__(
        self,
        input: SSAValue,
        grid: str | SymbolRefAttr,
        grid_axes: Sequence[int],
        reduction: ReductionKind,
        root: Sequence[int | SSAValue],
        result_type: Attribute | None = None,
    ) -> None:
        numbers, dynamic = split_list(root)
        properties: dict[str, Attribute | None] = {
            "reduction": self.SPELLING.reduction_kind.from_kind(reduction),
            "root": indices_attribute(numbers),
        }
        self._build(input, grid, grid_axes, result_type or input.type, properties, dynamic)

    def verify_in_groups(self, grid: Grid, group: int | None) -> None:
        _check_device(self, "root", self.root, self.root_dynamic, grid)
        check_same_shape(self.input.type, self.result.type, allow_dynamic=False)
        _check_reduction(self, self.reduction)


class ReduceScatterDefinition(Collective, ABC):
    """Combine the tensors of a group elementwise; each device keeps its piece along a dimension.

    `shard.reduce_scatter %t on @g grid_axes = [1] reduction = max scatter_axis = 0
    : tensor<4x4xf32> -> tensor<2x4xf64>`
    """

    CLAUSES: ClassVar[tuple[Clause, ...]] = (
        _REDUCTION,
        Clause("scatter_axis", Form.INDEX, synonyms=("scatter_dim",)),
    )

    input = operand_def(_TENSOR_OR_MEMREF)
    reduction = prop_def(BaseAttr(ReductionKindAttr))
    scatter_axis = prop_def(_IndexAttr)
    result = result_def(_TENSOR_OR_MEMREF)

    traits = traits_def(Pure())

    def __init__(
        self,
        input: SSAValue,
        grid: str | SymbolRefAttr,
        grid_axes: Sequence[int],
        reduction: ReductionKind,
        scatter_axis: int,
        result_type: Attribute,
    ) -> None:
        properties: dict[str, Attribute | None] = {
            "reduction": self.SPELLING.reduction_kind.from_kind(reduction),
            "scatter_axis": _index(scatter_axis),
        }
        self._build(input, grid, grid_axes, result_type, properties)

    def verify_in_groups(self, grid: Grid, group: int | None) -> None:
        _check_same_type_kind(self.input.type, self.result.type)
        _check_divided(self, "Scatter axis", self.scatter_axis.value.data, group)
        _check_reduction(self, self.reduction)


class ScatterDefinition(Collective, ABC):
    """Give each device of a group its piece of the root's tensor along a dimension.

    `shard.scatter %t on @g grid_axes = [0] scatter_axis = 0 root = [1]
    : (tensor<2x2xi8>) -> tensor<1x2xi8>`
    """

    CLAUSES: ClassVar[tuple[Clause, ...]] = (Clause("scatter_axis", Form.INDEX), _ROOT)
    FUNCTION_TYPE: ClassVar[bool] = True

    input = operand_def(_TENSOR)
    root_dynamic = var_operand_def(IndexType)
    scatter_axis = prop_def(_IndexAttr)
    root = prop_def(IndicesAttr)
    result = result_def(_TENSOR)

    traits = traits_def(Pure())

    def __init__(
        self,
        input: SSAValue,
        grid: str | SymbolRefAttr,
        grid_axes: Sequence[int],
        scatter_axis: int,
        root: Sequence[int | SSAValue],
        result_type: Attribute,
    ) -> None:
        numbers, dynamic = split_list(root)
        properties: dict[str, Attribute | None] = {
            "scatter_axis": _index(scatter_axis),
            "root": indices_attribute(numbers),
        }
        self._build(input, grid, grid_axes, result_type, properties, dynamic)

    def verify_in_groups(self, grid: Grid, group: int | None) -> None:
        _check_device(self, "root", self.root, self.root_dynamic, grid)
        check_same_element_type(self.input.type, self.result.type)
        _check_divided(self, "Scatter axis", self.scatter_axis.value.data, group)


class SendDefinition(Collective, ABC):
    """Send to one device of the group. It acts on its own, so it is not pure.

    `shard.send %t on @g grid_axes = [0] destination = [1] : (tensor<2xi8>) -> tensor<2xi8>`
    """

    CLAUSES: ClassVar[tuple[Clause, ...]] = (
        Clause("destination", Form.INDEX_LIST, dynamic="destination_dynamic"),
    )
    FUNCTION_TYPE: ClassVar[bool] = True

    input = operand_def(_TENSOR)
    destination_dynamic = var_operand_def(IndexType)
    destination = prop_def(IndicesAttr)
    result = result_def(_TENSOR)

    def __init__(
        self,
        input: SSAValue,
        grid: str | SymbolRefAttr,
        grid_axes: Sequence[int],
        destination: Sequence[int | SSAValue],
    ) -> None:
        numbers, dynamic = split_list(destination)
        properties: dict[str, Attribute | None] = {"destination": indices_attribute(numbers)}
        self._build(input, grid, grid_axes, input.type, properties, dynamic)

    def verify_in_groups(self, grid: Grid, group: int | None) -> None:
        _check_device(self, "destination", self.destination, self.destination_dynamic, grid)
        check_same_element_type(self.input.type, self.result.type)
        check_ranked_above_zero(self.input.type)
        check_same_shape(self.input.type, self.result.type, allow_dynamic=False)


class RecvDefinition(Collective, ABC):
    """Receive from one device of the group, or from any where no source is given. Not pure.

    `shard.recv %t on @g grid_axes = [0] source = [1] : (tensor<2xi8>) -> tensor<2xi8>`
    """

    CLAUSES: ClassVar[tuple[Clause, ...]] = (
        Clause("source", Form.INDEX_LIST, True, "source_dynamic", default=False),
    )
    FUNCTION_TYPE: ClassVar[bool] = True

    input = operand_def(_TENSOR)
    source_dynamic = var_operand_def(IndexType)
    source = opt_prop_def(IndicesAttr)
    result = result_def(_TENSOR)

    def __init__(
        self,
        input: SSAValue,
        grid: str | SymbolRefAttr,
        grid_axes: Sequence[int],
        source: Sequence[int | SSAValue] | None = None,
    ) -> None:
        numbers, dynamic = split_list(source or ())
        properties: dict[str, Attribute | None] = {
            "source": None if source is None else indices_attribute(numbers)
        }
        self._build(input, grid, grid_axes, input.type, properties, dynamic)

    def verify_in_groups(self, grid: Grid, group: int | None) -> None:
        if self.source is None:
            check_index_count("source", (), self.source_dynamic)
        else:
            _check_device(self, "source", self.source, self.source_dynamic, grid)
        check_same_element_type(self.input.type, self.result.type)
        check_ranked_above_zero(self.input.type)
        check_same_shape(self.input.type, self.result.type, allow_dynamic=False)


class ShiftDefinition(Collective, ABC):
    """Give every device the tensor of the one `offset` before it along a grid axis.

    `shard.shift %t on @g grid_axes = [1] shift_axis = 1 offset = 2 rotate
    : tensor<2xi8> -> tensor<2xi8>`
    """

    CLAUSES: ClassVar[tuple[Clause, ...]] = (
        Clause("shift_axis", Form.INDEX),
        Clause("offset", Form.INTEGER),
        Clause("rotate", Form.FLAG, optional=True),
    )

    input = operand_def(_TENSOR)
    shift_axis = prop_def(_IndexAttr)
    offset = prop_def(IntegerAttr[I64])
    rotate = opt_prop_def(UnitAttr)
    result = result_def(_TENSOR)

    traits = traits_def(Pure())

    def __init__(
        self,
        input: SSAValue,
        grid: str | SymbolRefAttr,
        grid_axes: Sequence[int],
        shift_axis: int,
        offset: int,
        rotate: bool = False,
    ) -> None:
        properties: dict[str, Attribute | None] = {
            "shift_axis": _index(shift_axis),
            "offset": IntegerAttr(offset, i64),
            "rotate": UnitAttr() if rotate else None,
        }
        self._build(input, grid, grid_axes, input.type, properties)

    def verify_in_groups(self, grid: Grid, group: int | None) -> None:
        check_same_element_type(self.input.type, self.result.type)
        check_ranked_above_zero(self.input.type)
        check_same_shape(self.input.type, self.result.type, allow_dynamic=True)
        axis = self.shift_axis.value.data
        if axis not in self.axes:
            raise VerifyException(
                f"Invalid shift axis {axis}. It must be one of the grouping "
                f"{self.SPELLING.word('grid')} axes. They are {list(self.axes)}."
            )


class UpdateHaloDefinition(OnGrid, ABC):
    """Fill the halos of a shard from what the neighbours own.

    `shard.update_halo %t on @g split_axes = [[0]] halo_sizes = [1, %h] : tensor<8xf32>`
    The result is the destination, which holds this device's elements between its halos.
    """

    CLAUSES: ClassVar[tuple[Clause, ...]] = (
        Clause("split_axes", Form.AXES_ARRAY),
        Clause("static_halo_sizes", Form.INDEX_LIST, True, "halo_sizes", word="halo_sizes"),
    )

    destination = operand_def(_TENSOR_OR_MEMREF)
    halo_sizes = var_operand_def(I64)
    split_axes = prop_def(BaseAttr(AxesArrayAttr))
    static_halo_sizes = prop_def(IndicesAttr, default_value=indices_attribute(()))
    result = result_def(_TENSOR_OR_MEMREF)

    traits = traits_def(Pure())

    def __init__(
        self,
        destination: SSAValue,
        grid: str | SymbolRefAttr,
        split_axes: Sequence[Sequence[int]],
        halo_sizes: Sequence[int | SSAValue] = (),
    ) -> None:
        numbers, dynamic = split_list(halo_sizes)
        super().__init__(
            operands=[destination, dynamic],
            properties={
                self.SPELLING.word("grid"): grid_reference(grid),
                "split_axes": self.SPELLING.axes_array.from_lists(split_axes),
                "static_halo_sizes": indices_attribute(numbers),
            },
            result_types=[destination.type],
        )

    @property
    def axes(self) -> tuple[Axes, ...]:
        """The axes along which each dimension's halos are updated."""
        return self.split_axes.lists()

    @property
    def halos(self) -> tuple[int | SSAValue, ...]:
        """Low and high halo of each dimension that has axes."""
        return mixed_list(self.static_halo_sizes.get_values(), self.halo_sizes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        destination = parser.parse_unresolved_operand()
        parser.parse_keyword("on")
        grid = parse_grid(parser)
        clauses = parse_clauses(parser, cls.CLAUSES, cls.SPELLING)
        properties: dict[str, Attribute] = {cls.SPELLING.word("grid"): grid, **clauses.properties}
        attributes = parse_attributes(parser, cls, properties)
        parser.parse_punctuation(":")
        position = parser.pos
        result_type = parser.parse_type()
        halos = clauses.operands.get("halo_sizes", [])
        return cls.create(
            operands=parser.resolve_operands(
                [destination, *halos], [result_type, *([i64] * len(halos))], position
            ),
            properties=properties,
            result_types=[result_type],
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.destination)
        printer.print_string(" on ")
        print_grid(printer, self.grid)
        print_clauses(printer, self, self.CLAUSES, self.SPELLING)
        print_attributes(printer, self)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    def verify_on_grid(self, grid: Grid) -> None:
        check_index_count("halo_sizes", self.static_halo_sizes.get_values(), self.halo_sizes)
        if self.destination.type != self.result.type:
            raise VerifyException(
                f"result has type {self.result.type}, expected that of the destination, "
                f"{self.destination.type}"
            )
        check_ranked_above_zero(self.destination.type)
        check_halo_update(
            grid,
            shape_of(self.destination.type),
            self.axes,
            self.halos,
            self.SPELLING.word("grid"),
        )

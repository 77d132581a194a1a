"""Collectives: all devices of a group do the same, exchange with neighbours, or one is the root."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import I64, IntegerAttr, SymbolRefAttr, UnitAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ...ir.index import IndexList, IndexOrInt
from ...ir.index_lists import INDEX, mixed_list, split_list
from ...ir.syntax.assembly_format import Syntax
from ...sharding.collective_rows import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_SLICE,
    ALL_TO_ALL,
    BROADCAST,
    GATHER,
    RECV,
    REDUCE,
    REDUCE_SCATTER,
    SCATTER,
    SEND,
    SHIFT,
    UPDATE_HALO,
    CollectiveRow,
)
from ...sharding.grid import Grid
from ...sharding.sharding import Axes, ReductionKind
from .attributes import (
    CANONICALIZATION,
    AxesArrayAttr,
    IndicesAttr,
    ReductionKindAttr,
    indices_attribute,
)
from .checks import check_halo_update, check_index_count, check_ranked_above_zero, ranked_shape
from .collective_base import TENSOR, TENSOR_OR_MEMREF, Collective, DimensionAttr, collective_syntax
from .grids import OnGrid
from .syntax import GRID_AXES, grid_reference


def _collective(
    row: CollectiveRow,
    doc: str,
    *,
    values: AttrConstraint = TENSOR,
    device: str = "",
    takes_scalars: bool = False,
) -> type[Collective]:
    """Return the class of a collective, with the properties that its row implies.

    `doc` is its docstring, and `values` the type of its input and result. `device` is the property
    that names the other device of a message.
    """
    device = "root" if row.is_rooted else device
    members: dict[str, object] = {
        "__doc__": doc,
        "name": row.operation,
        "traits": traits_def(*(() if row.is_message else (Pure(),)), CANONICALIZATION),
        "input": operand_def(values),
    }
    if row.reduces:
        sum_ = ReductionKindAttr.from_kind(ReductionKind.SUM)
        members["reduction"] = prop_def(ReductionKindAttr, default_value=sum_)
    for name in filter(None, (row.divides, row.joins)):
        members[name] = prop_def(DimensionAttr.constr(INDEX))
    if device:
        members[f"{device}_dynamic"] = var_operand_def(INDEX)
        members[device] = (opt_prop_def if row is RECV else prop_def)(IndicesAttr)
    members["result"] = result_def(values)
    words = row.name.split("_")
    made = type("".join(map(str.capitalize, words)) + "Op", (Collective,), members)
    collective = irdl_op_definition(cast("type[Collective]", made))
    collective.SYNTAX, collective.TAKES_SCALARS = collective_syntax(row, device), takes_scalars
    collective.DEVICE = device
    return collective


AllGatherOp = _collective(
    ALL_GATHER,
    """Concatenate the tensors of a group along `gather_axis` on every device.

    `shard.all_gather %t on @g grid_axes = [1] gather_axis = 1 : tensor<2x2xi8> -> tensor<2x4xi8>`
    """,
)

AllReduceOp = _collective(
    ALL_REDUCE,
    """Reduce the tensors of a group elementwise; every device gets the result.

    `shard.all_reduce %t on @g grid_axes = [1] reduction = max : tensor<4xf32> -> tensor<4xf64>`

    The input is first converted to the element type of the result.
    """,
    values=TENSOR_OR_MEMREF,
    takes_scalars=True,
)

AllSliceOp = _collective(
    ALL_SLICE,
    """Keep the piece of this device along `slice_axis`; inverts `all_gather` without communication.

    `shard.all_slice %t on @g grid_axes = [1] slice_axis = 1 : tensor<2x4xi8> -> tensor<2x2xi8>`
    """,
)

AllToAllOp = _collective(
    ALL_TO_ALL,
    """Split along `split_axis`, exchange the pieces, concatenate them along `concat_axis`.

    `shard.all_to_all %t on @g grid_axes = [0] split_axis = 0 concat_axis = 1 : tensor<4x2xi8> ->
    tensor<2x4xi8>`
    """,
)

ReduceScatterOp = _collective(
    REDUCE_SCATTER,
    """Reduce the tensors of a group elementwise; each device keeps its piece along `scatter_axis`.

    `shard.reduce_scatter %t on @g grid_axes = [1] reduction = max scatter_axis = 0 :
    tensor<4x4xf32> -> tensor<2x4xf64>`

    The input is first converted to the element type of the result.
    """,
    values=TENSOR_OR_MEMREF,
)


@irdl_op_definition
class ShiftOp(Collective):
    """Give every device the tensor of the device `offset` places before it along `shift_axis`.

    `shard.shift %t on @g grid_axes = [1] shift_axis = 1 offset = 2 rotate : tensor<2xi8> ->
    tensor<2xi8>`

    With `rotate` the axis is cyclic. The verifier asks that `shift_axis` is one of `grid_axes`.
    """

    name = SHIFT.operation

    SYNTAX: ClassVar[Syntax] = (
        " $input on @$grid",
        GRID_AXES,
        " shift_axis = signed-index($shift_axis) offset = signed-int($offset)( rotate$rotate)?"
        " attr-dict : type($input) -> type($result)",
    )

    input = operand_def(TENSOR)
    shift_axis = prop_def(DimensionAttr)
    offset = prop_def(IntegerAttr[I64])
    rotate = opt_prop_def(UnitAttr)
    result = result_def(TENSOR)

    traits = traits_def(Pure(), CANONICALIZATION)

    def __init__(
        self,
        input: SSAValue,
        grid: str | SymbolRefAttr,
        grid_axes: Sequence[int],
        *,
        shift_axis: int,
        offset: int,
        rotate: bool = False,
    ) -> None:
        super().__init__(input, grid, grid_axes, shift_axis=shift_axis)
        self.offset = IntegerAttr(offset, i64)
        self.rotate = UnitAttr() if rotate else None

    def verify_in_groups(self, grid: Grid, group: int | None) -> None:
        super().verify_in_groups(grid, group)
        axis = self.shift_axis.value.data
        if axis not in self.axes:
            raise VerifyException(
                f"Invalid shift axis {axis}. It must be one of the grouping "
                f"grid axes. They are {list(self.axes)}."
            )


@irdl_op_definition
class UpdateHaloOp(OnGrid):
    """Fill the halos of a shard with elements of the neighbouring shards.

    `shard.update_halo %t on @g split_axes = [[0]] halo_sizes = [1, %h] : tensor<8xf32>`

    The destination holds the elements of this device between its halos; the result has its type.
    The verifier asks that the elements between the halos suffice to fill those of the neighbours.
    """

    name = UPDATE_HALO.operation

    SYNTAX: ClassVar[Syntax] = (
        " $destination on @$grid split_axes = axes-of-dimensions($split_axes)"
        "( halo_sizes = dynamic-list($halo_sizes, $static_halo_sizes))?"
        " attr-dict : type($destination, $result)"
    )

    destination = operand_def(TENSOR_OR_MEMREF)
    halo_sizes = var_operand_def(i64)
    split_axes = prop_def(AxesArrayAttr)
    static_halo_sizes = prop_def(IndicesAttr, default_value=indices_attribute(()))
    result = result_def(TENSOR_OR_MEMREF)

    traits = traits_def(Pure(), CANONICALIZATION)

    def __init__(
        self,
        destination: SSAValue,
        grid: str | SymbolRefAttr,
        split_axes: Sequence[Sequence[int]],
        halo_sizes: IndexList = (),
    ) -> None:
        numbers, dynamic = split_list(halo_sizes)
        super().__init__(
            operands=[destination, dynamic],
            properties={
                "grid": grid_reference(grid),
                "split_axes": AxesArrayAttr.from_lists(split_axes),
                "static_halo_sizes": indices_attribute(numbers),
            },
            result_types=[destination.type],
        )

    @property
    def axes(self) -> tuple[Axes, ...]:
        """The grid axes along which the halos of each dimension are updated."""
        return self.split_axes.lists()

    @property
    def halos(self) -> tuple[IndexOrInt, ...]:
        """The low and the high halo of each dimension that has axes, in turn."""
        return mixed_list(self.static_halo_sizes.get_values(), self.halo_sizes)

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
            ranked_shape(self.destination.type),
            self.axes,
            self.halos,
        )


# Collectives with a root, and messages ------------------------------------------------------------

BroadcastOp = _collective(
    BROADCAST,
    """Copy the root's tensor to every device of a group.

    `shard.broadcast %t on @g grid_axes = [0] root = [0] : (tensor<2xi8>) -> tensor<2xi8>`
    """,
    takes_scalars=True,
)

GatherOp = _collective(
    GATHER,
    """Concatenate the tensors of a group along `gather_axis` on the root; undefined elsewhere.

    `shard.gather %t on @g grid_axes = [1] gather_axis = 1 root = [1] : (tensor<2x2xi8>) ->
    tensor<2x4xi8>`
    """,
)

ReduceOp = _collective(
    REDUCE,
    """Reduce the tensors of a group elementwise on the root; undefined elsewhere.

    `shard.reduce %t on @g grid_axes = [1] reduction = max root = [1] : (tensor<4xf32>) ->
    tensor<4xf64>`
    """,
    takes_scalars=True,
)

ScatterOp = _collective(
    SCATTER,
    """Split the root's tensor along `scatter_axis` and give each device of a group its piece.

    `shard.scatter %t on @g grid_axes = [0] scatter_axis = 0 root = [1] : (tensor<2x2xi8>) ->
    tensor<1x2xi8>`
    """,
)

SendOp = _collective(
    SEND,
    """Send a tensor to one device of the group.

    `shard.send %t on @g grid_axes = [0] destination = [1] : (tensor<2xi8>) -> tensor<2xi8>`

    The op is not pure: it has an effect even if its result is unused.
    """,
    device="destination",
)

RecvOp = _collective(
    RECV,
    """Receive a tensor from one device of the group, or from any if no source is given.

    `shard.recv %t on @g grid_axes = [0] source = [1] : (tensor<2xi8>) -> tensor<2xi8>`

    The op is not pure.
    """,
    device="source",
)

"""The ops of `shard` that define shardings as SSA values and annotate tensors with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    I64,
    IndexType,
    IntegerAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ...ir.index import IndexList, IndexOrInt
from ...ir.index_lists import INDEX, mixed_list, split_list
from ...ir.syntax.assembly_format import Syntax
from ...ir.syntax.operations import SyntaxOperation
from ...sharding.grid import Grid
from ...sharding.sharding import Axes, ReductionKind
from .attributes import (
    CANONICALIZATION,
    AxesArrayAttr,
    AxesAttr,
    IndicesAttr,
    ReductionKindAttr,
    ShardingType,
    axes_attribute,
    indices_attribute,
)
from .checks import (
    check_index_count,
    check_sharding_by_itself,
    check_sharding_of_tensor,
    check_sharding_on_grid,
)
from .grids import OnGrid
from .syntax import NamedResults, grid_reference


@irdl_op_definition
class ShardingOp(OnGrid):
    """Define how a tensor is distributed over a grid.

    `shard.sharding @g split_axes = [[0], []] halo_sizes = [1, %h] : !shard.sharding`

    `split_axes` lists the grid axes that split each dimension. `halo_sizes` holds a low and a high
    size for each split dimension; `sharded_dims_offsets` holds the `n + 1` offsets of the `n`
    shards of each split dimension, one dimension after another. The verifier asks that no axis
    occurs twice, and that halos and offsets are not both given.

    A pending reduction, `partial = sum[1]`, is syntax of the older `mesh` dialect, which the
    `shard` of MLIR 22 does not have.
    """

    name = "shard.sharding"

    RESULT_NAMES: ClassVar[tuple[str, ...]] = ("sharding",)

    split_axes = prop_def(AxesArrayAttr)
    partial_axes = opt_prop_def(AxesAttr)
    partial_type = opt_prop_def(ReductionKindAttr)
    static_sharded_dims_offsets = prop_def(IndicesAttr, default_value=indices_attribute(()))
    static_halo_sizes = prop_def(IndicesAttr, default_value=indices_attribute(()))
    dynamic_sharded_dims_offsets = var_operand_def(i64)
    dynamic_halo_sizes = var_operand_def(i64)
    result = result_def(ShardingType())

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure(), CANONICALIZATION)

    SYNTAX: ClassVar[Syntax] = (
        " @$grid split_axes = axes-of-dimensions($split_axes)"
        "( partial = bare($partial_type)axes($partial_axes))?"
        "( halo_sizes = dynamic-list($dynamic_halo_sizes, $static_halo_sizes))?"
        "( sharded_dims_offsets ="
        " dynamic-list($dynamic_sharded_dims_offsets, $static_sharded_dims_offsets))?"
        " attr-dict : type($result)"
    )

    def __init__(
        self,
        grid: str | SymbolRefAttr,
        split_axes: Sequence[Sequence[int]],
        *,
        halo_sizes: IndexList = (),
        sharded_dims_offsets: IndexList = (),
        partial: tuple[ReductionKind, Sequence[int]] | None = None,
    ) -> None:
        halos, dynamic_halos = split_list(halo_sizes)
        offsets, dynamic_offsets = split_list(sharded_dims_offsets)
        super().__init__(
            operands=[dynamic_offsets, dynamic_halos],
            properties={
                "grid": grid_reference(grid),
                "split_axes": AxesArrayAttr.from_lists(split_axes),
                "partial_type": ReductionKindAttr.from_kind(partial[0]) if partial else None,
                "partial_axes": axes_attribute(partial[1]) if partial else None,
                "static_halo_sizes": indices_attribute(halos),
                "static_sharded_dims_offsets": indices_attribute(offsets),
            },
            result_types=[ShardingType()],
        )

    @property
    def axes(self) -> tuple[Axes, ...]:
        """The grid axes that split each dimension; dimensions beyond the list are not split."""
        return self.split_axes.lists()

    @property
    def halos(self) -> tuple[IndexOrInt, ...]:
        """The low and the high halo of each split dimension in turn; empty if there are none."""
        return mixed_list(self.static_halo_sizes.get_values(), self.dynamic_halo_sizes)

    @property
    def offsets(self) -> tuple[IndexOrInt, ...]:
        """The offsets of the shards of each split dimension; empty if all shards have one size."""
        return mixed_list(
            self.static_sharded_dims_offsets.get_values(), self.dynamic_sharded_dims_offsets
        )

    @property
    def partial(self) -> tuple[ReductionKind, Axes] | None:
        """The kind and the grid axes of the pending reduction; `None` if there is none."""
        if self.partial_type is None or self.partial_axes is None:
            return None
        return self.partial_type.reduction, self.partial_axes.get_values()

    def verify_without_grid(self) -> None:
        check_index_count(
            "halo_sizes", self.static_halo_sizes.get_values(), self.dynamic_halo_sizes
        )
        check_index_count(
            "sharded_dims_offsets",
            self.static_sharded_dims_offsets.get_values(),
            self.dynamic_sharded_dims_offsets,
        )
        if (self.partial_type is None) != (self.partial_axes is None):
            raise VerifyException("partial_type and partial_axes are given together or not at all")
        check_sharding_by_itself(self.axes, self.halos, self.offsets, self.partial)

    def verify_on_grid(self, grid: Grid) -> None:
        check_sharding_on_grid(grid, self.axes, self.offsets, self.partial)

    def check_tensor(self, tensor_type: Attribute) -> None:
        """Check that this sharding fits tensors of a type.

        Raises VerifyException if it does not, or if the grid does not exist.
        """
        grid, halos, offsets = self.resolve_grid(), self.halos, self.offsets
        if halos or offsets:
            # The checks against a tensor assume a sharding that is valid by itself. In a graph
            # region the `shard.sharding` may come after its use, when the verifier has not reached
            # it yet.
            self.verify_without_grid()
            self.verify_on_grid(grid)
        check_sharding_of_tensor(tensor_type, grid, self.axes, halos, offsets, self.partial)


@irdl_op_definition
class GetShardingOp(SyntaxOperation):
    """Get the sharding of an annotated tensor: `shard.get_sharding %t : T -> !shard.sharding`."""

    name = "shard.get_sharding"

    source = operand_def(TensorType)
    result = result_def(ShardingType())

    traits = traits_def(Pure(), CANONICALIZATION)

    SYNTAX: ClassVar[Syntax] = " $source attr-dict : type($source) -> type($result)"

    def __init__(self, source: SSAValue) -> None:
        super().__init__(operands=[source], result_types=[ShardingType()])


@irdl_op_definition
class ShardShapeOp(NamedResults):
    """Compute the shape of the shard that one device holds.

    `shard.shard_shape dims = [8, %n] sharding = %s device = [%i, 0] : index, index`

    `dims` are the sizes of the whole tensor, `device` the coordinates of the device on the grid.
    There is one result for each of `dims`.
    """

    name = "shard.shard_shape"

    RESULT_NAMES: ClassVar[tuple[str, ...]] = ("shard_shape",)

    dims = prop_def(IndicesAttr)
    dims_dynamic = var_operand_def(IndexType)
    sharding = operand_def(ShardingType())
    device = prop_def(IndicesAttr)
    device_dynamic = var_operand_def(IndexType)
    result = var_result_def(IndexType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure(), CANONICALIZATION)

    SYNTAX: ClassVar[Syntax] = (
        " dims = dynamic-list($dims_dynamic, $dims) sharding = $sharding "
        "device = dynamic-list($device_dynamic, $device) attr-dict : type($result)"
    )

    def __init__(
        self,
        dims: IndexList,
        sharding: SSAValue,
        device: IndexList,
    ) -> None:
        sizes, dynamic_sizes = split_list(dims)
        coordinates, dynamic_coordinates = split_list(device)
        super().__init__(
            operands=[dynamic_sizes, sharding, dynamic_coordinates],
            properties={
                "dims": indices_attribute(sizes),
                "device": indices_attribute(coordinates),
            },
            result_types=[[INDEX] * len(sizes)],
        )

    @property
    def sizes(self) -> tuple[IndexOrInt, ...]:
        """The sizes of the whole tensor."""
        return mixed_list(self.dims.get_values(), self.dims_dynamic)

    @property
    def coordinates(self) -> tuple[IndexOrInt, ...]:
        """The coordinates of the device on the grid."""
        return mixed_list(self.device.get_values(), self.device_dynamic)

    def verify_(self) -> None:
        super().verify_()
        dims = self.dims.get_values()
        check_index_count("dims", dims, self.dims_dynamic)
        check_index_count("device", self.device.get_values(), self.device_dynamic)
        if len(dims) != len(self.results):
            raise VerifyException(
                f"has {len(self.results)} results, expected one for each of {len(dims)} dims"
            )
        for size in (*self.sizes, *self.coordinates):
            if isinstance(size, int) and size < 0:
                raise VerifyException(f"sizes and coordinates must not be negative, got {size}")
        definition = sharding_definition(self.sharding)
        if definition is not None:
            self._verify_against(definition)

    def _verify_against(self, definition: ShardingOp) -> None:
        if len(definition.axes) > len(self.results) and any(definition.axes[len(self.results) :]):
            raise VerifyException(
                f"sharding splits {len(definition.axes)} dimensions, but dims has "
                f"{len(self.results)}"
            )
        grid = definition.resolve_grid()
        if len(self.coordinates) > grid.rank:
            raise VerifyException(
                f"device has {len(self.coordinates)} coordinates, but grid @{grid.name} has rank "
                f"{grid.rank}"
            )
        for axis in (axis for axes in definition.axes for axis in axes):
            if not 0 <= axis < len(self.coordinates):
                raise VerifyException(
                    f"sharding splits along axis {axis}, but device has no coordinate for it"
                )
            coordinate, extent = self.coordinates[axis], grid.shape[axis]
            if isinstance(coordinate, int) and extent is not None and coordinate >= extent:
                raise VerifyException(
                    f"device coordinate {coordinate} is beyond axis {axis} of grid @{grid.name}, "
                    f"which has extent {extent}"
                )


@irdl_op_definition
class ShardOp(NamedResults):
    """Annotate a tensor with a sharding: `shard.shard %t to %s annotate_for_users : T`.

    The op is the identity on values; source and result have one type. Without `annotate_for_users`
    it says how the producer of the source leaves the value; with it, how the users of the result
    want the value. `priority = n` is an extension of this project: where annotations conflict, the
    one with the lowest number wins.
    """

    name = "shard.shard"

    RESULT_NAMES: ClassVar[tuple[str, ...]] = ("sharding_annotated",)

    src = operand_def(TensorType)
    sharding = operand_def(ShardingType())
    annotate_for_users = opt_prop_def(UnitAttr)
    priority = opt_prop_def(IntegerAttr[I64])
    result = result_def(TensorType)

    traits = traits_def(Pure(), CANONICALIZATION)

    SYNTAX: ClassVar[Syntax] = (
        " $src to $sharding( annotate_for_users$annotate_for_users)?"
        "( priority = signed-int($priority))? attr-dict : type($src, $result)"
    )

    def __init__(
        self,
        src: SSAValue,
        sharding: SSAValue,
        annotate_for_users: bool = False,
        priority: int | None = None,
    ) -> None:
        super().__init__(
            operands=[src, sharding],
            properties={
                "annotate_for_users": UnitAttr() if annotate_for_users else None,
                "priority": None if priority is None else IntegerAttr(priority, i64),
            },
            result_types=[src.type],
        )

    def verify_(self) -> None:
        if self.src.type != self.result.type:
            raise VerifyException(
                "failed to verify that all of {result, src} have same type, got "
                f"{self.result.type} and {self.src.type}"
            )
        super().verify_()
        if self.priority is not None and self.priority.value.data < 0:
            raise VerifyException(
                f"priority is {self.priority.value.data}, expected a number from 0"
            )
        definition = sharding_definition(self.sharding)
        if definition is not None:
            definition.check_tensor(self.src.type)


def sharding_definition(sharding: SSAValue) -> ShardingOp | None:
    """Return the `shard.sharding` that defines a sharding value.

    Returns `None` if it is not visible, as for a block argument.
    """
    owner = sharding.owner
    while isinstance(owner, GetShardingOp):
        annotation = owner.source.owner
        if not isinstance(annotation, ShardOp):
            return None
        owner = annotation.sharding.owner
    return owner if isinstance(owner, ShardingOp) else None

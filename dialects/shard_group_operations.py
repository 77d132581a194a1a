"""Collectives in which every process of a group does the same."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    SymbolRefAttr,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    BaseAttr,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from ..sharding.grid import Grid
from ..sharding.sharding import ReductionKind
from .shard_attributes import (
    ReductionKindAttr,
)
from .shard_checks import (
    check_compatible_shape,
    check_dimension,
    check_same_element_type,
    check_shape,
    shape_of,
    times,
)
from .shard_collective import (
    REDUCTION,
    SCATTER_AXIS,
    TENSOR,
    TENSOR_OR_MEMREF,
    Collective,
    DimensionAttr,
    check_divided_type,
    check_gathered,
    check_reduction_types,
    check_same_type_kind,
)
from .shard_syntax import (
    Clause,
    Form,
)
from .shard_traits import ShardCanonicalization


class AllGatherDefinition(Collective, ABC):
    """Concatenate the pieces of a group along a dimension, on every device.

    `shard.all_gather %t on @g grid_axes = [1] gather_axis = 1 : tensor<2x2xi8> -> tensor<2x4xi8>`
    """

    CLAUSES: ClassVar[tuple[Clause, ...]] = (Clause("gather_axis", Form.INDEX),)

    input = operand_def(TENSOR)
    gather_axis = prop_def(DimensionAttr)
    result = result_def(TENSOR)

    traits = traits_def(Pure(), ShardCanonicalization())

    def __init__(
        self,
        input: SSAValue,
        grid: str | SymbolRefAttr,
        grid_axes: Sequence[int],
        gather_axis: int,
        result_type: Attribute,
    ) -> None:
        self.initialize(input, grid, grid_axes, result_type, gather_axis=gather_axis)

    def verify_in_groups(self, grid: Grid, group: int | None) -> None:
        check_same_element_type(self.input.type, self.result.type)
        check_gathered(self, self.gather_axis.value.data, group)


class AllReduceDefinition(Collective, ABC):
    """Combine the tensors of a group elementwise, on every device.

    `shard.all_reduce %t on @g grid_axes = [1] reduction = max : tensor<4xf32> -> tensor<4xf64>`
    converts the input to the result's element type first.
    """

    CLAUSES: ClassVar[tuple[Clause, ...]] = (REDUCTION,)
    TAKES_SCALARS: ClassVar[bool] = True

    input = operand_def(TENSOR_OR_MEMREF)
    reduction = prop_def(BaseAttr(ReductionKindAttr))
    result = result_def(TENSOR_OR_MEMREF)

    traits = traits_def(Pure(), ShardCanonicalization())

    def __init__(
        self,
        input: SSAValue,
        grid: str | SymbolRefAttr,
        grid_axes: Sequence[int],
        reduction: ReductionKind = ReductionKind.SUM,
        result_type: Attribute | None = None,
    ) -> None:
        self.initialize(input, grid, grid_axes, result_type or input.type, reduction=reduction)

    def verify_in_groups(self, grid: Grid, group: int | None) -> None:
        check_same_type_kind(self.input.type, self.result.type)
        check_compatible_shape(self.input.type, self.result.type)
        check_reduction_types(self, self.reduction)


class AllSliceDefinition(Collective, ABC):
    """Keep this device's piece along a dimension: the inverse of all_gather, no communication.

    `shard.all_slice %t on @g grid_axes = [1] slice_axis = 1 : tensor<2x4xi8> -> tensor<2x2xi8>`
    """

    CLAUSES: ClassVar[tuple[Clause, ...]] = (Clause("slice_axis", Form.INDEX),)

    input = operand_def(TENSOR)
    slice_axis = prop_def(DimensionAttr)
    result = result_def(TENSOR)

    traits = traits_def(Pure(), ShardCanonicalization())

    def __init__(
        self,
        input: SSAValue,
        grid: str | SymbolRefAttr,
        grid_axes: Sequence[int],
        slice_axis: int,
        result_type: Attribute,
    ) -> None:
        self.initialize(input, grid, grid_axes, result_type, slice_axis=slice_axis)

    def verify_in_groups(self, grid: Grid, group: int | None) -> None:
        check_same_element_type(self.input.type, self.result.type)
        check_divided_type(self, "Slice axis", self.slice_axis.value.data, group)


class AllToAllDefinition(Collective, ABC):
    """Split along one dimension, exchange the pieces, concatenate along another.

    `shard.all_to_all %t on @g grid_axes = [0] split_axis = 0 concat_axis = 1
    : tensor<4x2xi8> -> tensor<2x4xi8>`
    """

    CLAUSES: ClassVar[tuple[Clause, ...]] = (
        Clause("split_axis", Form.INDEX),
        Clause("concat_axis", Form.INDEX),
    )

    input = operand_def(TENSOR)
    split_axis = prop_def(DimensionAttr)
    concat_axis = prop_def(DimensionAttr)
    result = result_def(TENSOR)

    traits = traits_def(Pure(), ShardCanonicalization())

    def __init__(
        self,
        input: SSAValue,
        grid: str | SymbolRefAttr,
        grid_axes: Sequence[int],
        split_axis: int,
        concat_axis: int,
        result_type: Attribute,
    ) -> None:
        self.initialize(
            input, grid, grid_axes, result_type, split_axis=split_axis, concat_axis=concat_axis
        )

    def verify_in_groups(self, grid: Grid, group: int | None) -> None:
        shape = shape_of(self.input.type)
        split, concat = self.split_axis.value.data, self.concat_axis.value.data
        check_same_element_type(self.input.type, self.result.type)
        check_dimension("Split axis", split, len(shape))
        check_dimension("Concat axis", concat, len(shape))
        size = shape[split]
        expected = [*shape]
        if size is not None and group is not None and size % group:
            # Devices receive pieces of different sizes.
            expected[split] = None
        elif split != concat:
            expected[split] = None if size is None or group is None else size // group
        if split != concat:
            expected[concat] = times(shape[concat], group)
        check_shape(shape_of(self.result.type), tuple(expected))


class ReduceScatterDefinition(Collective, ABC):
    """Combine the tensors of a group elementwise; each device keeps its piece along a dimension.

    `shard.reduce_scatter %t on @g grid_axes = [1] reduction = max scatter_axis = 0
    : tensor<4x4xf32> -> tensor<2x4xf64>`
    """

    CLAUSES: ClassVar[tuple[Clause, ...]] = (
        REDUCTION,
        SCATTER_AXIS,
    )

    input = operand_def(TENSOR_OR_MEMREF)
    reduction = prop_def(BaseAttr(ReductionKindAttr))
    scatter_axis = prop_def(DimensionAttr)
    result = result_def(TENSOR_OR_MEMREF)

    traits = traits_def(Pure(), ShardCanonicalization())

    def __init__(
        self,
        input: SSAValue,
        grid: str | SymbolRefAttr,
        grid_axes: Sequence[int],
        reduction: ReductionKind,
        scatter_axis: int,
        result_type: Attribute,
    ) -> None:
        self.initialize(
            input, grid, grid_axes, result_type, reduction=reduction, scatter_axis=scatter_axis
        )

    def verify_in_groups(self, grid: Grid, group: int | None) -> None:
        check_same_type_kind(self.input.type, self.result.type)
        check_divided_type(self, "Scatter axis", self.scatter_axis.value.data, group)
        check_reduction_types(self, self.reduction)

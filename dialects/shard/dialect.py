"""The `shard` dialect, whole: grids of processes, shardings of tensors, and collectives.

Text and meaning are those of MLIR 22 (mlir/include/mlir/Dialect/Shard/IR). Ours are
`partial = sum[1]` on `shard.sharding`, `priority = n` on `shard.shard`, and verifiers that refuse
what upstream accepts though it cannot mean anything. The definitions are shared with `mesh`.
"""

from __future__ import annotations

from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition

from .annotations import (
    GetShardingDefinition,
    ShardDefinition,
    ShardingDefinition,
    ShardShapeDefinition,
)
from .attributes import ShardAxesArrayAttr, ShardReductionKindAttr, ShardShardingType
from .collectives import (
    AllGatherDefinition,
    AllReduceDefinition,
    AllSliceDefinition,
    AllToAllDefinition,
    ReduceScatterDefinition,
    ShiftDefinition,
    UpdateHaloDefinition,
)
from .grids import (
    GridDefinition,
    GridShapeDefinition,
    NeighborsLinearIndicesDefinition,
    ProcessLinearIndexDefinition,
    ProcessMultiIndexDefinition,
)
from .rooted_collectives import (
    BroadcastDefinition,
    GatherDefinition,
    RecvDefinition,
    ReduceDefinition,
    ScatterDefinition,
    SendDefinition,
)


@irdl_op_definition
class GridOp(GridDefinition):
    """See `GridDefinition`."""

    name = "shard.grid"


@irdl_op_definition
class GridShapeOp(GridShapeDefinition):
    """See `GridShapeDefinition`."""

    name = "shard.grid_shape"


@irdl_op_definition
class ProcessMultiIndexOp(ProcessMultiIndexDefinition):
    """See `ProcessMultiIndexDefinition`."""

    name = "shard.process_multi_index"


@irdl_op_definition
class ProcessLinearIndexOp(ProcessLinearIndexDefinition):
    """See `ProcessLinearIndexDefinition`."""

    name = "shard.process_linear_index"


@irdl_op_definition
class NeighborsLinearIndicesOp(NeighborsLinearIndicesDefinition):
    """See `NeighborsLinearIndicesDefinition`."""

    name = "shard.neighbors_linear_indices"


@irdl_op_definition
class ShardingOp(ShardingDefinition):
    """See `ShardingDefinition`."""

    name = "shard.sharding"


@irdl_op_definition
class GetShardingOp(GetShardingDefinition):
    """See `GetShardingDefinition`."""

    name = "shard.get_sharding"


@irdl_op_definition
class ShardShapeOp(ShardShapeDefinition):
    """See `ShardShapeDefinition`."""

    name = "shard.shard_shape"


@irdl_op_definition
class ShardOp(ShardDefinition):
    """See `ShardDefinition`."""

    name = "shard.shard"


@irdl_op_definition
class AllGatherOp(AllGatherDefinition):
    """See `AllGatherDefinition`."""

    name = "shard.all_gather"


@irdl_op_definition
class AllReduceOp(AllReduceDefinition):
    """See `AllReduceDefinition`."""

    name = "shard.all_reduce"


@irdl_op_definition
class AllSliceOp(AllSliceDefinition):
    """See `AllSliceDefinition`."""

    name = "shard.all_slice"


@irdl_op_definition
class AllToAllOp(AllToAllDefinition):
    """See `AllToAllDefinition`."""

    name = "shard.all_to_all"


@irdl_op_definition
class BroadcastOp(BroadcastDefinition):
    """See `BroadcastDefinition`."""

    name = "shard.broadcast"


@irdl_op_definition
class GatherOp(GatherDefinition):
    """See `GatherDefinition`."""

    name = "shard.gather"


@irdl_op_definition
class ReduceOp(ReduceDefinition):
    """See `ReduceDefinition`."""

    name = "shard.reduce"


@irdl_op_definition
class ReduceScatterOp(ReduceScatterDefinition):
    """See `ReduceScatterDefinition`."""

    name = "shard.reduce_scatter"


@irdl_op_definition
class ScatterOp(ScatterDefinition):
    """See `ScatterDefinition`."""

    name = "shard.scatter"


@irdl_op_definition
class SendOp(SendDefinition):
    """See `SendDefinition`."""

    name = "shard.send"


@irdl_op_definition
class RecvOp(RecvDefinition):
    """See `RecvDefinition`."""

    name = "shard.recv"


@irdl_op_definition
class ShiftOp(ShiftDefinition):
    """See `ShiftDefinition`."""

    name = "shard.shift"


@irdl_op_definition
class UpdateHaloOp(UpdateHaloDefinition):
    """See `UpdateHaloDefinition`."""

    name = "shard.update_halo"


Shard = Dialect(
    "shard",
    [
        GridOp,
        GridShapeOp,
        ProcessMultiIndexOp,
        ProcessLinearIndexOp,
        NeighborsLinearIndicesOp,
        ShardingOp,
        GetShardingOp,
        ShardShapeOp,
        ShardOp,
        AllGatherOp,
        AllReduceOp,
        AllSliceOp,
        AllToAllOp,
        BroadcastOp,
        GatherOp,
        ReduceOp,
        ReduceScatterOp,
        ScatterOp,
        SendOp,
        RecvOp,
        ShiftOp,
        UpdateHaloOp,
    ],
    [ShardAxesArrayAttr, ShardReductionKindAttr, ShardShardingType],
)
"""The dialect, complete: xDSL's own covers 11 of the 22 operations and steps aside for it."""

"""The complete `shard` dialect: grids of processes, shardings of tensors, and collectives.

Syntax and semantics are those of MLIR 22 (mlir/include/mlir/Dialect/Shard/IR). Extensions are
`partial = sum[1]` on `shard.sharding`, `priority = n` on `shard.shard`, and verifiers that reject
programs without a meaning that upstream accepts.
"""

from __future__ import annotations

from xdsl.ir import Dialect

from .annotations import GetShardingOp, ShardingOp, ShardOp, ShardShapeOp
from .attributes import AxesArrayAttr, ReductionKindAttr, ShardingType
from .collectives import (
    AllGatherOp,
    AllReduceOp,
    AllSliceOp,
    AllToAllOp,
    ReduceScatterOp,
    ShiftOp,
    UpdateHaloOp,
)
from .grids import (
    GridOp,
    GridShapeOp,
    NeighborsLinearIndicesOp,
    ProcessLinearIndexOp,
    ProcessMultiIndexOp,
)
from .rooted_collectives import BroadcastOp, GatherOp, RecvOp, ReduceOp, ScatterOp, SendOp

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
    [AxesArrayAttr, ReductionKindAttr, ShardingType],
)
"""The dialect. It replaces the one of xDSL, which has 11 of the 22 ops."""

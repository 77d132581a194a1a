"""The `shard` dialect, whole: grids of processes, shardings of tensors, and collectives.

Text and meaning are those of MLIR 22 (mlir/include/mlir/Dialect/Shard/IR). Ours are
`partial = sum[1]` on `shard.sharding`, `priority = n` on `shard.shard`, and verifiers that refuse
what upstream accepts though it cannot mean anything. The definitions are shared with `mesh`.
"""

from __future__ import annotations

from typing import TypeVar, cast

from xdsl.irdl import IRDLOperation, irdl_op_definition

from ...ir.dialect_extension import dialect_of
from ...ir.syntax.operations import SyntaxOperation
from ...sharding.collectives import (
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
)
from . import attributes
from .annotations import (
    GetShardingDefinition,
    ShardDefinition,
    ShardingDefinition,
    ShardShapeDefinition,
)
from .attributes import SHARD_SPELLING, Spelling
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
from .syntax import respelled

Definition = TypeVar("Definition", bound=SyntaxOperation)


def operation_class(
    name: str,
    definition: type[Definition],
    spelling: Spelling = SHARD_SPELLING,
    *words: type[IRDLOperation],
) -> type[Definition]:
    """The operation of a name that a definition describes, in a spelling whose words have bases."""
    parts = {
        "name": name,
        "SYNTAX": respelled(definition.SYNTAX, spelling),
        "__annotations__": {"SYNTAX": "ClassVar"},
        "__doc__": definition.__doc__,
        "__module__": definition.__module__,
    }
    title = definition.__name__.removesuffix("Definition") + "Op"
    made = type(definition)(title, (*words, definition), parts)
    return irdl_op_definition(cast("type[Definition]", made))


GridOp = operation_class("shard.grid", GridDefinition)
GridShapeOp = operation_class("shard.grid_shape", GridShapeDefinition)
ProcessMultiIndexOp = operation_class("shard.process_multi_index", ProcessMultiIndexDefinition)
ProcessLinearIndexOp = operation_class("shard.process_linear_index", ProcessLinearIndexDefinition)
NeighborsLinearIndicesOp = operation_class(
    "shard.neighbors_linear_indices", NeighborsLinearIndicesDefinition
)
ShardingOp = operation_class("shard.sharding", ShardingDefinition)
GetShardingOp = operation_class("shard.get_sharding", GetShardingDefinition)
ShardShapeOp = operation_class("shard.shard_shape", ShardShapeDefinition)
ShardOp = operation_class("shard.shard", ShardDefinition)
AllGatherOp = operation_class(ALL_GATHER.operation, AllGatherDefinition)
AllReduceOp = operation_class(ALL_REDUCE.operation, AllReduceDefinition)
AllSliceOp = operation_class(ALL_SLICE.operation, AllSliceDefinition)
AllToAllOp = operation_class(ALL_TO_ALL.operation, AllToAllDefinition)
BroadcastOp = operation_class(BROADCAST.operation, BroadcastDefinition)
GatherOp = operation_class(GATHER.operation, GatherDefinition)
ReduceOp = operation_class(REDUCE.operation, ReduceDefinition)
ReduceScatterOp = operation_class(REDUCE_SCATTER.operation, ReduceScatterDefinition)
ScatterOp = operation_class(SCATTER.operation, ScatterDefinition)
SendOp = operation_class(SEND.operation, SendDefinition)
RecvOp = operation_class(RECV.operation, RecvDefinition)
ShiftOp = operation_class(SHIFT.operation, ShiftDefinition)
UpdateHaloOp = operation_class(UPDATE_HALO.operation, UpdateHaloDefinition)

Shard = dialect_of("shard", attributes, globals())
"""The dialect, complete: xDSL's own covers 11 of the 22 operations and steps aside for it."""

"""The annotations themselves: where a tensor is led from one placement to another."""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Operation

from ...dialects.diagnostics import OperationError
from ...sharding.factor_placement import without_new_partials
from ...sharding.local_shape import offset_errors
from ...sharding.sharding import Sharding
from .annotations import GET_SHARDING, SHARD, SHARDING, annotation_of
from .partition_registry import partitions
from .partitioner import Partitioner, normal, shape


@partitions(SHARDING, GET_SHARDING)
def sharding(partitioner: Partitioner, operation: Operation) -> None:
    """Nothing: a sharding is emitted only where the program computes with it."""


@partitions(SHARD)
def shard(partitioner: Partitioner, operation: Operation) -> None:
    """The value as its producer is said to leave it, or as users are said to want it."""
    annotation = annotation_of(operation, partitioner.grids)
    source, result, target = annotation.source, annotation.result, annotation.sharding
    wrong = offset_errors(shape(source), target)
    if wrong is not None:
        raise OperationError(operation, f"cannot place {source.type}: {wrong}")
    partitioner.rename(result, source)
    creation = partitioner.creation_of(source)
    if creation is not None:
        hint = normal(target.without_partials())
        partitioner.create(result, replace(creation, sharding=hint))
        return
    held = partitioner.sharding_of(source) or Sharding.replicated(target.grid, target.rank)
    if held.grid == target.grid:
        target = without_new_partials(held, target)
    else:
        target = target.without_partials()
    value = partitioner.demand(source, target)
    partitioner.place(result, value, target)

"""The annotations themselves: where a tensor is led from one placement to another."""

from __future__ import annotations

from xdsl.ir import Operation

from ...ir.diagnostics import OperationError
from ...sharding.factor_placement import without_new_partials
from .annotations import GET_SHARDING, SHARD, SHARDING
from .collectives import PURE_COLLECTIVES, RECV, SEND
from .partition_registry import partitions
from .partitioner import Partitioner, normal


@partitions(SHARDING, GET_SHARDING)
def sharding(partitioner: Partitioner, operation: Operation) -> None:
    """Nothing: a sharding is emitted only where the program computes with it."""


@partitions(SHARD)
def shard(partitioner: Partitioner, operation: Operation) -> None:
    """The value as its producer is said to leave it, or as users are said to want it."""
    source, result = operation.operands[0], operation.results[0]
    target, _ = partitioner.annotations.of(operation)
    partitioner.rename(result, source)
    creation = partitioner.creation_of(source)
    if creation is not None:
        hint = normal(target.without_partials())
        partitioner.create(result, creation.annotated(hint))
        return
    held = partitioner.sharding_of(source)
    if held == target or (held is not None and held == partitioner.destination(source)):
        return
    if held is None or held.grid != target.grid:
        target = target.without_partials()
    else:
        target = without_new_partials(held, target)
    partitioner.move(result, target)


@partitions(
    *PURE_COLLECTIVES, SEND, RECV, "shard.process_linear_index", "shard.process_multi_index"
)
def of_one_device(partitioner: Partitioner, operation: Operation) -> None:
    """What speaks of one device has no meaning in the program of all of them."""
    raise OperationError(
        operation,
        "is for the program of one device, but the function around it still has annotations",
    )

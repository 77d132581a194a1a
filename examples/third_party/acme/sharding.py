"""Sharding rules of the operations, and their partitioning for one device."""

from __future__ import annotations

from mesh_opt.extend import (
    FactorRule,
    OpSharding,
    Partitioner,
    ReductionKind,
    RuleBuilder,
    elementwise_rule,
    partition,
    partition_by_rule,
    sharding_rule,
)
from xdsl.ir import Operation, SSAValue

from .operations import AddPositionsOp, RowEnergyOp, float_tensor


@sharding_rule("acme.row_energy")
def row_energy_rule(operation: RowEnergyOp) -> FactorRule:
    """Map [i, j] -> [i], where j is a reduction: partial rows give partial sums."""
    rows, columns = (None if n < 0 else n for n in float_tensor(operation.source).get_shape())
    builder = RuleBuilder(operation)
    row, column = builder.factor(rows), builder.reduction(columns, ReductionKind.SUM)
    builder.operand_dimensions(0, [(row,), (column,)])
    builder.result_dimensions(0, [(row,)])
    return builder.build()


@sharding_rule("acme.add_positions")
def add_positions_rule(operation: AddPositionsOp) -> FactorRule | None:
    """Map [i, j], first -> [i, j]."""
    return elementwise_rule(operation)


@partition("acme.add_positions")
def add_positions(partitioner: Partitioner, operation: Operation) -> None:
    """Partition with an offset: an unchanged copy would count from the first row of the shard."""
    partition_by_rule(partitioner, operation, _add_local_positions)


def _add_local_positions(
    partitioner: Partitioner, op_sharding: OpSharding, operands: list[SSAValue]
) -> Operation:
    source, first = operands
    begin = partitioner.shard_start(
        op_sharding.operation.operands[0], 0, op_sharding.operand_shardings[0]
    )
    emitter = partitioner.emitter
    first = emitter.index(emitter.add(first, begin))
    return AddPositionsOp.create(operands=[source, first], result_types=op_sharding.result_types)

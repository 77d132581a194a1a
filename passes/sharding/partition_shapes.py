"""Operations whose attributes or operands spell out the shape of their result."""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerType,
    TensorType,
    i64,
)
from xdsl.ir import Operation, SSAValue

from ...ir.tensor_types import ranked
from .local_types import local_type, tensor_type_of
from .partition_by_rule import (
    SpreadOperation,
    copy_local,
    copy_with,
    evenly,
    freely,
    run_whole,
    spread_by_rule,
)
from .partition_registry import partitions
from .partitioner import Partitioner
from .rules.tensor_shapes import reassociation


@partitions("tensor.expand_shape")
def expand_shape(partitioner: Partitioner, operation: Operation) -> None:
    """Output sizes are those of the shard."""
    spread_by_rule(partitioner, operation, freely, _expand)


def _expand(
    partitioner: Partitioner, spread: SpreadOperation, operands: list[SSAValue]
) -> Operation:
    operation, emitter = spread.operation, partitioner.emitter
    whole, groups = tensor_type_of(operation.results[0]), reassociation(operation)
    assert groups is not None
    sharding = spread.result_shardings[0]
    found = local_type(whole, sharding)
    group_of = {d: index for index, group in enumerate(groups) for d in group}
    given = iter(operands[1:])
    numbers: list[int] = []
    sizes: list[SSAValue] = []
    for dimension, (before, after) in enumerate(
        zip(whole.get_shape(), found.get_shape(), strict=True)
    ):
        size = next(given) if before == DYNAMIC_INDEX else None
        numbers.append(after)
        if after != DYNAMIC_INDEX:
            continue
        if sharding.dimension_axes[dimension] or size is None:
            # Only a dimension that is alone in its group can have shards of several sizes.
            size = emitter.index(emitter.dimension(operands[0], group_of[dimension]))
        sizes.append(size)
    properties = {
        **operation.properties,
        "static_output_shape": DenseArrayBase.from_list(i64, numbers),
    }
    return copy_with(partitioner, operation, [operands[0], *sizes], [found], properties)


@partitions("tensor.reshape")
def reshape(partitioner: Partitioner, operation: Operation) -> None:
    """The shape operand becomes the shape of the shard."""
    whole = ranked(operation.results[0])
    if whole is None or not whole.has_static_shape():
        run_whole(partitioner, operation)
        return
    spread_by_rule(partitioner, operation, evenly, _reshape)


def _reshape(
    partitioner: Partitioner, spread: SpreadOperation, operands: list[SSAValue]
) -> Operation:
    whole, shape_type = map(tensor_type_of, (spread.operation.results[0], operands[1]))
    extents = local_type(whole, spread.result_shardings[0]).get_shape()
    held = TensorType(cast(IntegerType | IndexType, shape_type.element_type), [len(extents)])
    values = DenseIntOrFPElementsAttr.from_list(held, list(extents))
    constant = partitioner.emitter.help(arith.ConstantOp(values))
    return copy_local(partitioner, spread, [operands[0], constant])


@partitions("tosa.reshape")
def tosa_reshape(partitioner: Partitioner, operation: Operation) -> None:
    """The shape operand becomes the shape of the shard."""
    spread_by_rule(
        partitioner,
        operation,
        evenly,
        _with_shape_operand,
    )


def _with_shape_operand(
    partitioner: Partitioner, spread: SpreadOperation, operands: list[SSAValue]
) -> Operation:
    """A copy whose `!tosa.shape` operand is the local shape of the result."""
    whole, maker = tensor_type_of(spread.operation.results[0]), operands[1].owner
    assert isinstance(maker, Operation)
    extents = local_type(whole, spread.result_shardings[0]).get_shape()
    if maker.name == "tosa.const_shape" and DYNAMIC_INDEX not in extents:
        held = TensorType(IndexType(), [len(extents)])
        values = DenseIntOrFPElementsAttr.from_list(held, list(extents))
        constant = type(maker).create(
            result_types=[operands[1].type],
            properties={**maker.properties, "values": values},
            location=maker.location,
        )
        operands[1] = partitioner.emitter.help(constant)
    return copy_local(partitioner, spread, operands)

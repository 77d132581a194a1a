"""Partition operations that state the shape of their result, or create tensors."""

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

from ....ir.attribute_access import constant_integer
from ....ir.tensor_types import ranked, tensor_shape
from ..rules.tensor import reassociation
from .by_rule import (
    by_rule,
    copy_local,
    copy_with,
    emits_local_op,
    partition_by_rule,
    run_replicated,
)
from .chosen_sharding import OpSharding
from .local_types import local_type, tensor_type_of
from .partitioner import Partitioner
from .registry import partition
from .rematerializable import Rematerializable


def _set_rematerializable(partitioner: Partitioner, operation: Operation) -> None:
    result = operation.results[0]
    partitioner.set_rematerializable(
        result, Rematerializable(result, operation, partitioner.emitter)
    )


@partition("arith.constant", "tosa.const")
def constant(partitioner: Partitioner, operation: Operation) -> None:
    """Record a tensor constant as rematerializable; scalar constants are copied."""
    if ranked(operation.results[0]) is None:
        run_replicated(partitioner, operation)
    else:
        _set_rematerializable(partitioner, operation)


@partition("tensor.empty", "tensor.splat", "bufferization.alloc_tensor")
def sized(partitioner: Partitioner, operation: Operation) -> None:
    """Record the tensor as rematerializable: each process makes one of the size of its shard."""
    result = operation.results[0]
    shape = tensor_shape(result)
    first = 1 if operation.name == "tensor.splat" else 0
    sizes = operation.operands[first:]
    dynamic = [d for d, size in enumerate(shape or ()) if size is None]
    if shape is None or len(sizes) != len(dynamic):
        # A memref, or an allocation that copies another tensor.
        by_rule(partitioner, operation)
        return
    for dimension, size in zip(dynamic, sizes, strict=True):
        partitioner.same_size((result, dimension), size)
    _set_rematerializable(partitioner, operation)


@partition("linalg.fill")
def fill(partitioner: Partitioner, operation: Operation) -> None:
    """Record the result as rematerializable: only the size of the destination matters."""
    value, destination = operation.operands[0], operation.operands[-1]
    if len(operation.operands) != 2 or ranked(value) is not None or not operation.results:
        by_rule(partitioner, operation)
        return
    result = operation.results[0]
    for dimension in range(len(tensor_shape(result) or ())):
        partitioner.same_size((result, dimension), (destination, dimension))
    _set_rematerializable(partitioner, operation)


@partition("tensor.dim")
def dimension(partitioner: Partitioner, operation: Operation) -> None:
    """Return the size of the whole tensor, as the source program means it."""
    source = operation.operands[0]
    index = constant_integer(operation.operands[1])
    shape = tensor_shape(source)
    if shape is None or index is None or not 0 <= index < len(shape):
        run_replicated(partitioner, operation)
        return
    size = partitioner.global_size(source, index)
    partitioner.set_scalar(operation.results[0], partitioner.emitter.index(size))


@emits_local_op("tensor.expand_shape")
def expand_shape(
    partitioner: Partitioner, op_sharding: OpSharding, operands: list[SSAValue]
) -> Operation:
    """Emit an expansion with the sizes of the shard."""
    operation, emitter = op_sharding.operation, partitioner.emitter
    whole, groups = tensor_type_of(operation.results[0]), reassociation(operation)
    assert groups is not None
    sharding = op_sharding.result_shardings[0]
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
            # Only a dimension that is alone in its group can have shards of different sizes.
            size = emitter.index(emitter.dimension(operands[0], group_of[dimension]))
        sizes.append(size)
    properties = {
        **operation.properties,
        "static_output_shape": DenseArrayBase.from_list(i64, numbers),
    }
    return copy_with(partitioner, operation, [operands[0], *sizes], [found], properties)


@partition("tensor.reshape")
def reshape(partitioner: Partitioner, operation: Operation) -> None:
    """Partition a reshape; the shape operand becomes that of the shard."""
    whole = ranked(operation.results[0])
    if whole is None or not whole.has_static_shape():
        run_replicated(partitioner, operation)
        return
    partition_by_rule(partitioner, operation, _reshape)


def _reshape(
    partitioner: Partitioner, op_sharding: OpSharding, operands: list[SSAValue]
) -> Operation:
    whole, shape_type = map(tensor_type_of, (op_sharding.operation.results[0], operands[1]))
    extents = local_type(whole, op_sharding.result_shardings[0]).get_shape()
    held = TensorType(cast(IntegerType | IndexType, shape_type.element_type), [len(extents)])
    values = DenseIntOrFPElementsAttr.from_list(held, list(extents))
    constant = partitioner.emitter.insert(arith.ConstantOp(values))
    return copy_local(partitioner, op_sharding, [operands[0], constant])


@emits_local_op("tosa.reshape")
def tosa_reshape(
    partitioner: Partitioner, op_sharding: OpSharding, operands: list[SSAValue]
) -> Operation:
    """Emit a reshape whose shape operand is that of the shard."""
    whole, maker = tensor_type_of(op_sharding.operation.results[0]), operands[1].owner
    assert isinstance(maker, Operation)
    extents = local_type(whole, op_sharding.result_shardings[0]).get_shape()
    if maker.name == "tosa.const_shape" and DYNAMIC_INDEX not in extents:
        held = TensorType(IndexType(), [len(extents)])
        values = DenseIntOrFPElementsAttr.from_list(held, list(extents))
        constant = type(maker).create(
            result_types=[operands[1].type],
            properties={**maker.properties, "values": values},
            location=maker.location,
        )
        operands[1] = partitioner.emitter.insert(constant)
    return copy_local(partitioner, op_sharding, operands)

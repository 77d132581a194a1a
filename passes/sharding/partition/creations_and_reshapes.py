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
from ....ir.index_lists import INDEX
from ....ir.locations import made_by, rebuilt
from ....ir.tensor_types import ranked, tensor_shape
from ..rules.tensor import reassociation
from .by_rule import copy_local, emit_by_rule, emits_local_op, run_replicated
from .local_types import tensor_type_of
from .partitioner import OpSharding, Partitioner
from .registry import partition
from .rematerializable import Rematerializable


def _set_rematerializable(partitioner: Partitioner, operation: Operation) -> None:
    result = operation.results[0]
    source = Rematerializable(
        result, operation, partitioner.emitter, partitioner.scalar, partitioner.local_extent
    )
    partitioner.set_rematerializable(result, source)


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
        emit_by_rule(partitioner, operation)
        return
    for dimension, size in zip(dynamic, sizes, strict=True):
        partitioner.same_size((result, dimension), size)
    _set_rematerializable(partitioner, operation)


@partition("linalg.fill")
def fill(partitioner: Partitioner, operation: Operation) -> None:
    """Record the result as rematerializable: only the size of the destination matters."""
    value, destination = operation.operands[0], operation.operands[-1]
    if len(operation.operands) != 2 or ranked(value) is not None or not operation.results:
        emit_by_rule(partitioner, operation)
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
def expand_shape(chosen: OpSharding, operands: list[SSAValue]) -> Operation:
    """Emit an expansion with the sizes of the shard."""
    operation, emitter = chosen.operation, chosen.emitter
    whole, groups = tensor_type_of(operation.results[0]), reassociation(operation)
    assert groups is not None
    group_of = {d: index for index, group in enumerate(groups) for d in group}
    given = iter(operands[1:])
    numbers: list[int] = []
    sizes: list[SSAValue] = []
    for dimension, (before, after) in enumerate(
        zip(whole.get_shape(), chosen.local_type.get_shape(), strict=True)
    ):
        size = next(given) if before == DYNAMIC_INDEX else None
        numbers.append(after)
        if after != DYNAMIC_INDEX:
            continue
        if chosen.result_shardings[0].dimension_axes[dimension] or size is None:
            # Only a dimension that is alone in its group can have shards of different sizes.
            size = emitter.index(emitter.dimension(operands[0], group_of[dimension]))
        sizes.append(size)
    properties = {
        **operation.properties,
        "static_output_shape": DenseArrayBase.from_list(i64, numbers),
    }
    return copy_local(chosen, [operands[0], *sizes], properties)


@partition("tensor.reshape")
def reshape(partitioner: Partitioner, operation: Operation) -> None:
    """Partition a reshape; the shape operand becomes that of the shard."""
    whole = ranked(operation.results[0])
    if whole is None or not whole.has_static_shape():
        run_replicated(partitioner, operation)
        return
    emit_by_rule(partitioner, operation, _reshape)


def _reshape(chosen: OpSharding, operands: list[SSAValue]) -> Operation:
    element = cast(IntegerType | IndexType, tensor_type_of(operands[1]).element_type)
    constant = chosen.emitter.insert(arith.ConstantOp(_local_shape(chosen, element)))
    return copy_local(chosen, [operands[0], constant])


def _local_shape(chosen: OpSharding, element: IntegerType | IndexType) -> DenseIntOrFPElementsAttr:
    """Return the static shape of the local result as a constant."""
    extents = chosen.local_type.get_shape()
    return DenseIntOrFPElementsAttr.from_list(TensorType(element, [len(extents)]), list(extents))


@emits_local_op("tosa.reshape")
def tosa_reshape(chosen: OpSharding, operands: list[SSAValue]) -> Operation:
    """Emit a reshape whose shape operand is that of the shard."""
    maker = made_by(operands[1], "tosa.const_shape")
    if maker is not None and chosen.local_type.has_static_shape():
        properties = {**maker.properties, "values": _local_shape(chosen, INDEX)}
        constant = rebuilt(maker, [], maker.result_types, properties=properties)
        operands[1] = chosen.emitter.insert(constant)
    return copy_local(chosen, operands)

"""Operations that make tensors of nothing: nothing is emitted until somebody needs them."""

from __future__ import annotations

from xdsl.ir import Operation

from ...ir.tensor_types import ranked, tensor_shape
from .creations import Creation
from .partition_by_rule import by_rule, run_whole
from .partition_registry import partitions
from .partitioner import Partitioner, constant_index


def _create(partitioner: Partitioner, operation: Operation) -> None:
    result = operation.results[0]
    partitioner.create(result, Creation(result, operation, partitioner.emitter))


@partitions("arith.constant", "tosa.const")
def constant(partitioner: Partitioner, operation: Operation) -> None:
    """Constants of scalars stay; those of tensors are sliced, or made smaller."""
    if ranked(operation.results[0]) is None:
        run_whole(partitioner, operation)
    else:
        _create(partitioner, operation)


@partitions("tensor.empty", "tensor.splat", "bufferization.alloc_tensor")
def sized(partitioner: Partitioner, operation: Operation) -> None:
    """Each process makes a tensor of the size of its shard."""
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
    _create(partitioner, operation)


@partitions("linalg.fill")
def fill(partitioner: Partitioner, operation: Operation) -> None:
    """A filled tensor has nothing of its destination but the size."""
    value, destination = operation.operands[0], operation.operands[-1]
    if len(operation.operands) != 2 or ranked(value) is not None or not operation.results:
        by_rule(partitioner, operation)
        return
    result = operation.results[0]
    for dimension in range(len(tensor_shape(result) or ())):
        partitioner.same_size((result, dimension), (destination, dimension))
    _create(partitioner, operation)


@partitions("tensor.dim")
def dimension(partitioner: Partitioner, operation: Operation) -> None:
    """The size of the whole tensor, as the program around means it."""
    source = operation.operands[0]
    index = constant_index(operation.operands[1])
    shape = tensor_shape(source)
    if shape is None or index is None or not 0 <= index < len(shape):
        run_whole(partitioner, operation)
        return
    size = partitioner.global_size(source, index)
    partitioner.set_scalar(operation.results[0], partitioner.emitter.index(size))

"""Rules of `tensor` operations that make, copy, read or join whole tensors.

`bufferization.alloc_tensor` is here too: it is a `tensor.empty` that bufferizes differently.
"""

from __future__ import annotations

from xdsl.ir import Operation

from ....ir.tensor_types import tensor_shape
from ....sharding.factors import FactorKind, FactorRule, Window
from .builder import RuleBuilder, elementwise_rule, integer, integers
from .registry import rule


@rule("tensor.empty", "tensor.generate", "tensor.splat", "bufferization.alloc_tensor")
def made(operation: Operation) -> FactorRule | None:
    """Each dimension of the result is one factor, shared with a tensor to copy if there is one."""
    return elementwise_rule(operation)


@rule("tensor.cast", "tensor.bitcast")
def cast(operation: Operation) -> FactorRule | None:
    """The dimensions stay; one side may know an extent that the other does not."""
    source, result = tensor_shape(operation.operands[0]), tensor_shape(operation.results[0])
    if source is None or result is None or len(source) != len(result):
        return None
    builder = RuleBuilder(operation)
    for dimension, (before, after) in enumerate(zip(source, result, strict=True)):
        factor = builder.factor(after if before is None else before)
        builder.operand(0, dimension, factor)
        builder.result(0, dimension, factor)
    return builder.build()


@rule("tensor.dim", "tensor.rank")
def size(operation: Operation) -> FactorRule | None:
    """Sizes are those of the whole tensor, however it is split."""
    shape = tensor_shape(operation.operands[0])
    if shape is None:
        return None
    builder = RuleBuilder(operation)
    for dimension, extent in enumerate(shape):
        builder.operand(0, dimension, builder.factor(extent))
    return builder.build()


@rule("tensor.extract", "tensor.from_elements", "tensor.insert")
def element(operation: Operation) -> FactorRule | None:
    """Single elements are read or written, at places that are known only at run time."""
    builder = RuleBuilder(operation)
    for index, operand in enumerate(operation.operands):
        for dimension, extent in enumerate(tensor_shape(operand) or ()):
            builder.operand(index, dimension, builder.factor(extent, FactorKind.NEED_REPLICATION))
    for dimension, extent in enumerate(tensor_shape(operation.results[0]) or ()):
        builder.result(0, dimension, builder.factor(extent, FactorKind.NEED_REPLICATION))
    return builder.build()


@rule("tensor.concat")
def concat(operation: Operation) -> FactorRule | None:
    """All dimensions pass through; along the one that is joined, elements change places."""
    return concat_rule(operation, integer(operation, "dim"))


def concat_rule(operation: Operation, joined: int | None) -> FactorRule | None:
    """The rule of joining all operands along a dimension.

    Its extents must be known for it to be split: operands are then shifted against the result.
    """
    shape = tensor_shape(operation.results[0])
    if shape is None or joined is None:
        return None
    builder = RuleBuilder(operation)
    whole = FactorKind.NEED_REPLICATION
    extents = [(tensor_shape(operand) or shape)[joined] for operand in operation.operands]
    for dimension, extent in enumerate(shape):
        if dimension == joined and extent is not None and None not in extents:
            # The factor is what is joined: the operands are shorter.
            factor = builder.factor(extent, FactorKind.PERMUTATION)
            builder.result(0, dimension, factor)
            start = 0
            for index, own in enumerate(extents):
                builder.operand(index, dimension, factor)
                builder.window(Window(index, dimension, own or 0, first=-start))
                start += own or 0
        elif dimension == joined:
            builder.result(0, dimension, builder.factor(extent, whole))
            for index in range(len(operation.operands)):
                builder.operand(index, dimension, builder.factor(extents[index], whole))
        else:
            factor = builder.factor(extent)
            builder.result(0, dimension, factor)
            for index in range(len(operation.operands)):
                builder.operand(index, dimension, factor)
    return builder.build()


@rule("tensor.gather")
def gather(operation: Operation) -> FactorRule | None:
    """Rows of indices pass through, and so do the dimensions of the source that are not looked up.

    The result has the indices' dimensions but the last, then those of the source; the dimensions
    looked up have extent 1 there, or are left out.
    """
    source, indices = (tensor_shape(operand) for operand in operation.operands[:2])
    looked_up = integers(operation, "gather_dims")
    shape = tensor_shape(operation.results[0])
    if source is None or indices is None or shape is None or looked_up is None:
        return None
    builder = RuleBuilder(operation)
    rows = len(indices) - 1
    for dimension in range(rows):
        factor = builder.factor(indices[dimension])
        builder.operand(1, dimension, factor)
        builder.result(0, dimension, factor)
    whole = FactorKind.NEED_REPLICATION
    builder.operand(1, rows, builder.factor(indices[rows], whole))
    position, keeps = rows, len(shape) == rows + len(source)
    for dimension, extent in enumerate(source):
        if dimension in looked_up:
            builder.operand(0, dimension, builder.factor(extent, whole))
            position += keeps
        else:
            factor = builder.factor(extent)
            builder.operand(0, dimension, factor)
            builder.result(0, position, factor)
            position += 1
    return builder.build()

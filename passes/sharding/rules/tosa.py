"""Rules of `tosa` operations: elementwise, reductions, products, and data movement."""

from __future__ import annotations

from xdsl.ir import Operation

from ....dialects.tosa.operation_kinds import (
    ELEMENTWISE,
    LEADING_OPERANDS,
    REDUCTIONS,
    constant_numbers,
)
from ....ir.attribute_access import optional_integer, optional_integers
from ....ir.tensor_types import tensor_shape
from ....sharding.factors import FactorKind, FactorRule
from .builder import RuleBuilder, elementwise_rule, same_rank_rule
from .combiners import combiner_of
from .registry import sharding_rule

sharding_rule(*(f"tosa.{name}" for name in ELEMENTWISE))(elementwise_rule)


@sharding_rule(*(f"tosa.{name}" for name in LEADING_OPERANDS))
def elementwise_with_parameters(operation: Operation) -> FactorRule | None:
    """Return the elementwise rule of the leading operands, and of per-channel parameters."""
    count = LEADING_OPERANDS[operation.name.removeprefix("tosa.")]
    per_channel = operation.name == "tosa.rescale" and optional_integer(operation, "per_channel")
    return elementwise_rule(operation, count, per_channel=(1, 2) if per_channel else ())


@sharding_rule(*(f"tosa.reduce_{name}" for name in REDUCTIONS))
def reduce(operation: Operation) -> FactorRule | None:
    """Return the rule of a reduction of dimension `axis` to extent 1; others pass through."""
    shape, axis = tensor_shape(operation.operands[0]), optional_integer(operation, "axis")
    combiner = combiner_of(operation, 0)
    if shape is None or axis is None or combiner is None or not 0 <= axis < len(shape):
        return None
    builder = RuleBuilder(operation)
    for dimension, size in enumerate(shape):
        if dimension == axis:
            builder.operand(0, dimension, builder.reduction(size, combiner.kind))
        else:
            builder.shared(dimension, size)
    return builder.build()


@sharding_rule("tosa.matmul")
def matmul(operation: Operation) -> FactorRule | None:
    """Return the rule `([b, m, k], [b, k, n]) -> ([b, m, n])`; zero points are needed whole."""
    left, right = tensor_shape(operation.operands[0]), tensor_shape(operation.operands[1])
    result = tensor_shape(operation.results[0])
    combiner = combiner_of(operation, 0)
    if left is None or right is None or result is None or combiner is None:
        return None
    builder = RuleBuilder(operation)
    batch, row, column = (builder.factor(size) for size in result)
    inner = builder.reduction(left[2] if left[2] is not None else right[1], combiner.kind)
    builder.operand_dimensions(
        0, [() if left[0] == 1 and result[0] != 1 else (batch,), (row,), (inner,)]
    )
    builder.operand_dimensions(
        1, [() if right[0] == 1 and result[0] != 1 else (batch,), (inner,), (column,)]
    )
    builder.result_dimensions(0, [(batch,), (row,), (column,)])
    return builder.build()


_REPLICATED = FactorKind.NEED_REPLICATION


@sharding_rule("tosa.transpose")
def transpose(operation: Operation) -> FactorRule | None:
    """Return the rule of a transpose: dimension `d` of the result is dimension `perms[d]`."""
    shape, permutation = tensor_shape(operation.operands[0]), optional_integers(operation, "perms")
    if shape is None or permutation is None:
        return None
    builder = RuleBuilder(operation)
    factors = [builder.factor(size) for size in shape]
    builder.operand_dimensions(0, [(factor,) for factor in factors])
    builder.result_dimensions(0, [(factors[dimension],) for dimension in permutation])
    return builder.build()


@sharding_rule("tosa.pad")
def pad(operation: Operation) -> FactorRule | None:
    """Return the rule of padding: padded dimensions are shifted, others pass through."""
    padding = constant_numbers(operation.operands[1])
    rank = len(tensor_shape(operation.operands[0]) or ())
    if padding is None or len(padding) != 2 * rank:
        return same_rank_rule(operation, [False] * rank)
    passes = [not any(padding[2 * d : 2 * d + 2]) for d in range(rank)]
    return same_rank_rule(operation, passes, [(-low, 1) for low in padding[::2]])


@sharding_rule("tosa.slice")
def slice_(operation: Operation) -> FactorRule | None:
    """Return the rule of a slice: dimensions that it does not cover completely are shifted."""
    shape, starts = tensor_shape(operation.operands[0]), constant_numbers(operation.operands[1])
    result = tensor_shape(operation.results[0])
    if shape is None or result is None:
        return None
    if starts is None or None in result:
        return same_rank_rule(operation, [False] * len(shape))
    passes = [
        start == 0 and before is not None and before == after
        for start, before, after in zip(starts, shape, result, strict=True)
    ]
    return same_rank_rule(operation, passes, [(start, 1) for start in starts])


@sharding_rule("tosa.tile")
def tile(operation: Operation) -> FactorRule | None:
    """Return the rule of a tiling: dimensions that are not repeated pass through."""
    shape, multiples = tensor_shape(operation.operands[0]), constant_numbers(operation.operands[1])
    if shape is None:
        return None
    return same_rank_rule(operation, [multiple == 1 for multiple in multiples or (0,) * len(shape)])


@sharding_rule("tosa.reverse")
def reverse(operation: Operation) -> FactorRule | None:
    """Return the rule of a reversal: one dimension is permuted, others pass through."""
    shape, axis = tensor_shape(operation.operands[0]), optional_integer(operation, "axis")
    if shape is None or axis is None:
        return None
    reads = [None if size is None else (size - 1, -1) for size in shape]
    return same_rank_rule(operation, [d != axis for d in range(len(shape))], reads)


@sharding_rule("tosa.argmax")
def argmax(operation: Operation) -> FactorRule | None:
    """Return the rule of an argmax: the searched dimension is needed whole, and dropped."""
    shape, axis = tensor_shape(operation.operands[0]), optional_integer(operation, "axis")
    if shape is None or axis is None:
        return None
    builder = RuleBuilder(operation)
    for dimension, size in enumerate(shape):
        if dimension == axis:
            builder.operand(0, dimension, builder.factor(size, _REPLICATED))
        else:
            builder.shared(dimension, size, result=dimension - (dimension > axis))
    return builder.build()


@sharding_rule("tosa.gather")
def gather(operation: Operation) -> FactorRule | None:
    """Return the rule `([n, whole, c], [n, w]) -> ([n, w, c])`."""
    values, result = tensor_shape(operation.operands[0]), tensor_shape(operation.results[0])
    if values is None or result is None:
        return None
    builder = RuleBuilder(operation)
    batch, row, channel = (builder.factor(size) for size in result)
    table = builder.factor(values[1], _REPLICATED)
    builder.operand_dimensions(0, [(batch,), (table,), (channel,)])
    builder.operand_dimensions(1, [(batch,), (row,)])
    builder.result_dimensions(0, [(batch,), (row,), (channel,)])
    return builder.build()


@sharding_rule("tosa.scatter")
def scatter(operation: Operation) -> FactorRule | None:
    """Return the rule `([n, whole, c], [n, whole], [n, whole, c]) -> ([n, whole, c])`."""
    values, rows = tensor_shape(operation.operands[0]), tensor_shape(operation.operands[1])
    if values is None or rows is None:
        return None
    builder = RuleBuilder(operation)
    batch, channel = builder.factor(values[0]), builder.factor(values[2])
    table, row = builder.factor(values[1], _REPLICATED), builder.factor(rows[1], _REPLICATED)
    builder.operand_dimensions(0, [(batch,), (table,), (channel,)])
    builder.operand_dimensions(1, [(batch,), (row,)])
    builder.operand_dimensions(2, [(batch,), (row,), (channel,)])
    builder.result_dimensions(0, [(batch,), (table,), (channel,)])
    return builder.build()

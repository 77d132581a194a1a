"""Rules of `tosa` operations: elementwise, reductions, products, and those that move elements."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr
from xdsl.ir import Operation

from ....ir.attribute_access import attribute
from ....ir.tensor_types import tensor_shape
from ....sharding.factors import FactorKind, FactorRule, Window
from .builder import RuleBuilder, elementwise_rule, integer, integers
from .combiners import combiner_of
from .registry import sharding_rule
from .reshapes import reshape_rule
from .tensor import concat_rule

ELEMENTWISE = """
    abs add arithmetic_right_shift bitwise_and bitwise_not bitwise_or bitwise_xor cast ceil clamp
    clz const cos equal erf exp floor greater greater_equal identity intdiv int_div log logical_and
    logical_left_shift logical_not logical_or logical_right_shift logical_xor maximum minimum pow
    reciprocal rsqrt select sigmoid sin sub tan tanh
""".split()
LEADING_OPERANDS = {"mul": 2, "negate": 1, "rescale": 1, "table": 1}
"""Elementwise operations whose further operands (shifts, zero points, tables) are needed whole."""
REDUCTIONS = "all any max min prod product sum".split()


@sharding_rule(*(f"tosa.{name}" for name in ELEMENTWISE))
def elementwise(operation: Operation) -> FactorRule | None:
    """Each dimension is one factor; operands of extent 1 there are broadcast."""
    return elementwise_rule(operation)


def _is_true(operation: Operation, name: str) -> bool:
    found = attribute(operation, name)
    return isinstance(found, IntegerAttr) and bool(found.value.data)


@sharding_rule(*(f"tosa.{name}" for name in LEADING_OPERANDS))
def elementwise_with_parameters(operation: Operation) -> FactorRule | None:
    """Elementwise in the leading operands only; what is given per channel follows the channels."""
    count = LEADING_OPERANDS[operation.name.removeprefix("tosa.")]
    shape = tensor_shape(operation.results[0])
    if shape is None:
        return None
    builder = RuleBuilder(operation)
    factors = [builder.factor(size) for size in shape]
    builder.result_dimensions(0, [(factor,) for factor in factors])
    for index, operand in enumerate(operation.operands[:count]):
        extents = tensor_shape(operand)
        if extents is None or len(extents) != len(shape):
            return None
        builder.operand_dimensions(
            index,
            [
                () if extent == 1 and full != 1 else (factor,)
                for factor, extent, full in zip(factors, extents, shape, strict=True)
            ],
        )
    if operation.name == "tosa.rescale" and _is_true(operation, "per_channel"):
        builder.operand(1, 0, factors[-1])
        builder.operand(2, 0, factors[-1])
    return builder.build()


@sharding_rule(*(f"tosa.reduce_{name}" for name in REDUCTIONS))
def reduce(operation: Operation) -> FactorRule | None:
    """The dimension `axis` is reduced to extent 1; every other one passes through."""
    shape, axis = tensor_shape(operation.operands[0]), integer(operation, "axis")
    combiner = combiner_of(operation, 0)
    if shape is None or axis is None or combiner is None or not 0 <= axis < len(shape):
        return None
    builder = RuleBuilder(operation)
    for dimension, size in enumerate(shape):
        if dimension == axis:
            builder.operand(0, dimension, builder.reduction(size, combiner.kind))
        else:
            factor = builder.factor(size)
            builder.operand(0, dimension, factor)
            builder.result(0, dimension, factor)
    return builder.build()


@sharding_rule("tosa.matmul")
def matmul(operation: Operation) -> FactorRule | None:
    """`([b, m, k], [b, k, n]) -> ([b, m, n])`; the zero points are needed whole."""
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


_WHOLE = FactorKind.NEED_REPLICATION


@sharding_rule("tosa.transpose")
def transpose(operation: Operation) -> FactorRule | None:
    """Dimension `d` of the result is dimension `perms[d]` of the operand."""
    shape, permutation = tensor_shape(operation.operands[0]), integers(operation, "perms")
    if shape is None or permutation is None:
        return None
    builder = RuleBuilder(operation)
    factors = [builder.factor(size) for size in shape]
    builder.operand_dimensions(0, [(factor,) for factor in factors])
    builder.result_dimensions(0, [(factors[dimension],) for dimension in permutation])
    return builder.build()


@sharding_rule("tosa.reshape")
def reshape(operation: Operation) -> FactorRule | None:
    """What the shapes before and after have in common."""
    return reshape_rule(operation)


@sharding_rule("tosa.concat")
def concat(operation: Operation) -> FactorRule | None:
    """All dimensions pass through; along the one that is joined, elements change places."""
    return concat_rule(operation, integer(operation, "axis"))


def constant_shape(operation: Operation, operand: int) -> tuple[int, ...] | None:
    """The numbers of a `!tosa.shape` operand that is a constant."""
    maker = operation.operands[operand].owner
    if not isinstance(maker, Operation):
        return None
    values = attribute(maker, "values")
    if not isinstance(values, DenseIntOrFPElementsAttr):
        return None
    return tuple(int(value) for value in values.get_values())


Read = tuple[int, int]
"""The element of the operand that the first of the result is, and the step to the next."""


def _same_where(
    operation: Operation, passes: Sequence[bool], reads: Sequence[Read | None] = ()
) -> FactorRule | None:
    """The rule of one tensor made from one of the same rank: some dimensions pass through.

    Of the others some are read at other places, from which element on and in what strides `reads`
    tells; the factor of these is the result's extent. The rest is needed whole.
    """
    before, after = tensor_shape(operation.operands[0]), tensor_shape(operation.results[0])
    if before is None or after is None or not len(before) == len(after) == len(passes):
        return None
    builder = RuleBuilder(operation)
    for dimension, passing in enumerate(passes):
        extent, made = before[dimension], after[dimension]
        read = reads[dimension] if reads else None
        if passing:
            factor = builder.factor(extent)
        elif read is not None and extent is not None and made is not None:
            factor = builder.factor(made, FactorKind.PERMUTATION)
            first, stride = read
            builder.window(Window(0, dimension, extent, stride, first))
        else:
            builder.operand(0, dimension, builder.factor(before[dimension], _WHOLE))
            builder.result(0, dimension, builder.factor(after[dimension], _WHOLE))
            continue
        builder.operand(0, dimension, factor)
        builder.result(0, dimension, factor)
    return builder.build()


@sharding_rule("tosa.pad")
def pad(operation: Operation) -> FactorRule | None:
    """Dimensions without padding pass through; others are shifted."""
    padding = constant_shape(operation, 1)
    rank = len(tensor_shape(operation.operands[0]) or ())
    if padding is None or len(padding) != 2 * rank:
        return _same_where(operation, [False] * rank)
    passes = [not any(padding[2 * d : 2 * d + 2]) for d in range(rank)]
    return _same_where(operation, passes, [(-low, 1) for low in padding[::2]])


@sharding_rule("tosa.slice")
def slice_(operation: Operation) -> FactorRule | None:
    """Dimensions that are taken whole pass through; others are shifted."""
    shape, starts = tensor_shape(operation.operands[0]), constant_shape(operation, 1)
    result = tensor_shape(operation.results[0])
    if shape is None or result is None:
        return None
    if starts is None or None in result:
        return _same_where(operation, [False] * len(shape))
    passes = [
        start == 0 and before is not None and before == after
        for start, before, after in zip(starts, shape, result, strict=True)
    ]
    return _same_where(operation, passes, [(start, 1) for start in starts])


@sharding_rule("tosa.tile")
def tile(operation: Operation) -> FactorRule | None:
    """Dimensions that are not repeated pass through."""
    shape, multiples = tensor_shape(operation.operands[0]), constant_shape(operation, 1)
    if shape is None:
        return None
    return _same_where(operation, [multiple == 1 for multiple in multiples or (0,) * len(shape)])


@sharding_rule("tosa.reverse")
def reverse(operation: Operation) -> FactorRule | None:
    """Dimensions that are not reversed pass through; along the other, elements change places."""
    shape, axis = tensor_shape(operation.operands[0]), integer(operation, "axis")
    if shape is None or axis is None:
        return None
    passes = [dimension != axis for dimension in range(len(shape))]
    return _same_where(
        operation, passes, [None if size is None else (size - 1, -1) for size in shape]
    )


@sharding_rule("tosa.argmax")
def argmax(operation: Operation) -> FactorRule | None:
    """The searched dimension is needed whole, and is not in the result."""
    shape, axis = tensor_shape(operation.operands[0]), integer(operation, "axis")
    if shape is None or axis is None:
        return None
    builder = RuleBuilder(operation)
    for dimension, size in enumerate(shape):
        if dimension == axis:
            builder.operand(0, dimension, builder.factor(size, _WHOLE))
        else:
            factor = builder.factor(size)
            builder.operand(0, dimension, factor)
            builder.result(0, dimension - (dimension > axis), factor)
    return builder.build()


@sharding_rule("tosa.gather")
def gather(operation: Operation) -> FactorRule | None:
    """`([n, whole, c], [n, w]) -> ([n, w, c])`."""
    values, result = tensor_shape(operation.operands[0]), tensor_shape(operation.results[0])
    if values is None or result is None:
        return None
    builder = RuleBuilder(operation)
    batch, row, channel = (builder.factor(size) for size in result)
    table = builder.factor(values[1], _WHOLE)
    builder.operand_dimensions(0, [(batch,), (table,), (channel,)])
    builder.operand_dimensions(1, [(batch,), (row,)])
    builder.result_dimensions(0, [(batch,), (row,), (channel,)])
    return builder.build()


@sharding_rule("tosa.scatter")
def scatter(operation: Operation) -> FactorRule | None:
    """`([n, whole, c], [n, whole], [n, whole, c]) -> ([n, whole, c])`."""
    values, rows = tensor_shape(operation.operands[0]), tensor_shape(operation.operands[1])
    if values is None or rows is None:
        return None
    builder = RuleBuilder(operation)
    batch, channel = builder.factor(values[0]), builder.factor(values[2])
    table, row = builder.factor(values[1], _WHOLE), builder.factor(rows[1], _WHOLE)
    builder.operand_dimensions(0, [(batch,), (table,), (channel,)])
    builder.operand_dimensions(1, [(batch,), (row,)])
    builder.operand_dimensions(2, [(batch,), (row,), (channel,)])
    builder.result_dimensions(0, [(batch,), (table,), (channel,)])
    return builder.build()

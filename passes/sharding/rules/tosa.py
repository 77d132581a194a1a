"""Rules of elementwise `tosa` operations, of reductions and of matrix products."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from ....ir.attribute_access import attribute
from ....ir.tensor_types import tensor_shape
from ....sharding.factors import FactorRule
from .builder import RuleBuilder, elementwise_rule, integer
from .combiners import combiner_of
from .registry import rule

ELEMENTWISE = """
    abs add arithmetic_right_shift bitwise_and bitwise_not bitwise_or bitwise_xor cast ceil clamp
    clz const cos equal erf exp floor greater greater_equal identity intdiv int_div log logical_and
    logical_left_shift logical_not logical_or logical_right_shift logical_xor maximum minimum pow
    reciprocal rsqrt select sigmoid sin sub tan tanh
""".split()
LEADING_OPERANDS = {"mul": 2, "negate": 1, "rescale": 1, "table": 1}
"""Elementwise operations whose further operands (shifts, zero points, tables) are needed whole."""
REDUCTIONS = "all any max min prod product sum".split()


@rule(*(f"tosa.{name}" for name in ELEMENTWISE))
def elementwise(operation: Operation) -> FactorRule | None:
    """Each dimension is one factor; operands of extent 1 there are broadcast."""
    return elementwise_rule(operation)


def _is_true(operation: Operation, name: str) -> bool:
    found = attribute(operation, name)
    return isinstance(found, IntegerAttr) and bool(found.value.data)


@rule(*(f"tosa.{name}" for name in LEADING_OPERANDS))
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


@rule(*(f"tosa.reduce_{name}" for name in REDUCTIONS))
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


@rule("tosa.matmul")
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

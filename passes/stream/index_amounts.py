"""Arithmetic on amounts that may be known: numbers stay numbers, values become operations."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects.arith import AddiOp, CeilDivUIOp, ConstantOp, DivUIOp, MuliOp
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import OpResult, SSAValue

from ...dialects.size_arithmetic import NO_SIGNED_WRAP, constant_index

Amount = int | SSAValue
"""A number that is known now, or a value of type index."""


def known(value: SSAValue) -> Amount:
    """The number that a value is, if it is an arith constant; else the value."""
    if isinstance(value, OpResult) and isinstance(value.op, ConstantOp):
        attribute = value.op.value
        if isinstance(attribute, IntegerAttr):
            return attribute.value.data
    return value


def as_value(amount: Amount, builder: Builder) -> SSAValue:
    """The amount as a value."""
    return constant_index(amount, builder) if isinstance(amount, int) else amount


def add(left: Amount, right: Amount, builder: Builder) -> Amount:
    """The sum; operations only where it is not known."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if left == 0:
        return right
    if right == 0:
        return left
    return builder.insert(AddiOp(as_value(left, builder), as_value(right, builder))).result


def multiply(left: Amount, right: Amount, builder: Builder) -> Amount:
    """The product, which does not wrap; operations only where it is not known."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if left == 0 or right == 0:
        return 0
    if left == 1:
        return right
    if right == 1:
        return left
    operation = MuliOp(as_value(left, builder), as_value(right, builder))
    operation.overflow_flags = NO_SIGNED_WRAP
    return builder.insert(operation).result


def bytes_of(elements: Amount, bits: int, builder: Builder, *, round_up: bool) -> Amount:
    """The bytes of some elements; elements of less than a byte are packed."""
    if bits >= 8:
        return multiply(elements, bits // 8, builder)
    total = multiply(elements, bits, builder)
    if isinstance(total, int):
        return -(-total // 8) if round_up else total // 8
    divide = CeilDivUIOp if round_up else DivUIOp
    return builder.insert(divide(total, constant_index(8, builder))).result


def is_contiguous(lengths: Sequence[Amount], sizes: Sequence[Amount]) -> bool:
    """Whether a part of these lengths is one run of a row-major tensor, as far as is known.

    It is if every dimension after the first with a length other than one is taken whole.
    """
    several = False
    for length, size in zip(lengths, sizes, strict=True):
        if several and length != size:
            return False
        several = several or length != 1
    return True


def row_major_position(
    indices: Sequence[Amount], sizes: Sequence[Amount], builder: Builder
) -> Amount:
    """How many elements come before the one at `indices` of a tensor of `sizes`."""
    position: Amount = 0
    for index, size in zip(indices, sizes, strict=True):
        position = add(multiply(position, size, builder), index, builder)
    return position

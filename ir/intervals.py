"""Interval arithmetic: the integers that an affine expression may evaluate to.

Intervals are of mathematical integers, so that nothing overflows. They contain all possible values,
and may contain more if an operand occurs twice: `i - i` over `0 <= i < 4` gives -3 to 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)


@dataclass(frozen=True, slots=True)
class Interval:
    """All integers from `low` to `high`, both included."""

    low: int
    high: int

    def __contains__(self, number: int) -> bool:
        return self.low <= number <= self.high

    def is_within(self, size: int) -> bool:
        """Return whether every number is a valid index of a dimension of this size."""
        return self.low >= 0 and self.high < size

    def fits(self, width: int) -> bool:
        """Return whether every number is a signed integer of `width` bits."""
        top = 1 << (width - 1)
        return -top <= self.low and self.high < top

    def union(self, other: Interval) -> Interval:
        """Return the smallest interval that contains both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))


def add(left: Interval, right: Interval) -> Interval:
    """Return the interval of all sums."""
    return Interval(left.low + right.low, left.high + right.high)


def subtract(left: Interval, right: Interval) -> Interval:
    """Return the interval of all differences."""
    return Interval(left.low - right.high, left.high - right.low)


def multiply(left: Interval, right: Interval) -> Interval:
    """Return the interval of all products; its bounds are products of the operands' bounds."""
    products = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
    return Interval(min(products), max(products))


def floor_divide(left: Interval, right: Interval) -> Interval | None:
    """Return the interval of quotients rounded down; `None` unless all divisors are positive."""
    if right.low <= 0:
        return None
    quotients = [a // b for a in (left.low, left.high) for b in (right.low, right.high)]
    return Interval(min(quotients), max(quotients))


def ceiling_divide(left: Interval, right: Interval) -> Interval | None:
    """Return the interval of all quotients rounded up; `None` unless all divisors are positive."""
    negated = floor_divide(Interval(-left.high, -left.low), right)
    return None if negated is None else Interval(-negated.high, -negated.low)


def modulo(left: Interval, right: Interval) -> Interval | None:
    """Return an interval of the remainders of division that rounds down.

    Returns `None` unless all divisors are positive.
    """
    if right.low <= 0:
        return None
    if right.low == right.high and left.low // right.low == left.high // right.low:
        return Interval(left.low % right.low, left.high % right.low)
    if left.low >= 0 and left.high < right.low:
        return left
    return Interval(0, min(right.high - 1, left.high) if left.low >= 0 else right.high - 1)


_OPERATIONS = {
    AffineBinaryOpKind.Add: add,
    AffineBinaryOpKind.Mul: multiply,
    AffineBinaryOpKind.FloorDiv: floor_divide,
    AffineBinaryOpKind.CeilDiv: ceiling_divide,
    AffineBinaryOpKind.Mod: modulo,
}


def affine_interval(
    expression: AffineExpr, dimensions: Sequence[Interval], symbols: Sequence[Interval] = ()
) -> Interval | None:
    """Return an interval of the values of an expression, as 64-bit integers.

    Returns `None` if a part of the expression may wrap, or a divisor may not be positive.
    """
    if isinstance(expression, AffineConstantExpr):
        return Interval(expression.value, expression.value)
    if isinstance(expression, AffineDimExpr):
        return dimensions[expression.position]
    if isinstance(expression, AffineSymExpr):
        return symbols[expression.position]
    if not isinstance(expression, AffineBinaryOpExpr):
        return None
    left = affine_interval(expression.lhs, dimensions, symbols)
    right = affine_interval(expression.rhs, dimensions, symbols)
    if left is None or right is None:
        return None
    found = _OPERATIONS[expression.kind](left, right)
    return found if found is not None and found.fits(64) else None

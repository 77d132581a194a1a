"""Bound the integers that operations on scalars compute, by intervals.

    %0 = arith.maxsi %i, %c0 : index      0 or more
    %1 = arith.minsi %0, %c7 : index      0 .. 7, whatever %i is

Integers are read as signed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from . import intervals
from .intervals import Interval
from .tensor_types import integer_width

Rule = Callable[[Sequence[Interval]], Interval | None]


def within_type(found: Interval | None, kind: Attribute) -> Interval:
    """Return a range if it fits a type, else all integers of the type: the result may wrap.

    For i1, true may be read as 1 or as -1.
    """
    width = integer_width(kind)
    if found is not None and found.fits(width):
        return found
    top = 1 << (width - 1)
    return Interval(-top, max(top - 1, 1))


def result_range(
    operation: Operation, operand_range: Callable[[SSAValue], Interval]
) -> Interval | None:
    """Return the range of an operation's result before it wraps; `None` if nothing is known."""
    rule = _RULES.get(operation.name)
    return None if rule is None else rule([operand_range(each) for each in operation.operands])


def _pair(function: Callable[[Interval, Interval], Interval | None]) -> Rule:
    return lambda operands: function(operands[0], operands[1])


def _natural(function: Callable[[Interval, Interval], Interval | None]) -> Rule:
    """Restrict a rule to non-negative operands, for which signedness and rounding do not matter."""

    def rule(operands: Sequence[Interval]) -> Interval | None:
        left, right = operands
        return function(left, right) if left.low >= 0 and right.low >= 0 else None

    return rule


def _remainder(operands: Sequence[Interval]) -> Interval | None:
    """Bound the remainder of a division that rounds to zero; it has the dividend's sign."""
    left, right = operands
    if left.low >= 0:
        return intervals.modulo(left, right)
    return Interval(1 - right.high, right.high - 1) if right.low > 0 else None


def _unsigned_remainder(operands: Sequence[Interval]) -> Interval | None:
    left, right = operands
    if left.low >= 0:
        return intervals.modulo(left, right)
    return Interval(0, right.high - 1) if right.low > 0 else None


def _least(operands: Sequence[Interval]) -> Interval:
    left, right = operands
    return Interval(min(left.low, right.low), min(left.high, right.high))


def _greatest(operands: Sequence[Interval]) -> Interval:
    left, right = operands
    return Interval(max(left.low, right.low), max(left.high, right.high))


def _least_unsigned(operands: Sequence[Interval]) -> Interval | None:
    """Bound by each non-negative operand; a negative operand is large if it is unsigned."""
    natural = [each.high for each in operands if each.low >= 0]
    return Interval(0, min(natural)) if natural else None


def _same(operands: Sequence[Interval]) -> Interval:
    return operands[0]


def _same_natural(operands: Sequence[Interval]) -> Interval | None:
    return operands[0] if operands[0].low >= 0 else None


def _either(operands: Sequence[Interval]) -> Interval:
    return operands[1].union(operands[2])


_RULES: dict[str, Rule] = {
    "arith.addi": _pair(intervals.add),
    "arith.andi": _least_unsigned,
    "arith.ceildivsi": _pair(intervals.ceiling_divide),
    "arith.ceildivui": _natural(intervals.ceiling_divide),
    "arith.divsi": _natural(intervals.floor_divide),
    "arith.divui": _natural(intervals.floor_divide),
    "arith.extsi": _same,
    "arith.extui": _same_natural,
    "arith.floordivsi": _pair(intervals.floor_divide),
    "arith.index_cast": _same,
    "arith.index_castui": _same_natural,
    "arith.maxsi": _greatest,
    "arith.maxui": _natural(lambda left, right: _greatest((left, right))),
    "arith.minsi": _least,
    "arith.minui": _least_unsigned,
    "arith.muli": _pair(intervals.multiply),
    "arith.remsi": _remainder,
    "arith.remui": _unsigned_remainder,
    "arith.select": _either,
    "arith.subi": _pair(intervals.subtract),
    "arith.trunci": _same,
}
"""The range of an operation's result from those of its operands, before it wraps."""

"""Bound the integers that operations on scalars compute, by intervals.

    %0 = arith.maxsi %i, %c0 : index      0 or more
    %1 = arith.minsi %0, %c7 : index      0 .. 7, whatever %i is

Integers are read as signed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from . import intervals
from .attribute_access import attribute, number_list
from .intervals import Interval
from .locations import made_by
from .tensor_types import integer_width

Rule = Callable[[Sequence[Interval]], Interval | None]

MAX_DEPTH = 16
"""Maximum depth of the chain of operations that is analysed."""
MAX_ELEMENTS = 16
"""Maximum number of elements of a constant that is analysed."""


def range_of(value: SSAValue, known: dict[SSAValue, Interval], depth: int = 0) -> Interval:
    """Return the range of an integer that constants, clamps and casts imply; caches in `known`."""
    if value not in known:
        found = None
        if isinstance(value, OpResult) and depth < MAX_DEPTH:
            found = _found(value.op, known, depth)
        known[value] = within_type(found, value.type)
    return known[value]


def _found(operation: Operation, known: dict[SSAValue, Interval], depth: int) -> Interval | None:
    """Return the range of an operation's result, ignoring overflow; `None` if unknown."""
    if operation.name == "arith.constant":
        return _ends(attribute(operation, "value"))
    if operation.name == "tensor.extract":
        source = made_by(operation.operands[0], "arith.constant")
        return None if source is None else _found(source, known, depth)
    return result_range(operation, lambda operand: range_of(operand, known, depth + 1))


def _ends(constant: Attribute | None) -> Interval | None:
    """Return the smallest and the largest element of a small integer constant."""
    if isinstance(constant, IntegerAttr):
        return Interval(constant.value.data, constant.value.data)
    if not isinstance(constant, DenseIntOrFPElementsAttr):
        return None
    dense = cast("DenseIntOrFPElementsAttr[Any]", constant)
    numbers = number_list(dense) if len(dense) <= MAX_ELEMENTS else ()
    return Interval(min(numbers), max(numbers)) if numbers else None


def is_slice_inside(offset: Interval, size: int, stride: int, extent: int) -> bool:
    """Return whether a slice is within a dimension at all of its offsets.

    Negative numbers stand for unknown ones.
    """
    reach = (size - 1) * stride + 1 if size else 0
    return size >= 0 and stride > 0 and extent >= 0 and offset.is_within(extent - reach + 1)


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

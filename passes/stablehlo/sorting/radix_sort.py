"""Sort long dimensions by the digits of integer keys, in sequential loops that kernels run.

From the last digit to the first, a loop moves each item behind those of the same or a lower digit
(LSD radix sort). This takes a few instructions for each item and digit, where merging takes a
bisection for each item and doubling of the runs. Unlike there, iterations depend on each other, so
neither the dimension nor the rows along it are split over devices.

An item is a key packed with its position, or the keys and the position if 64 bits do not hold them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import i64
from xdsl.dialects.tensor import InsertOp
from xdsl.ir import SSAValue

from ..data_movement.shapes import iota
from ..lowering.element_types import kind
from ..lowering.emitter import Emitter, shape
from .sort_keys import LOW_BITS, Keys, places_of

MAX_DIGIT_BITS = 11
"""The most bits of a digit: its counters fit the first-level cache."""

STEPS_OF_ITEM, STEPS_OF_COUNTER = 3, 2
"""What an item and a counter cost for each digit, relative to each other."""


def places_by_digits(e: Emitter, keys: Sequence[Keys], dimension: int) -> SSAValue:
    """Return the positions of elements in the order of their keys, along a static dimension.

    Of several keys, the first that differs decides: elements are sorted by the last key first. Rows
    along the dimension are sorted one after the other.
    """
    values = keys[0].values
    sizes, count = e.sizes(values), shape(values)[dimension]
    outer, inner = prod(shape(values)[:dimension]), prod(shape(values)[dimension + 1 :])
    is_packed = len(keys) == 1 and keys[0].can_be_packed(dimension)
    wide = [each.packed(e, dimension) if is_packed else each.widened(e, dimension) for each in keys]
    cut = [e.reshape(each, [outer, count, inner]) for each in wide]

    def sorted_row(e: Emitter, number: SSAValue, places: SSAValue) -> SSAValue:
        inner_rows = e.index(inner)
        at = [e.op("arith.divui", number, inner_rows), 0, e.op("arith.remui", number, inner_rows)]
        slices = [e.extract_slice(each, at, [1, count, 1]) for each in cut]
        items = [e.reshape(each, [count]) for each in slices]
        if not is_packed:
            items.append(iota(e, [count], 0, kind(i64)))
        for part in reversed(range(len(keys))):
            digits = _digits(keys[part], count, is_packed)
            for digit, counts in zip(digits, _counts(e, items[part], digits), strict=True):
                items = _moved(e, items, part, digit, _starts(e, counts))
        found = places_of(e, items[0], 0) if is_packed else items[-1]
        return e.insert_slice(e.reshape(found, [1, count, 1]), places, at)

    empty = e.empty([outer, count, inner], i64)
    (places,) = e.sequential_loop(
        outer * inner, [empty], lambda each, args: [sorted_row(each, *args)]
    )
    return e.reshape(places, sizes)


class _Digit:
    """Some bits of a number; in the first digit of a signed number the sign comes in reverse."""

    def __init__(self, low: int, bits: int, has_sign: bool) -> None:
        self.low, self.bits, self.has_sign = low, bits, has_sign

    def of(self, e: Emitter, number: SSAValue) -> SSAValue:
        """Return the digit of a number as an index."""
        moved = e.op("arith.shrui", number, e.constant(self.low, i64))
        if self.has_sign:
            moved = e.op("arith.xori", moved, e.constant(1 << self.bits - 1, i64))
        return e.to_index(e.op("arith.andi", moved, e.constant((1 << self.bits) - 1, i64)))


def _digits(keys: Keys, count: int, is_packed: bool) -> list[_Digit]:
    """Return the digits of a key, the last first.

    Their number is the best for `count` items: wide digits are few, but have many counters.
    """

    def steps(digits: int) -> int:
        return digits * (STEPS_OF_ITEM * count + (STEPS_OF_COUNTER << -(-keys.width // digits)))

    least = -(-keys.width // MAX_DIGIT_BITS)
    number = min(range(least, keys.width + 1), key=steps)
    bits = -(-keys.width // number)
    # `Keys.packed` subtracts half of the range of unsigned keys of full width.
    has_sign = keys.has_sign or (is_packed and keys.width == LOW_BITS)
    found: list[_Digit] = []
    for first in range(0, keys.width, bits):
        width = min(bits, keys.width - first)
        is_last = first + width == keys.width
        found.append(_Digit(first + is_packed * LOW_BITS, width, has_sign and is_last))
    return found


def _insert(e: Emitter, value: SSAValue, tensor: SSAValue, index: SSAValue) -> SSAValue:
    return e.add_op(InsertOp(value, tensor, [index])).results[0]


def _counts(e: Emitter, numbers: SSAValue, digits: Sequence[_Digit]) -> list[SSAValue]:
    """Return how often each value of each digit occurs."""

    def body(inner: Emitter, args: Sequence[SSAValue]) -> list[SSAValue]:
        index, *carried = args
        number = inner.element(numbers, [index])
        made: list[SSAValue] = []
        for digit, counts in zip(digits, carried, strict=True):
            place = digit.of(inner, number)
            one = inner.constant(1, i64)
            more = inner.op("arith.addi", inner.element(counts, [place]), one)
            made.append(_insert(inner, more, counts, place))
        return made

    zeros = [e.fill(e.constant(0, i64), [1 << digit.bits]) for digit in digits]
    return e.sequential_loop(shape(numbers)[0], zeros, body)


def _starts(e: Emitter, counts: SSAValue) -> SSAValue:
    """Return how many numbers have a lower digit than each value."""

    def body(inner: Emitter, args: Sequence[SSAValue]) -> list[SSAValue]:
        index, starts, total = args
        following = inner.op("arith.addi", total, inner.element(counts, [index]))
        return [_insert(inner, total, starts, index), following]

    size = shape(counts)[0]
    return e.sequential_loop(size, [e.empty([size], i64), e.constant(0, i64)], body)[0]


def _moved(
    e: Emitter, items: Sequence[SSAValue], part: int, digit: _Digit, starts: SSAValue
) -> list[SSAValue]:
    """Return items stably sorted by a digit of one of their parts."""
    count = shape(items[0])[0]

    def body(inner: Emitter, args: Sequence[SSAValue]) -> list[SSAValue]:
        index, *moved, nexts = args
        parts = [inner.element(each, [index]) for each in items]
        value = digit.of(inner, parts[part])
        place = inner.element(nexts, [value])
        following = inner.op("arith.addi", place, inner.constant(1, i64))
        # The place is in bounds; the minimum proves it.
        inside = inner.to_index(inner.op("arith.minui", place, inner.constant(count - 1, i64)))
        return [
            *(_insert(inner, *each, inside) for each in zip(parts, moved, strict=True)),
            _insert(inner, following, nexts, value),
        ]

    empty = [e.empty([count], i64) for _ in items]
    return e.sequential_loop(count, [*empty, starts], body)[:-1]

"""Sort long vectors of numbers by their digits, in sequential loops that kernels run.

From the last digit to the first, a loop moves each number behind those of the same or a lower digit
(LSD radix sort). This takes a few instructions for each number and digit, where merging takes a
bisection for each number and doubling of the runs. Unlike there, iterations depend on each other.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.dialects.tensor import InsertOp
from xdsl.ir import SSAValue

from ..lowering.emitter import Emitter, shape
from .sort_keys import LOW_BITS, Keys

DIGIT_BITS = 11
"""The most bits of a digit: its counters fit the first-level cache."""


def sorted_by_digits(e: Emitter, keys: Keys, packed: SSAValue) -> SSAValue:
    """Return packed numbers (`Keys.packed`) sorted; all dimensions but one have size 1.

    The numbers are given in the order of their positions, so only the keys' digits are looked at.
    """
    sizes = e.sizes(packed)
    count = max(shape(packed))
    numbers = e.reshape(packed, [count])
    digits = _digits(keys)
    counters = _counts(e, numbers, digits)
    for digit, counts in zip(digits, counters, strict=True):
        numbers = _moved(e, numbers, digit, _starts(e, counts))
    return e.reshape(numbers, sizes)


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


def _digits(keys: Keys) -> list[_Digit]:
    """Return the digits of a key, the last first."""
    count = -(-keys.width // DIGIT_BITS)
    bits = -(-keys.width // count)
    # Of unsigned keys of full width half of the range is subtracted (`Keys.packed`).
    is_signed = not keys.is_unsigned or keys.width == LOW_BITS
    found: list[_Digit] = []
    for low in range(0, keys.width, bits):
        width = min(bits, keys.width - low)
        found.append(_Digit(LOW_BITS + low, width, is_signed and low + width == keys.width))
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


def _moved(e: Emitter, numbers: SSAValue, digit: _Digit, starts: SSAValue) -> SSAValue:
    """Return the numbers stably sorted by a digit."""
    count = shape(numbers)[0]

    def body(inner: Emitter, args: Sequence[SSAValue]) -> list[SSAValue]:
        index, moved, nexts = args
        number = inner.element(numbers, [index])
        value = digit.of(inner, number)
        place = inner.element(nexts, [value])
        following = inner.op("arith.addi", place, inner.constant(1, i64))
        # The place is in bounds; the minimum proves it.
        inside = inner.to_index(inner.op("arith.minui", place, inner.constant(count - 1, i64)))
        return [
            _insert(inner, number, moved, inside),
            _insert(inner, following, nexts, value),
        ]

    return e.sequential_loop(count, [e.empty([count], i64), starts], body)[0]

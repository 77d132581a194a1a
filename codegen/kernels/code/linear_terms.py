"""Terms that are linear in the index of one loop, and where comparisons of them change.

The indices `i` from 0 to 9 of a padded row read `source[i - 2]` where `0 <= i - 2 < 5`. The first
condition changes at 2, the second at 7, so that loops over `0..2`, `2..7` and `7..10` need neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....ir.intervals import Interval

_SHIFTS: dict[str, Sequence[int]] = {
    "slt": (0,),
    "sge": (0,),
    "sle": (1,),
    "sgt": (1,),
    "eq": (0, 1),
    "ne": (0, 1),
}
"""The numbers `n` such that a comparison with 0 depends only on whether a term is less than `n`."""


@dataclass(frozen=True, slots=True)
class Linear:
    """The number `factor * index + offset`, for an index that takes all values of an interval."""

    index: str
    values: Interval
    factor: int = 1
    offset: int = 0

    def plus(self, number: int) -> Linear:
        """Return the sum with a number."""
        return replace(self, offset=self.offset + number)

    def times(self, number: int) -> Linear:
        """Return the product with a number."""
        return replace(self, factor=self.factor * number, offset=self.offset * number)

    def minus(self, other: Linear) -> Linear | None:
        """Return the difference of terms in the same index; `None` for others."""
        if other.index != self.index:
            return None
        return replace(self.plus(-other.offset), factor=self.factor - other.factor)

    @property
    def first(self) -> int:
        """The number at the least index."""
        return self.factor * self.values.low + self.offset

    def changes(self, predicate: str) -> set[int]:
        """Return the indices at which the comparison with 0 differs from that at the index before.

        >>> sorted(Linear("i", Interval(0, 9), -2, 6).changes("eq"))
        [3, 4]
        """
        crossings = [self.plus(-shift)._crossing() for shift in _SHIFTS[predicate]]
        return {each for each in crossings if each is not None}

    def quotients(self, divisor: int) -> range:
        """Return the range of quotients, rounded down."""
        ends = [(self.factor * each + self.offset) // divisor for each in self._ends()]
        return range(min(ends), max(ends) + 1)

    def periods(self, divisor: int) -> set[int]:
        """Return the indices at which the quotient differs from that at the index before."""
        crossings = [self.plus(-divisor * each)._crossing() for each in self.quotients(divisor)[1:]]
        return {each for each in crossings if each is not None}

    def _ends(self) -> tuple[int, int]:
        return self.values.low, self.values.high

    def _crossing(self) -> int | None:
        """Return the first index, after the least, where the sign is another: negative or not."""
        if self.factor == 0:
            return None
        if self.factor > 0:
            found = -(self.offset // self.factor)
        else:
            found = self.offset // -self.factor + 1
        return found if self.values.low < found <= self.values.high else None

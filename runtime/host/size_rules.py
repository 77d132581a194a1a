"""Sufficient conditions for sizes, as data: host code and saved programs use them for checks.

The conditions accept less than the check itself; sizes that they reject are passed to the check.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod


@dataclass(frozen=True, slots=True)
class Word:
    """One of a check's numbers, by its position."""

    position: int


Size = int | Word


@dataclass(slots=True)
class KnownSizes:
    """What is known of a check as data: rules, if any, and the sizes that passed it last.

    A saved program needs no compiler for these sizes.
    """

    rules: SizeRules | None
    seen: tuple[int, ...] | None = None

    @property
    def words(self) -> int:
        """The number of numbers that the rules refer to, 0 without rules."""
        return 0 if self.rules is None else self.rules.words

    def accept(self, numbers: Sequence[int]) -> bool:
        """Whether the numbers of a check are known to be right."""
        if self.rules is not None and self.rules.accept(numbers):
            return True
        return tuple(numbers) == self.seen


@dataclass(frozen=True, slots=True)
class SizeRules:
    """Conditions on sizes.

    - `equal`: pairs that must be equal;
    - `natural`: sizes that must not be negative; the product of the nonzero ones is at most `most`;
    - `total`: must equal the product of all natural sizes times `unit`; `None`: no condition;
    - `rising`: numbers that must not be negative nor decrease.
    """

    equal: tuple[tuple[Size, Size], ...] = ()
    natural: tuple[Size, ...] = ()
    most: int = 1 << 62
    total: Size | None = None
    unit: int = 1
    rising: tuple[Size, ...] = ()

    @property
    def words(self) -> int:
        """The number of numbers that the rules refer to: one more than the last position."""
        total = () if self.total is None else (self.total,)
        sizes = (*chain.from_iterable(self.equal), *self.natural, *total, *self.rising)
        return max((each.position + 1 for each in sizes if isinstance(each, Word)), default=0)

    def accept(self, numbers: Sequence[int]) -> bool:
        """Whether the numbers of a check satisfy the conditions."""

        def value(size: Size) -> int:
            return numbers[size.position] if isinstance(size, Word) else size

        sizes = [value(each) for each in self.natural]
        rising = [0, *map(value, self.rising)]
        return (
            rising == sorted(rising)
            and all(value(left) == value(right) for left, right in self.equal)
            and all(size >= 0 for size in sizes)
            and prod(size for size in sizes if size) <= self.most
            and (self.total is None or prod(sizes) * self.unit == value(self.total))
        )

"""When sizes surely fit together, as data: host code and saved programs know their checks by it.

They accept less than the check itself. Where they do not, the check is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod


@dataclass(frozen=True, slots=True)
class Word:
    """One of the numbers that a check is given, by its position."""

    position: int


Size = int | Word


@dataclass(slots=True)
class KnownSizes:
    """What is known of a check as data: rules, if there are any, and the sizes that passed it last.

    A saved program asks nobody about these.
    """

    rules: SizeRules | None
    seen: tuple[int, ...] | None = None

    @property
    def words(self) -> int:
        """How many numbers the rules are about, as far as they say."""
        return 0 if self.rules is None else self.rules.words

    def accept(self, numbers: Sequence[int]) -> bool:
        """Whether the numbers of the check are surely right."""
        if self.rules is not None and self.rules.accept(numbers):
            return True
        return tuple(numbers) == self.seen


@dataclass(frozen=True, slots=True)
class SizeRules:
    """What must hold of sizes.

    - `equal`: pairs of equal ones;
    - `natural`: sizes that are not negative; their product, zeros apart, is at most `most`;
    - `total`: the product of all that are natural, zeros counted in, times `unit`; `None`: any;
    - `rising`: numbers none of which is less than the one before, and none negative.
    """

    equal: tuple[tuple[Size, Size], ...] = ()
    natural: tuple[Size, ...] = ()
    most: int = 1 << 62
    total: Size | None = None
    unit: int = 1
    rising: tuple[Size, ...] = ()

    @property
    def words(self) -> int:
        """How many numbers these are about: one more than the last position."""
        total = () if self.total is None else (self.total,)
        sizes = (*chain.from_iterable(self.equal), *self.natural, *total, *self.rising)
        return max((each.position + 1 for each in sizes if isinstance(each, Word)), default=0)

    def accept(self, numbers: Sequence[int]) -> bool:
        """Whether the numbers of a check are surely right."""

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

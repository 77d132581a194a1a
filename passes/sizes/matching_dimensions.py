"""Match the dimensions of two shapes that hold the same elements in row-major order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

Group = tuple[tuple[int, ...], tuple[int, ...]]
"""Dimensions of the old shape, and the dimensions of the new one that hold the same elements."""


@dataclass(frozen=True, slots=True)
class _Product:
    """A number times dynamic sizes, each represented by a key."""

    number: int = 1
    keys: Counter[Hashable] = field(default_factory=Counter[Hashable])

    def times(self, size: int | Hashable) -> _Product:
        if isinstance(size, int):
            return _Product(self.number * size, self.keys)
        return _Product(self.number, self.keys + Counter([size]))

    def divides(self, other: _Product) -> bool:
        """Return whether another product is a multiple of this one."""
        return other.number % self.number == 0 and self.keys <= other.keys


def matching_dimensions(
    old: Sequence[int | Hashable], new: Sequence[int | Hashable]
) -> list[Group] | None:
    """Return the shortest runs of dimensions with equal products; `None` if there are none.

    Dynamic sizes are keys: equal keys mean equal sizes. Trailing dimensions of size 1 are added to
    the last run; if one shape has rank 0 there are no runs. Sizes of 0 give `None`.

        [2, 3, 4], [6, 2, 2]         ->  [((0, 1), (0,)), ((2,), (1, 2))]
        [4, "n", 6], [4, "n", 2, 3]  ->  [((0,), (0,)), ((1,), (1,)), ((2,), (2, 3))]
    """
    if 0 in old or 0 in new:
        return None
    groups: list[Group] = []
    place, other = 0, 0
    while place < len(old) and other < len(new):
        left, right = _Product().times(old[place]), _Product().times(new[other])
        first, second = place, other
        place, other = place + 1, other + 1
        while left != right:
            if place < len(old) and (left.divides(right) or other == len(new)):
                left, place = left.times(old[place]), place + 1
            elif other < len(new):
                right, other = right.times(new[other]), other + 1
            else:
                return None
        groups.append((tuple(range(first, place)), tuple(range(second, other))))
    rest, rest_of_new = range(place, len(old)), range(other, len(new))
    if any(old[each] != 1 for each in rest) or any(new[each] != 1 for each in rest_of_new):
        return None
    if groups and (rest or rest_of_new):
        last, last_of_new = groups.pop()
        groups.append(((*last, *rest), (*last_of_new, *rest_of_new)))
    return groups

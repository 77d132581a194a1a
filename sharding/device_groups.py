"""Convert between groups of devices, listed by number, and axes of a grid.

    [[0, 1, 2, 3], [4, 5, 6, 7]]    axis 1 of a grid of 2x4
    [[0, 4], [1, 5], [2, 6], [3, 7]]    axis 0 of it

Devices are numbered row-major, so the members of a group differ in some mixed-radix digits of their
numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations, product
from math import prod

Groups = Sequence[Sequence[int]]
GridShape = tuple[int, ...]
Digits = tuple[tuple[int, int], ...]
"""Mixed-radix digits of a device number, as (stride, size) pairs."""


def groups_along(shape: GridShape, axes: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the groups along axes of a grid; members are row-major over the axes as listed."""
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    rest = [axis for axis in range(len(shape)) if axis not in axes]

    def numbers(chosen: Sequence[int]) -> list[int]:
        return [
            sum(position * strides[axis] for axis, position in zip(chosen, point, strict=True))
            for point in product(*(range(shape[axis]) for axis in chosen))
        ]

    return [tuple(first + inside for inside in numbers(axes)) for first in numbers(rest)]


def axes_of_groups(
    groups: Groups, known: Iterable[GridShape] = ()
) -> tuple[GridShape, tuple[int, ...]] | None:
    """Return a grid shape and axes along which the groups are the given ones, in any order.

    Shapes in `known` are preferred. Returns `None` if no grid has these groups, or if they do not
    contain each number from 0 on exactly once.
    """
    count = sum(map(len, groups))
    wanted = sorted(map(tuple, groups))
    if sorted(number for group in groups for number in group) != list(range(count)):
        return None
    digits = digits_of(sorted(next(group for group in groups if 0 in group)))
    own = None if digits is None else _shape_with(digits, count)
    for shape in (*known, *([] if own is None else [own])):
        if prod(shape) != count:
            continue
        for axes in _choices(shape, len(wanted[0])):
            if sorted(groups_along(shape, axes)) == wanted:
                return shape, axes
    return None


def _choices(shape: GridShape, members: int) -> Iterable[tuple[int, ...]]:
    """Yield the lists of axes along which groups have `members` members."""
    for length in range(len(shape) + 1):
        for axes in permutations(range(len(shape)), length):
            if prod(shape[axis] for axis in axes) == members:
                yield axes


def digits_of(members: Sequence[int]) -> Digits | None:
    """Return the digits that a list of numbers from 0 on counts through, fastest first, or `None`.

    [0, 1, 4, 5] -> (1, 2), (4, 2); [0, 4, 1, 5] -> (4, 2), (1, 2)
    """
    digits: list[tuple[int, int]] = []
    covered = 1
    while covered < len(members):
        stride = members[covered]
        if stride < 1:
            return None
        size = 1
        while size * covered < len(members) and members[size * covered] == size * stride:
            size += 1
        if len(members) % (covered * size):
            return None
        digits.append((stride, size))
        covered *= size
    sums = [0]
    for stride, size in digits:
        sums = [place * stride + base for place in range(size) for base in sums]
    return tuple(digits) if sums == list(members) else None


def _shape_with(digits: Digits, count: int) -> GridShape | None:
    """Return a grid of `count` devices with an axis for each digit and each gap between."""
    shape: list[int] = []
    covered = 1
    for stride, size in (*digits, (count, 1)):
        if stride % covered:
            return None
        if stride != covered:
            shape.append(stride // covered)
        if size > 1:
            shape.append(size)
        covered = stride * size
    return tuple(reversed(shape)) or (1,)

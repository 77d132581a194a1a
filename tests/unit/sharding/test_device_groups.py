"""Listed groups of devices as axes of a grid."""

from __future__ import annotations

from itertools import permutations

import pytest
from mesh_opt.sharding.device_groups import axes_of_groups, groups_along

SHAPES = [(8,), (2, 4), (4, 2), (2, 2, 2), (3, 4), (2, 3, 2)]


@pytest.mark.parametrize("shape", SHAPES)
def test_groups_of_every_choice_of_axes_are_found(shape: tuple[int, ...]) -> None:
    for length in range(len(shape) + 1):
        for axes in permutations(range(len(shape)), length):
            groups = groups_along(shape, axes)
            assert axes_of_groups(groups, [shape]) is not None
            assert axes_of_groups(groups[::-1], [shape]) is not None
            if list(axes) != sorted(axes):
                continue
            # Without a hint the grid may be another one, but its groups are these.
            found = axes_of_groups(groups)
            assert found is not None
            assert sorted(groups_along(*found)) == sorted(groups)


def test_known_grids_come_first() -> None:
    groups = [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert axes_of_groups(groups) == ((2, 4), (1,))
    assert axes_of_groups(groups, [(3, 5), (2, 2, 2)]) == ((2, 2, 2), (1, 2))
    assert axes_of_groups([[0]]) == ((1,), ())


@pytest.mark.parametrize(
    "groups",
    [
        [[0, 1, 3], [2, 4, 5]],
        [[0, 3], [1, 2]],
        [[0, 1], [1, 2]],
        [[0, 1], [2]],
        [[0, 5]],
        [[0, 1], [3, 2]],
    ],
)
def test_groups_without_grid(groups: list[list[int]]) -> None:
    assert axes_of_groups(groups) is None

"""Dimensions of two shapes that hold the same elements."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest
from mesh_opt.passes.sizes.matching_dimensions import matching_dimensions

SHAPES = [shape for rank in range(4) for shape in product((1, 2, 3, 4, 6), repeat=rank)]


def test_runs_of_known_sizes_hold_equal_products() -> None:
    """All pairs of shapes of up to three dimensions: each dimension once, in order."""
    for old, new in product(SHAPES, repeat=2):
        found = matching_dimensions(old, new)
        assert (found is None) == (prod(old) != prod(new)), (old, new)
        if found:
            for side, shape in enumerate((old, new)):
                assert [each for group in found for each in group[side]] == list(range(len(shape)))
            for taken, made in found:
                assert prod(old[each] for each in taken) == prod(new[each] for each in made)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ([4, "n", 6], [4, "n", 2, 3], [((0,), (0,)), ((1,), (1,)), ((2,), (2, 3))]),
        ([4, "n", 8, 64], [4, "n", 512], [((0,), (0,)), ((1,), (1,)), ((2, 3), (2,))]),
        ([2, "n"], ["n", 2], [((0, 1), (0, 1))]),
        (["n", 1, 1], ["n"], [((0, 1, 2), (0,))]),
        (["b", "t", 8], [1, "b", "t", 2, 4], [((0,), (0, 1)), ((1,), (2,)), ((2,), (3, 4))]),
        ([4, "n"], [4, "m"], None),
        ([0, "n"], [0, "n"], None),
        ([], [1, 1], []),
    ],
)
def test_sizes_known_by_keys(
    old: list[int | str], new: list[int | str], expected: list[tuple[object, object]] | None
) -> None:
    assert matching_dimensions(old, new) == expected

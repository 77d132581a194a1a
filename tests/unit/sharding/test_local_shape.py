"""Sizes and places of shards."""

from __future__ import annotations

from itertools import pairwise

import pytest
from mesh_opt.sharding.grid import Grid
from mesh_opt.sharding.local_shape import (
    core_size,
    default_offsets,
    interval,
    local_shape,
    offset_errors,
    shard_intervals,
    shard_offsets,
)
from mesh_opt.sharding.sharding import Sharding

GRID = Grid("g", (2, 3))


@pytest.mark.parametrize(
    ("size", "parts", "expected"),
    [
        (8, 2, (0, 4, 8)),
        (7, 2, (0, 3, 7)),  # the last shards are the larger ones
        (8, 3, (0, 2, 5, 8)),
        (1, 3, (0, 0, 0, 1)),
        (0, 2, (0, 0, 0)),
    ],
)
def test_default_borders(size: int, parts: int, expected: tuple[int, ...]) -> None:
    assert default_offsets(size, parts) == expected
    assert [interval(size, parts, i) for i in range(parts)] == list(pairwise(expected))


def test_first_axis_is_slow() -> None:
    sharding = Sharding(GRID, ((1, 0),))
    # Process 4 is at (1, 1): block 1 * 2 + 1 of 6.
    assert shard_intervals((12,), sharding, 4) == ((6, 8),)
    assert shard_intervals((12,), Sharding(GRID, ((0, 1),)), 4) == ((8, 10),)


def test_local_shape() -> None:
    even = Sharding(GRID, ((0,), (1,)))
    assert local_shape((4, 6), even) == (2, 2)
    assert local_shape((5, 6), even) == (None, 2)
    assert local_shape((None, 6), even) == (None, 2)
    assert local_shape((4, 6), Sharding(GRID, ((), ()))) == (4, 6)


def test_halos_widen_and_offsets_decide() -> None:
    assert local_shape((4,), Sharding(GRID, ((0,),), halos=((1, 2),))) == (5,)
    uneven = Sharding(GRID, ((0,),), offsets=((0, 1, 4),))
    assert local_shape((4,), uneven) == (None,)
    assert shard_offsets(4, uneven, 0) == (0, 1, 4)
    assert core_size(6, Sharding(GRID, ((1,),), offsets=((0, 2, 4, 6),)), 0) == 2


def test_unknown_extent() -> None:
    sharding = Sharding(Grid("g", (None,)), ((0,),))
    assert local_shape((4,), sharding) == (None,)
    with pytest.raises(ValueError, match="unknown"):
        shard_offsets(4, sharding, 0)


@pytest.mark.parametrize(
    ("sharding", "message"),
    [
        (Sharding(GRID, ((0,), ())), "has 2 dimensions"),
        (Sharding(GRID, ((0,),), offsets=((0, 4),)), "3 offsets"),
        (Sharding(GRID, ((0,),), offsets=((0, 2, 5),)), "from 0 to its size 4"),
        (Sharding(GRID, ((0,),), offsets=((0, 5, 4),)), "decrease"),
        (Sharding(GRID, ((0,),), halos=((-1, 0),)), "negative"),
    ],
)
def test_offset_errors(sharding: Sharding, message: str) -> None:
    error = offset_errors((4,), sharding)
    assert error is not None and message in error

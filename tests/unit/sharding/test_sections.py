"""How processes come to sections: borders, pieces or all parts, whichever is the least."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mesh_opt.sharding.factors import Window
from mesh_opt.sharding.pieces import Exchange, Interval
from mesh_opt.sharding.sections import MOST_PARTS, Borders, best_way, window_bytes

QUARTERS = [(0, 4), (4, 8), (8, 12), (12, 16)]


@pytest.mark.parametrize(
    ("wanted", "way", "sent"),
    [
        ([(0, 5), (3, 9), (7, 13), (11, 16)], (1, 1), 2),
        (QUARTERS, (0, 0), 0),
        # Nothing is wanted but by the last, of whom all are neighbours in turn.
        ([(0, 0), (0, 0), (0, 0), (0, 1)], Exchange, 1),
        ([(12, 16), (8, 12), (4, 8), (0, 4)], Exchange, 4),
        ([(0, 16)] * 4, None, 12),
    ],
    ids=["borders", "own", "one", "reversed", "all"],
)
def test_best_way(wanted: list[Interval], way: Borders | type[Exchange] | None, sent: int) -> None:
    found, elements = best_way(QUARTERS, wanted)
    if isinstance(way, type):
        assert isinstance(found, way)
    else:
        assert found == way
    assert elements == sent


def test_many_parts_are_not_matched_with_each_other() -> None:
    parts = MOST_PARTS + 1
    owned = [(part, part + 1) for part in range(parts)]
    assert best_way(owned, owned[::-1]) == (None, parts - 1)


@given(
    parts=st.sampled_from([2, 3, 4, 8]),
    own=st.integers(1, 12),
    turns=st.integers(1, 10),
    stride=st.integers(-3, 3).filter(bool),
    first=st.integers(-10, 20),
    length=st.integers(1, 6),
)
def test_window_bytes(
    parts: int, own: int, turns: int, stride: int, first: int, length: int
) -> None:
    """Never more than to gather, nor less than what the neediest process lacks in its turn."""
    extent = own * parts
    window = Window(0, 0, extent, stride, first, length)
    needs = 0
    for part in range(parts):
        read = {
            element
            for turn in range(turns * part, turns * (part + 1))
            for element in range(turn * stride + first, turn * stride + first + length)
            if 0 <= element < extent
        }
        start, end = window.read(turns * part, turns * (part + 1))
        assert read <= set(range(start, end)) <= set(range(extent))
        assert abs(stride) > 1 or len(read) == end - start
        needs += len(set(range(start, end)) - set(range(own * part, own * (part + 1))))
    sent = window_bytes(window, turns * parts, parts, 4 * extent)
    assert needs / parts <= sent / 4 + 1e-9 <= own * (parts - 1) + 1e-6

"""Byte counts of resharding."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mesh_opt.sharding.cost import (
    DimensionAxes,
    all_reduce_bytes,
    known_extents,
    local_size,
    reshard_bytes,
    window_bytes,
)
from mesh_opt.sharding.factors import Window

EXTENTS = (2, 4)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (((0,), ()), ((0,), ()), 0),  # nothing
        (((), ()), ((0,), (1,)), 0),  # slices
        (((0,), ()), ((), ()), 800 / 2),  # gather
        (((1,), ()), ((), ()), 800 * 3 / 4),
        (((0,), ()), ((), (0,)), 400 / 2),  # all-to-all of what one process holds
        (((0,), ()), ((), (1,)), 200 / 2),  # slice first, then gather a quarter
        (((0, 1), ()), ((1, 0), ()), 100),  # permute
    ],
)
def test_bytes_that_each_process_sends(
    source: DimensionAxes, target: DimensionAxes, expected: float
) -> None:
    assert reshard_bytes(source, target, 800, EXTENTS) == expected


def test_ring_formulas() -> None:
    assert all_reduce_bytes(64, 4) == 96
    assert local_size(800, ((0,), (1,)), EXTENTS) == 100
    assert known_extents((4, None)) == (4, 2)


@given(
    parts=st.sampled_from([2, 3, 4, 8]),
    own=st.integers(1, 12),
    turns=st.integers(1, 10),
    stride=st.integers(1, 3),
    first=st.integers(-10, 20),
    length=st.integers(1, 6),
)
def test_window_bytes(
    parts: int, own: int, turns: int, stride: int, first: int, length: int
) -> None:
    """As many as the part with the widest borders needs, or all, where a neighbour lacks some."""
    window = Window(0, 0, own * parts, stride, first, length)
    low = high = 0
    for part in range(parts):
        start = max(0, stride * turns * part + first)
        end = min(own * parts, stride * (turns * (part + 1) - 1) + first + length)
        low, high = max(low, own * part - start), max(high, end - own * (part + 1))
    reachable = max(low, high) <= own and low + high <= own * (parts - 1)
    expected = 4 * (low + high) if reachable else 4 * own * (parts - 1)
    assert window_bytes(window, turns * parts, parts, 4 * own) == pytest.approx(expected)

"""Byte counts of resharding."""

from __future__ import annotations

import pytest
from mesh_opt.sharding.collective_rows import ALL_GATHER, ALL_REDUCE
from mesh_opt.sharding.cost import known_extents, local_bytes, reshard_bytes
from mesh_opt.sharding.sharding import DimensionAxes

EXTENTS = (2, 4)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (((0,), ()), ((0,), ()), 0),  # nothing
        (((), ()), ((0,), (1,)), 0),  # slices
        (((0,), ()), ((), ()), 800 / 2),  # gather
        (((1,), ()), ((), ()), 800 * 3 / 4),
        (((0,), (1,)), ((), ()), 800 * 7 / 8),  # the second gather is of what the first one made
        (((0,), ()), ((), (0,)), 400 / 2),  # all-to-all of what one process holds
        (((0,), ()), ((), (1,)), 200 / 2),  # slice first, then gather a quarter
        (((0, 1), ()), ((1, 0), ()), 100),  # permute
        (((0, 1), ()), ((1,), (0,)), 100 / 2 + 100 * 3 / 4),  # axis 1 is in the way of axis 0
        (((1,), (0,)), ((0, 1), ()), 100 / 2 + 100 * 3 / 4),
    ],
)
def test_bytes_that_each_process_sends(
    source: DimensionAxes, target: DimensionAxes, expected: float
) -> None:
    assert reshard_bytes(source, target, 800, EXTENTS) == expected


def test_ring_formulas() -> None:
    assert 64 * ALL_REDUCE.sent(4) == 96
    assert 64 * ALL_GATHER.sent(4) == 192
    assert local_bytes(800, ((0,), (1,)), EXTENTS) == 100
    assert known_extents((4, None)) == (4, 2)

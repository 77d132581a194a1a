"""The times of kernels and collectives follow from the machine by the known formulas."""

from __future__ import annotations

from math import log2

import pytest
from mesh_opt.sharding.collective_rows import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_SLICE,
    ALL_TO_ALL,
    COLLECTIVES,
    REDUCE_SCATTER,
    SEND,
    CollectiveRow,
)
from mesh_opt.sharding.machine import Device, Machine, MachineError, Network, Topology
from mesh_opt.sharding.time_model import BytesPrice, TimePrice, kernel_seconds

DEVICE = Device((("f32", 1e9), ("bf16", 4e9)), memory=1e9, memory_bandwidth=1e30, launch=0.5)
ALPHA, BETA = 1e-3, 1e-6


def seconds(row: CollectiveRow, n: int, size: float, topology: Topology) -> float:
    machine = Machine("m", DEVICE, (Network(1 / BETA, ALPHA, topology),))
    return TimePrice(machine, (n,)).collective(row, size, (0,))


def test_a_kernel_takes_as_long_as_its_work_or_its_traffic() -> None:
    device = Device((("f32", 10.0), ("bf16", 40.0)), 1.0, memory_bandwidth=5.0, launch=0.5)
    assert kernel_seconds(device, 100, "f32", 5) == 10.5
    assert kernel_seconds(device, 100, "bf16", 5) == 3.0
    assert kernel_seconds(device, 100, "f32", 500) == 100.5


@pytest.mark.parametrize("n", [2, 8, 64])
def test_large_messages_take_the_bytes_of_rings(n: int) -> None:
    size = 1e15
    for row in (ALL_GATHER, ALL_REDUCE, REDUCE_SCATTER, ALL_TO_ALL, SEND):
        expected = row.sent(n) * size * BETA
        assert seconds(row, n, size, Topology.ALL_TO_ALL) == pytest.approx(expected, rel=1e-6)


def test_small_messages_take_few_rounds_where_all_are_connected() -> None:
    for n in (2, 8, 64, 100):
        rounds = -(-log2(n) // 1)
        for row in (ALL_GATHER, ALL_REDUCE, REDUCE_SCATTER, ALL_TO_ALL):
            assert seconds(row, n, 0, Topology.ALL_TO_ALL) == pytest.approx(rounds * ALPHA)


def test_a_ring_passes_everything_from_neighbour_to_neighbour() -> None:
    size = 1e15
    assert seconds(ALL_GATHER, 8, size, Topology.RING) == pytest.approx(7 * size * BETA)
    # Of 8 in a ring the others are 16/7 away on average.
    expected = 7 / 8 * 16 / 7 * size * BETA
    assert seconds(ALL_TO_ALL, 8, size, Topology.RING) == pytest.approx(expected)


def test_a_shared_medium_carries_what_all_of_its_devices_send() -> None:
    size = 1e15
    assert seconds(ALL_GATHER, 4, size, Topology.SHARED) == pytest.approx(4 * 3 * size * BETA)


def test_groups_over_several_networks_send_less_over_the_outer_one() -> None:
    networks = (Network(1e6, 0.0), Network(1e9, 0.0, size=4))
    price = TimePrice(Machine("m", DEVICE, networks), (8,))
    size = 1e9
    inner, outer = size / 1e9, size / 1e6
    assert price.collective(ALL_REDUCE, size, (0,)) == pytest.approx(
        2 * 3 / 4 * inner + 2 * 1 / 2 * outer / 4
    )
    assert price.collective(REDUCE_SCATTER, size, (0,)) == pytest.approx(
        3 / 4 * inner + 1 / 2 * outer / 4
    )
    assert price.collective(ALL_GATHER, size, (0,)) == pytest.approx(outer + 2 * 3 * inner)


def test_reduction_runs_at_memory_bandwidth() -> None:
    device = Device((("f32", 1.0),), 1.0, memory_bandwidth=10.0)
    machine = Machine("m", device, (Network(1e30, 0.0),))
    assert TimePrice(machine, (4,)).collective(ALL_REDUCE, 40.0, (0,)) == pytest.approx(9.0)


def test_algorithms_send_no_less_than_rows_say() -> None:
    for row in COLLECTIVES.values():
        # Halving in rounds sends half of everything in each: at 2 processes that is all there is.
        for n in (2, 3, 4, 7, 8, 64):
            for algorithm in row.algorithms:
                if row.name not in ("broadcast", "update_halo"):
                    assert algorithm.sent(n) >= row.sent(n) - 1e-9, (row.name, n)
        assert row.algorithms or not row.sent(2)


def test_slices_take_no_time_and_bytes_are_those_of_rows() -> None:
    assert seconds(ALL_SLICE, 8, 1e9, Topology.RING) == 0
    assert BytesPrice((2, 4)).collective(ALL_REDUCE, 64, (0, 1)) == 64 * 2 * 7 / 8
    with pytest.raises(MachineError, match="needs 16"):
        TimePrice(Machine("m", DEVICE, (Network(1, 1, size=8),)), (4, 4))

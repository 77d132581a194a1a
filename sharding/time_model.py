"""Estimate the time of kernels and collectives on a machine by formulas. No IR.

A kernel takes the maximum of its compute time and its memory traffic time (the roofline model),
plus its launch.

A collective takes its fastest algorithm on each network that its group crosses: the latencies of
the messages, plus the transfer time of the bytes (Thakur, Rabenseifner and Gropp). Received data
are reduced at memory bandwidth. Networks are crossed one after the other. For example, an
all-reduce among 2 hosts of 4 devices is:

- a reduce-scatter within each host;
- an all-reduce of a quarter of the data between the hosts;
- an all-gather within each host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .collective_rows import Algorithm, CollectiveRow
from .cost import BYTES_PER_POINT, sent_bytes
from .machine import Device, Hop, Machine, Topology


class Price(Protocol):
    """The quantity to minimise: seconds, or bytes."""

    def collective(self, row: CollectiveRow, brought: float, axes: Sequence[int]) -> float:
        """Return the price of a collective; each process contributes `brought` bytes."""
        ...

    def kernel(self, work: float, element: str, traffic: float) -> float:
        """Return the price of `work` scalar operations on `element` with `traffic` bytes."""
        ...


class BytesPrice:
    """Count bytes sent, and work converted by `BYTES_PER_POINT`, on a grid with these extents."""

    def __init__(self, extents: Sequence[int]) -> None:
        self._sent = sent_bytes(extents)

    def collective(self, row: CollectiveRow, brought: float, axes: Sequence[int]) -> float:
        """Return the bytes that each process sends."""
        return self._sent(row, brought, tuple(axes))

    def kernel(self, work: float, element: str, traffic: float) -> float:
        """Return the work as an equivalent number of bytes: a point is two operations."""
        return BYTES_PER_POINT * work / 2


class TimePrice:
    """Count seconds on a machine, without overlap.

    Raises MachineError if the grid has more devices than the machine.
    """

    def __init__(self, machine: Machine, extents: Sequence[int]) -> None:
        machine.check_grid(extents)
        self._machine = machine
        self._extents = tuple(extents)
        self._hops: dict[tuple[int, ...], tuple[Hop, ...]] = {}

    def collective(self, row: CollectiveRow, brought: float, axes: Sequence[int]) -> float:
        """Return the seconds that the collective takes."""
        key = tuple(axes)
        if key not in self._hops:
            self._hops[key] = self._machine.hops(self._extents, key)
        return collective_seconds(row, brought, self._hops[key], self._machine.device)

    def kernel(self, work: float, element: str, traffic: float) -> float:
        """Return the seconds that the kernel takes."""
        return kernel_seconds(self._machine.device, work, element, traffic)


def kernel_seconds(device: Device, work: float, element: str, traffic: float) -> float:
    """Return the seconds of `work` scalar operations on `element` with `traffic` bytes."""
    return device.launch + max(work / device.flops_of(element), traffic / device.memory_bandwidth)


def collective_seconds(
    row: CollectiveRow, brought: float, hops: Sequence[Hop], device: Device
) -> float:
    """Return the seconds of a collective; each process contributes `brought` bytes."""
    grows = bool(row.joins) and not row.divides
    seconds, held = 0.0, brought
    # Gathers grow and cross slow networks first; reductions shrink and cross them last.
    for hop in reversed(hops) if grows else hops:
        seconds += _hop_seconds(row, held, hop, device)
        if grows:
            held *= hop.count
        elif row.reduces:
            held /= hop.count
    return seconds


def _hop_seconds(row: CollectiveRow, held: float, hop: Hop, device: Device) -> float:
    if not row.algorithms:
        return 0.0
    reduced = held * (hop.count - 1) / hop.count if row.reduces else 0.0
    # Two operands are read, and a result is written.
    return min(_algorithm_seconds(each, held, hop) for each in row.algorithms) + (
        3 * reduced / device.memory_bandwidth
    )


def _algorithm_seconds(algorithm: Algorithm, held: float, hop: Hop) -> float:
    n, network = hop.count, hop.network
    bandwidth, distance = network.bandwidth, 1.0
    match network.topology:
        case Topology.SHARED:
            bandwidth /= hop.sharers
        case Topology.RING if not algorithm.to_neighbours:
            # Average distance to the other devices, in the nearer direction of the ring.
            distance = (n * n // 4) / (n - 1)
        case _:
            pass
    messages = algorithm.messages(n) * distance * network.latency
    return messages + held * algorithm.sent(n) * distance / bandwidth

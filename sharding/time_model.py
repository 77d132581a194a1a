"""How long kernels and collectives take on a machine, as estimates by formulas. No IR.

A kernel takes as long as its work or its memory traffic does, whichever is more (the roofline
model), and its launch. A collective takes, along each network that its group runs over, the
messages of its fastest algorithm and the time of its bytes (Thakur, Rabenseifner and Gropp); what
arrives to be reduced is added up at the speed of memory.

Over several networks a collective is done network by network: an all-reduce among 2 hosts of 4
devices is a reduce-scatter inside of each host, an all-reduce of a quarter between them, and an
all-gather. In bytes that is an all-reduce of everything inside and of a quarter outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .collectives import Algorithm, CollectiveRow
from .cost import BYTES_PER_POINT, sent_bytes
from .machine import Device, Hop, Machine, Topology


class Price(Protocol):
    """What is to be as little as possible: seconds, or bytes."""

    def collective(self, row: CollectiveRow, brought: float, axes: Sequence[int]) -> float:
        """The price of a collective along axes to which each process brings so many bytes."""
        ...

    def kernel(self, work: float, element: str, traffic: float) -> float:
        """The price of so many scalar operations on elements, that read and write bytes."""
        ...


class BytesPrice:
    """Bytes sent, and work as `BYTES_PER_POINT` says, on a grid with such extents."""

    def __init__(self, extents: Sequence[int]) -> None:
        self._sent = sent_bytes(extents)

    def collective(self, row: CollectiveRow, brought: float, axes: Sequence[int]) -> float:
        """As `Price` says."""
        return self._sent(row, brought, tuple(axes))

    def kernel(self, work: float, element: str, traffic: float) -> float:
        """As `Price` says: a point is two operations."""
        return BYTES_PER_POINT * work / 2


class TimePrice:
    """Seconds on a machine, of one thing after the other. Raises MachineError for a large grid."""

    def __init__(self, machine: Machine, extents: Sequence[int]) -> None:
        machine.check_grid(extents)
        self._machine = machine
        self._extents = tuple(extents)
        self._hops: dict[tuple[int, ...], tuple[Hop, ...]] = {}

    def collective(self, row: CollectiveRow, brought: float, axes: Sequence[int]) -> float:
        """As `Price` says."""
        key = tuple(axes)
        if key not in self._hops:
            self._hops[key] = self._machine.hops(self._extents, key)
        return collective_seconds(row, brought, self._hops[key], self._machine.device)

    def kernel(self, work: float, element: str, traffic: float) -> float:
        """As `Price` says."""
        return kernel_seconds(self._machine.device, work, element, traffic)


def kernel_seconds(device: Device, work: float, element: str, traffic: float) -> float:
    """The time of so many scalar operations on elements, that read and write so many bytes."""
    return device.launch + max(work / device.flops_of(element), traffic / device.memory_bandwidth)


def collective_seconds(
    row: CollectiveRow, brought: float, hops: Sequence[Hop], device: Device
) -> float:
    """The time of a collective over a group to which each process brings so many bytes."""
    grows = bool(row.joins) and not row.divides
    seconds, held = 0.0, brought
    # What grows crosses the slow networks first, what shrinks crosses them last.
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
            # How far away the others are on average, in the nearer direction.
            distance = (n * n // 4) / (n - 1)
        case _:
            pass
    messages = algorithm.messages(n) * distance * network.latency
    return messages + held * algorithm.sent(n) * distance / bandwidth

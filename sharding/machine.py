"""Describe a machine: the speed of its devices, and of the networks that connect them.

A machine is a tree. Its networks are listed from the outermost to the innermost, like the axes of a
grid, and processes are numbered accordingly. Several hosts with eight devices each are two
networks: one between hosts, and one of `size` 8 within a host; a torus has one network for each of
its dimensions. The networks that a grid axis crosses follow from the process numbers
(`Machine.hops`), so one machine description serves all grids.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import prod
from typing import cast

from .grid import extents_text


class Topology(StrEnum):
    """How the devices of one network are connected."""

    RING = "ring"
    """Each device is linked to the next and the previous one; one dimension of a torus."""
    ALL_TO_ALL = "all-to-all"
    """All devices are linked to a switch that is never the bottleneck."""
    SHARED = "shared"
    """All devices share the bandwidth of one medium, such as the memory of a host."""


class MachineError(ValueError):
    """An error in a machine description; `path` leads to it by TOML keys and list indices."""

    def __init__(self, path: Sequence[str | int], message: str) -> None:
        super().__init__(message)
        self.path = tuple(path)


@dataclass(frozen=True, slots=True)
class Device:
    """The speed and memory of one device. Raises MachineError for numbers out of range.

    - `flops`: scalar operations per second, by element type; `f32` is required and stands for types
      that are not listed;
    - `memory`: bytes; `memory_bandwidth`: bytes per second, reads and writes together;
    - `launch`: seconds to start a kernel.
    """

    flops: tuple[tuple[str, float], ...]
    memory: float
    memory_bandwidth: float
    launch: float = 0.0

    def __post_init__(self) -> None:
        if "f32" not in dict(self.flops):
            raise MachineError(
                ("device", "flops"), "has no f32, the speed of element types that are not listed"
            )
        for element, speed in self.flops:
            _check_positive(("device", "flops", element), speed)
        _check_positive(("device", "memory"), self.memory)
        _check_positive(("device", "memory-bandwidth"), self.memory_bandwidth)
        _check_not_negative(("device", "launch"), self.launch)

    def flops_of(self, element: str) -> float:
        """Return the scalar operations per second on elements of a type."""
        known = dict(self.flops)
        return known.get(element, known["f32"])


@dataclass(frozen=True, slots=True)
class Network:
    """A network that connects groups of `size` neighbours; `None`: as many as there are.

    - `bandwidth`: bytes per second that each device can send over all its links of this network or,
      for a shared medium, that all its devices can send together;
    - `latency`: seconds from the start of a message to its first byte.
    """

    bandwidth: float
    latency: float
    topology: Topology = Topology.ALL_TO_ALL
    size: int | None = None

    def checked(self, position: int) -> None:
        """Check the values of the network at `position` of its machine. Raises MachineError."""
        _check_positive(("network", position, "bandwidth"), self.bandwidth)
        _check_not_negative(("network", position, "latency"), self.latency)
        if self.size is None:
            if position:
                raise MachineError(
                    ("network", position), "has no size; only the first network may omit it"
                )
        elif self.size < 2:
            raise MachineError(
                ("network", position, "size"), f"is {self.size}, expected 2 devices or more"
            )


@dataclass(frozen=True, slots=True)
class Hop:
    """The part of a process group that lies along one network, and has `count` members.

    `sharers` is the number of processes on one instance of the network; `position` is the index of
    the network in its machine.
    """

    network: Network
    count: int
    sharers: int
    position: int


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine, with its networks from the outermost to the innermost.

    Raises MachineError if there is no network or one is invalid.
    """

    name: str
    device: Device
    networks: tuple[Network, ...]
    source: str = ""
    """Where the numbers come from."""

    def __post_init__(self) -> None:
        if not self.networks:
            raise MachineError((), "has no [[network]]")
        for position, network in enumerate(self.networks):
            network.checked(position)

    @property
    def device_count(self) -> int | None:
        """The number of devices; `None` if the first network has no fixed size."""
        sizes = [network.size for network in self.networks]
        known = [size for size in sizes if size is not None]
        return prod(known) if len(known) == len(sizes) else None

    def check_grid(self, extents: Sequence[int]) -> None:
        """Check that the machine has enough devices for a grid. Raises MachineError if not."""
        count, wanted = self.device_count, prod(extents)
        if count is not None and wanted > count:
            written = extents_text(extents)
            raise MachineError(
                (), f"has {count} devices, but a grid of shape {written} needs {wanted}"
            )

    def hops(self, extents: Sequence[int], axes: Sequence[int]) -> tuple[Hop, ...]:
        """Return the networks that a group along `axes` of a grid crosses, the innermost first.

        An axis that is not aligned with network boundaries is attributed to the outermost network
        that it overlaps.
        """
        counts = [1] * len(self.networks)
        for axis in axes:
            first = prod(extents[axis + 1 :])
            last = first * extents[axis]
            parts = dict(self._overlaps(first, last))
            if prod(parts.values()) == extents[axis]:
                for index, part in parts.items():
                    counts[index] *= part
            elif extents[axis] > 1:
                counts[min(parts)] *= extents[axis]
        found: list[Hop] = []
        below, total = 1, prod(extents)
        for index in range(len(self.networks) - 1, -1, -1):
            network = self.networks[index]
            below = total if network.size is None else min(total, below * network.size)
            if counts[index] > 1:
                found.append(Hop(network, counts[index], below, index))
        return tuple(found)

    def _overlaps(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the networks between two strides, each with its extent there, rounded up."""
        found: list[tuple[int, int]] = []
        start = 1
        for index in range(len(self.networks) - 1, -1, -1):
            size = self.networks[index].size
            end = max(last, start) if size is None else start * size
            low, high = max(first, start), min(last, end)
            if high > low:
                found.append((index, -(-high // low)))
            start = end
        return found


def machine_from_table(table: Mapping[str, object]) -> Machine:
    """Return the machine described by a parsed TOML table. Raises MachineError."""
    _check_keys(table, (), ("name", "source", "device", "network"))
    device = _table(table, (), "device")
    _check_keys(device, ("device",), ("flops", "memory", "memory-bandwidth", "launch"))
    flops = _table(device, ("device",), "flops")
    here = ("device",)
    networks = table.get("network")
    if not isinstance(networks, list):
        raise MachineError((), "has no [[network]]")
    return Machine(
        _text(table, "name"),
        Device(
            tuple((name, _number(flops, (*here, "flops"), name)) for name in flops),
            _number(device, here, "memory"),
            _number(device, here, "memory-bandwidth"),
            _number(device, here, "launch") if "launch" in device else 0.0,
        ),
        tuple(
            _network(each, position) for position, each in enumerate(cast("list[object]", networks))
        ),
        _text(table, "source"),
    )


def _network(table: object, position: int) -> Network:
    here = ("network", position)
    if not isinstance(table, dict):
        raise MachineError(here, "is not a list of tables, expected [[network]]")
    known = cast("dict[str, object]", table)
    _check_keys(known, here, ("bandwidth", "latency", "topology", "size"))
    topology, size = known.get("topology", "all-to-all"), known.get("size")
    if topology not in tuple(Topology):
        listed = ", ".join(f'"{each}"' for each in Topology)
        raise MachineError((*here, "topology"), f"is {topology!r}, expected one of {listed}")
    if size is not None and type(size) is not int:
        raise MachineError((*here, "size"), f"is {size!r}, expected a number of devices")
    return Network(
        _number(known, here, "bandwidth"),
        _number(known, here, "latency"),
        Topology(topology),
        size,
    )


def machine_text(machine: Machine) -> str:
    """Return the TOML text of a machine; the inverse of `machine_from_table`."""
    lines = [f"name = {_quoted(machine.name)}"]
    if machine.source:
        lines.append(f"source = {_quoted(machine.source)}")
    device = machine.device
    lines += [
        "",
        "[device]",
        f"memory = {device.memory!r}  # bytes",
        f"memory-bandwidth = {device.memory_bandwidth!r}  # bytes per second",
        f"launch = {device.launch!r}  # seconds for each kernel",
        "",
        "[device.flops]  # scalar operations per second",
        *(f"{_quoted(element)} = {speed!r}" for element, speed in device.flops),
    ]
    for network in machine.networks:
        lines += ["", "[[network]]"]
        if network.size is not None:
            lines.append(f"size = {network.size}")
        lines += [
            f"bandwidth = {network.bandwidth!r}  # bytes per second",
            f"latency = {network.latency!r}  # seconds",
            f"topology = {_quoted(network.topology)}",
        ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    escaped = "".join(
        f"\\u{ord(c):04x}" if ord(c) < 32 or ord(c) == 127 or c in '"\\' else c for c in text
    )
    return f'"{escaped}"'


def _check_keys(table: Mapping[str, object], path: tuple[str | int, ...], known: tuple[str, ...]):
    for key in table:
        if key not in known:
            raise MachineError(
                (*path, key), f"is an unknown key, expected one of {', '.join(known)}"
            )


def _table(
    table: Mapping[str, object], path: tuple[str | int, ...], key: str
) -> Mapping[str, object]:
    found = table.get(key)
    if not isinstance(found, dict):
        raise MachineError(path, f"has no [{'.'.join((*map(str, path), key))}]")
    return cast("dict[str, object]", found)


def _text(table: Mapping[str, object], key: str) -> str:
    found = table.get(key, "")
    if not isinstance(found, str):
        raise MachineError((key,), f"is {found!r}, expected a string")
    return found


def _number(table: Mapping[str, object], path: tuple[str | int, ...], key: str) -> float:
    found = table.get(key)
    if found is None:
        raise MachineError(path, f"has no {key}")
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise MachineError((*path, key), f"is {found!r}, expected a number")
    try:
        return float(found)
    except OverflowError:
        return math.inf


def _check_positive(path: tuple[str | int, ...], number: float) -> None:
    if not (math.isfinite(number) and number > 0):
        raise MachineError(path, f"is {number}, expected a positive number")


def _check_not_negative(path: tuple[str | int, ...], number: float) -> None:
    if not (math.isfinite(number) and number >= 0):
        raise MachineError(path, f"is {number}, expected a number that is not negative")

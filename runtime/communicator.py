"""The one interface to the other devices: threads of this process, or MPI ranks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from .buffers import Bytes
from .collectives import Collective, Group, around, shard_range
from .commands import Command, HostCommand, Place
from .native import native_function

Words = npt.NDArray[np.int64]


class DeviceFailed(Exception):
    """Another device failed, so this one gave up at a meeting.

    `source` says where it waited, if that is known.
    """

    def __init__(self, source: object = None) -> None:
        super().__init__("another device failed")
        self.source = source


class Communicator(ABC):
    """How one process of a grid meets the others.

    Every process of a group must ask for the same meetings in the same order.
    """

    process: int

    @property
    @abstractmethod
    def world(self) -> Group:
        """All processes of the grid, in order."""

    @abstractmethod
    def exchange(self, group: Group, numbers: tuple[int, ...]) -> list[tuple[int, ...]]:
        """What each process of the group brings, in group order. Raises DeviceFailed."""

    @abstractmethod
    def meeting_commands(
        self, collective: Collective, source: Place, result: Place, origin: object
    ) -> list[Command | HostCommand]:
        """The commands of a collective that needs the others."""

    @abstractmethod
    def perform(self, collective: Collective, source: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Carry out a collective at once. What nobody sends is zero. Raises DeviceFailed."""

    @abstractmethod
    def send_command(
        self, source: Place, size: int, receiver: int, origin: object
    ) -> Command | HostCommand:
        """Send bytes to a process, without waiting for it to take them."""

    @abstractmethod
    def receive_command(
        self, target: Place, size: int, sender: int | None, origin: object
    ) -> Command | HostCommand:
        """Wait for bytes from a process, or from any if it is `None`."""

    @property
    def state(self) -> Words | None:
        """The words that tell waiting native loops that somebody failed."""
        return None

    def commands(
        self, collective: Collective, source: Place, result: Place, origin: object
    ) -> list[Command | HostCommand]:
        """The commands of a collective; `origin` is named where one fails."""
        if collective.kind == "all_slice":
            return [slice_command(collective, source, result, origin)]
        alone = collective.group.size == 1 and collective.kind != "permute"
        if alone and collective.source == collective.result:
            count = prod(collective.source_shape) * collective.source.storage_bytes
            return [copy_command(source, result, count, origin)]
        return self.meeting_commands(collective, source, result, origin)


def copy_command(source: Place, result: Place, size: int, origin: object) -> Command:
    """Copy bytes within a device."""
    return Command(native_function("copy"), (result, source), (size,), 1, origin)


def slice_command(collective: Collective, source: Place, result: Place, origin: object) -> Command:
    """`all_slice`: every process cuts its own part out of what all of them hold."""
    outer, size, inner = around(collective.source_shape, collective.axis)
    start, length = shard_range(size, collective.group.size, collective.group.rank)
    item = inner * collective.source.storage_bytes
    constants = (outer, length * item, length * item, size * item, 0, start * item)
    function = native_function("copy_rows")
    return Command(function, (result, source), constants, 1, origin)


def empty_result(collective: Collective) -> npt.NDArray[Any]:
    """A zeroed array of what the process gets."""
    return np.zeros(collective.result_shape, collective.result.dtype)


def as_bytes(array: npt.NDArray[Any]) -> Bytes:
    """The memory of a contiguous array."""
    return array.reshape(-1).view(np.uint8)

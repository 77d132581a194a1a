"""The one interface to the other devices: threads of this process, or MPI ranks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ..sharding.collective_matching import DeviceState
from .collectives import Collective, Group, around, shard_range
from .commands import AnyCommand, Buffer, Bytes, Command, run_commands
from .native import native_function

Words = npt.NDArray[np.int64]


class RankError(RuntimeError):
    """A rank of MPI failed for a reason that is not in the program; the text says which and why."""


class Communicator(ABC):
    """How one process of a grid meets the others.

    Every process of a group must reach equal collectives in one order. Their signatures are
    compared before any data move: where they differ, and where processes wait for each other in
    vain, all give up. Threads then raise DeviceFailed, and who runs them CollectiveMismatch; ranks
    raise RanksFailed (`mpi_supervisor.py`).
    """

    process: int

    @property
    @abstractmethod
    def world(self) -> Group:
        """All processes of the grid, in order."""

    @abstractmethod
    def exchange(
        self,
        group: Group,
        state: DeviceState,
        numbers: tuple[int, ...],
    ) -> list[tuple[int, ...]]:
        """What each process of the group brings, in group order: as many numbers each.

        `state` says what for, and must match on all.
        """

    def sizes(
        self, group: Group, state: DeviceState, own: tuple[int, ...]
    ) -> list[tuple[int, ...]]:
        """What each of a group brings to a collective, where that may differ."""
        return self.exchange(group, state, own)

    def with_offer(self, command: Command, state: DeviceState) -> list[Command] | None:
        """A collective's command behind one by which the group finds out whether a device brings
        something else than the last time; nothing where that is found out otherwise."""
        return None

    @abstractmethod
    def meeting_commands(
        self, collective: Collective, source: Buffer, result: Buffer, state: DeviceState
    ) -> list[AnyCommand]:
        """The commands of a collective that needs the others."""

    @abstractmethod
    def send_command(self, source: Buffer, state: DeviceState) -> AnyCommand:
        """Send bytes to the process of the state's signature, without waiting for it."""

    @abstractmethod
    def receive_command(self, target: Buffer, state: DeviceState) -> AnyCommand:
        """Wait for bytes from one of the processes of the state's signature."""

    @property
    def state(self) -> Words | None:
        """The words that tell waiting native loops that somebody failed."""
        return None

    @property
    def sent_messages(self) -> int | None:
        """How many messages this process has sent to other ranks in the run, `None` on threads."""
        return None

    @property
    def core_sharers(self) -> int:
        """How many devices share the cores that this process may use."""
        return self.world.size

    def commands(
        self, collective: Collective, source: Buffer, result: Buffer, operation: object
    ) -> list[AnyCommand]:
        """The commands of a collective; `operation` is named where one fails."""
        if collective.kind == "all_slice":
            return [slice_command(collective, source, result, operation)]
        alone = collective.group.size == 1 and collective.kind != "permute"
        if alone and collective.source == collective.result:
            count = prod(collective.source_shape) * collective.source.storage_bytes
            return [copy_command(source, result, count, operation)]
        state = DeviceState(collective.signature, operation)
        return self.meeting_commands(collective, source, result, state)

    def perform(self, collective: Collective, source: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Carry out a collective at once. What nobody sends is zero."""
        given, found = as_bytes(np.ascontiguousarray(source)), empty_result(collective)
        wanted = as_bytes(found)
        here, there = Buffer(given.size), Buffer(wanted.size)
        commands = self.commands(collective, here, there, None)
        run_commands(commands, {here: given, there: wanted})
        return found


def copy_command(source: Buffer, result: Buffer, size: int, origin: object) -> Command:
    """Copy bytes within a device."""
    return Command(native_function("copy"), (result, source), (size,), origin)


def slice_command(
    collective: Collective, source: Buffer, result: Buffer, origin: object
) -> Command:
    """`all_slice`: every process cuts its own part out of what all of them hold."""
    outer, size, inner = around(collective.source_shape, collective.axis)
    start, length = shard_range(size, collective.group.size, collective.group.rank)
    item = inner * collective.source.storage_bytes
    constants = (outer, length * item, length * item, size * item, 0, start * item)
    function = native_function("copy_rows")
    return Command(function, (result, source), constants, origin)


def empty_result(collective: Collective) -> npt.NDArray[Any]:
    """A zeroed array of what the process gets."""
    return np.zeros(collective.result_shape, collective.result.dtype)


def as_bytes(array: npt.NDArray[Any]) -> Bytes:
    """The memory of a contiguous array."""
    return array.reshape(-1).view(np.uint8)

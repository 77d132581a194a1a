"""The interface between the devices of a grid: threads of this process, or MPI ranks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ..sharding.collective_matching import DeviceState
from ..sharding.collective_rows import SHIFT
from .abi.arrays import Bytes, Words
from .collectives import Collective, Group
from .commands import AnyCommand, Buffer, Command, run_commands
from .moves import ByteSection, Move, moves, piece_words
from .native_registry import runtime_function
from .threads.shared_memory_collectives import copy_section


class RankError(RuntimeError):
    """An MPI rank failed for a reason outside of the program; the message says which and why."""


class Communicator(ABC):
    """How one process of a grid communicates with the others.

    All processes of a group must reach matching collectives in the same order. Their signatures are
    compared before data move. If they differ, or if processes wait for each other in a deadlock,
    all stop. Threads then raise DeviceFailed, and their caller CollectiveMismatch; ranks raise
    RanksFailed (`mpi/rank_supervisor.py`).
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
        """Gather a tuple of numbers from each process of the group, in group order.

        `state` names the purpose and must match on all. All tuples have the same length.
        """

    def sizes(
        self, group: Group, state: DeviceState, own: tuple[int, ...]
    ) -> list[tuple[int, ...]]:
        """Exchange the operand sizes of a collective where they may differ."""
        return self.exchange(group, state, own)

    def with_size_check(self, command: Command, state: DeviceState) -> list[Command] | None:
        """Return the command preceded by one that detects whether any device's sizes have changed.

        `None` if the communicator detects that in another way.
        """
        return None

    @abstractmethod
    def collective_commands(
        self, collective: Collective, source: Buffer, result: Buffer, state: DeviceState
    ) -> list[AnyCommand]:
        """Return the commands of a collective that involves other processes."""

    @abstractmethod
    def send_command(self, source: Buffer, state: DeviceState) -> AnyCommand:
        """Return a command that sends bytes to the process in the state's signature.

        It does not wait for the receiver.
        """

    @abstractmethod
    def receive_command(self, target: Buffer, state: DeviceState) -> AnyCommand:
        """Return a command that waits for bytes from a process in the state's signature."""

    @property
    def status(self) -> Words | None:
        """The words that tell waiting native loops of a failure; `None` if there are none."""
        return None

    @property
    def sent_messages(self) -> int | None:
        """The messages that this process has sent to other ranks in the run; `None` on threads."""
        return None

    @property
    def core_sharers(self) -> int:
        """The number of devices that share the cores available to this process."""
        return self.world.size

    def commands(
        self, collective: Collective, source: Buffer, result: Buffer, operation: object
    ) -> list[AnyCommand]:
        """Return the commands of a collective; `operation` is named in errors."""
        if collective.row.is_local:
            return [slice_command(collective, source, result, operation)]
        alone = collective.group.size == 1 and collective.row is not SHIFT
        if alone and collective.source == collective.result:
            count = prod(collective.source_shape) * collective.source.storage_bytes
            return [copy_command(source, result, count, operation)]
        state = DeviceState(collective.signature, operation)
        return self.collective_commands(collective, source, result, state)

    def perform(self, collective: Collective, source: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Carry out a collective at once and return its result.

        Parts that nobody sends are zero.
        """
        given, found = as_bytes(np.ascontiguousarray(source)), empty_result(collective)
        wanted = as_bytes(found)
        here, there = Buffer(given.size), Buffer(wanted.size)
        commands = self.commands(collective, here, there, None)
        run_commands(commands, {here: given, there: wanted})
        return found


def copy_command(source: Buffer, result: Buffer, size: int, origin: object) -> Command:
    """Return a command that copies bytes within a device."""
    whole = ByteSection(0, size)
    return _section_command(source, result, (whole, whole), origin)


def slice_command(
    collective: Collective, source: Buffer, result: Buffer, origin: object
) -> Command:
    """Return the command by which a process slices its shard from its own, replicated tensor."""
    own = collective.group.index
    (move,) = moves(collective, own, own)
    return _section_command(source, result, move, origin)


def _section_command(source: Buffer, result: Buffer, move: Move, origin: object) -> Command:
    part, to = move
    constants = (to.start, part.start, *piece_words(to, part))
    return Command(runtime_function(copy_section), (result, source), constants, origin)


def empty_result(collective: Collective) -> npt.NDArray[Any]:
    """Return a zeroed array for the collective's result."""
    return np.zeros(collective.result_shape, collective.result.dtype)


def as_bytes(array: npt.NDArray[Any]) -> Bytes:
    """View a contiguous array as bytes."""
    return array.reshape(-1).view(np.uint8)

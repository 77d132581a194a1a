"""MPI ranks with several devices each, which are threads.

In a collective the devices of a rank exchange data in shared memory, and one of them sends and
receives for all (`messages/collective_steps.py`). They wait in native code, which records in each
device's context where it waits. Meanwhile the rank's main thread monitors them, and stops them when
the run has failed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Lock
from typing import NoReturn, Self, TypeVar

import numpy as np

from ...sharding.collective_matching import CollectiveSignature, DeviceState
from ..abi.elements import I64
from ..collectives import Group, gather_of_vectors
from ..commands import Buffer, DeviceFailed, run_commands
from ..communicator import as_bytes
from ..messages.collective_steps import RankBarrier
from ..messages.context import MessageContext, PlainState, Traffic
from ..messages.size_changes import SizeChangeNotices
from ..threads.shared_memory_collectives import slot
from ..threads.thread_group import ThreadCommunicator, ThreadGroup
from .failure_coordinator import Failure, Wait
from .mailbox import Channel
from .message_communicator import MessageCommunicator, Rank

T = TypeVar("T")

CHECK_PERIOD = 0.01
"""Seconds between two checks of the main thread for failures of other ranks."""

END_SECONDS = 2.0
"""Seconds in which released devices must end, unless they compute."""

POLL_PERIOD = 0.0002
"""Seconds between two polls of a device for a message (`shard.send`)."""


class Unmatched(Exception):
    """Devices do not match; `states` holds what each has reached."""

    def __init__(self, states: dict[int, PlainState]) -> None:
        super().__init__("devices do not match")
        self.states = states


class MpiThreadGroup(ThreadGroup):
    """The device threads of this rank; `communicators` are theirs, in order."""

    def __init__(self, rank: Rank, count: int) -> None:
        """A collective call: all ranks pass the same `count`."""
        super().__init__(count)
        self._check_period = CHECK_PERIOD
        self.rank = rank
        self.ranks = rank.ranks
        mpi = self.ranks.new_communicator()
        self.lock = Lock()
        """Protects the rank's mailbox while devices run."""
        first = rank.process * count
        self.processes = range(first, first + count)
        self._devices = [MpiThreadCommunicator(self, process, mpi) for process in self.processes]
        self.communicators = list[ThreadCommunicator](self._devices)
        self._runs = False
        self._progress: dict[int, tuple[object, float]] = {}
        self.ranks.devices = self

    def run(self, work: Callable[[ThreadCommunicator], T]) -> list[T]:
        """Run `work` on all devices of this rank, at the same time as all other ranks.

        Raises the exception of a device that failed by itself, and RanksFailed if another rank
        failed or devices do not match.
        """
        self._progress.clear()
        for each in self._devices:
            each.begin()
        self._runs = True
        try:
            return super().run(work)
        except Unmatched as error:
            self.ranks.fail_together(Failure("mismatch", error.states))
        finally:
            self._runs = False

    # Status for other ranks -------------------------------------------------------------------

    def waits(self) -> dict[int, Wait | None] | None:
        """Return where each device waits; `None` outside of a run."""
        if not self._runs:
            return None
        busy = self._pool.busy
        with self.lock:
            self.rank.mail.poll()
            return {
                each.process: each.wait() if number in busy else Wait(0, None)
                for number, each in enumerate(self._devices)
            }

    def traffic(self) -> dict[int, Traffic]:
        """Return the messages that each device has exchanged."""
        return {each.process: each.context.traffic() for each in self._devices}

    # Monitoring the devices -------------------------------------------------------------------

    def _await(self, has_ended: bool) -> None:
        try:
            while not has_ended:
                self.ranks.check()
                self._check_timeouts()
                has_ended = self._pool.wait(self._check_period)
        except BaseException:
            self.fail()
            # Give released devices time to end.
            deadline = time.monotonic() + END_SECONDS
            while not has_ended and time.monotonic() < deadline:
                has_ended = self._pool.wait(self._check_period)
            raise

    def _check_timeouts(self) -> None:
        """Raise RanksFailed if a device has waited longer than the timeout."""
        waits, traffic = self.waits() or {}, self.traffic()
        now, late = time.monotonic(), list[int]()
        for process, wait in waits.items():
            progress = wait, traffic[process]
            before, since = self._progress.get(process, (None, now))
            if before != progress:
                since = now
            self._progress[process] = progress, since
            if wait is not None and wait.state is not None and now - since > self.ranks.timeout:
                late.append(process)
        if not late:
            return
        # Prefer a device that waits for another rank: its message says more than that of a device
        # that waits for that device.
        process = next((each for each in late if traffic[each].awaited), late[0])
        wait = waits[process]
        assert wait is not None and wait.state is not None
        awaited = traffic[process].awaited or self._missing(wait.state, waits)
        content = (process, wait.state, awaited, self.ranks.timeout)
        self.ranks.fail_together(Failure("timeout", content))

    def _missing(self, state: PlainState, waits: dict[int, Wait | None]) -> tuple[int, ...]:
        """Return the devices of this rank that have not arrived at a collective."""
        signature = CollectiveSignature.parse(state[0])
        group = () if signature is None else signature.group
        missing = [each for each in group if each in waits and _state(waits[each]) != state]
        return tuple(missing or group)


def _state(wait: Wait | None) -> PlainState | None:
    return None if wait is None else wait.state


class MpiThreadCommunicator(MessageCommunicator, ThreadCommunicator):
    """The communicator of one device thread of an MPI rank."""

    def __init__(self, group: MpiThreadGroup, process: int, mpi: object) -> None:
        super().__init__(group, process)
        self._group = group
        self.context = MessageContext(mpi, process, group.count, group.status)
        self._notices = SizeChangeNotices(process, self.context, self._command)
        self._awaited: PlainState | None = None
        self._channels: Sequence[Channel] = ()
        self._received = self._posts = self._sent_before = 0

    @property
    def world(self) -> Group:
        return Group(tuple(range(self._group.ranks.size * self._group.count)), self.process)

    @property
    def core_sharers(self) -> int:
        return self._group.ranks.core_sharers * self._group.count

    @property
    def sent_messages(self) -> int:
        return self._sent - self._sent_before

    @property
    def _sent(self) -> int:
        return sum(self.context.traffic().sent) + self._posts

    def begin(self) -> None:
        """Prepare for a run."""
        self.context.reset()
        self._awaited = None
        self._sent_before = self._sent

    def wait(self) -> Wait | None:
        """Return where this device waits, `None` if it does not.

        The caller holds the lock of the group.
        """
        if self._awaited is not None:
            has_arrived = self._group.rank.mail.holds(self._channels)
            return None if has_arrived else Wait(-1 - self._received, self._awaited)
        found = self.context.wait()
        return None if found is None else Wait(*found)

    # Collectives ------------------------------------------------------------------------------

    def exchange(
        self, group: Group, state: DeviceState, numbers: tuple[int, ...]
    ) -> list[tuple[int, ...]]:
        count, everybody = len(numbers), group.size
        gather = gather_of_vectors(group, I64, [count] * everybody)
        source, result = Buffer(8 * count), Buffer(8 * count * everybody)
        own = np.array(numbers, np.int64)
        found = np.zeros((everybody, count), np.int64)
        command = self._command(gather, source, result, state, "numbers")
        run_commands([command], {source: as_bytes(own), result: as_bytes(found)})
        return [tuple(each) for each in found.tolist()]

    @property
    def _rank(self) -> Rank:
        return self._group.rank

    def _waits(self, state: PlainState) -> Self:
        return self

    def _rank_devices(self, group: Group) -> tuple[int, RankBarrier]:
        words = self._group.barrier(group).ctypes.data
        slots = [slot(words, each) for each in range(group.size)]
        return self._group.count, RankBarrier(words, slots)

    def check_for_failures(self) -> None:
        """Do nothing: the main thread checks for failures while this device waits."""

    def mismatched(self) -> NoReturn:
        """Raise Unmatched: another device has come for another collective."""
        own = self.context.reached()
        self._mismatched(dict([own, self.context.mismatch()]))

    def _mismatched(self, states: dict[int, PlainState]) -> NoReturn:
        raise Unmatched(states)

    # Messages ---------------------------------------------------------------------------------

    def _post(self, channel: Channel, message: bytearray) -> None:
        rank = self._group.rank
        with self._group.lock:
            rank.posted += 1
            self._posts += channel[0] != rank.process
            rank.mail.send(*channel, message)

    def _take(
        self, channels: Sequence[Channel], own: PlainState, state: DeviceState
    ) -> tuple[Channel, bytearray]:
        rank = self._group.rank
        while not self._group.status[0]:
            with self._group.lock:
                rank.mail.poll()
                found = rank.mail.take(channels)
                self._awaited = own if found is None else None
                self._channels = channels
                if found is not None:
                    self._received += 1
                    rank.taken += 1
                    return found
            time.sleep(POLL_PERIOD)
        raise DeviceFailed(state)

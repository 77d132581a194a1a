"""Devices as MPI ranks: one process each, through mpi4py.

Start them with `mpiexec -n N mesh-run --backend=mpi ...`, or run a program of your own with
`mpiexec -n N python -m mpi4py ...`. Before data move, ranks compare the signatures of their
collectives, point to point, so that data of one collective cannot be mistaken for those of another.
`failure_coordinator.py` detects deadlocks.

Collectives are lists of steps that native code carries out (`messages/collective_steps.py`). Python
runs only where a rank waits for long, or where ranks do not match.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, NoReturn, Self

from ...sharding.collective_matching import (
    ENDED,
    CollectiveMismatch,
    CollectiveSignature,
    DeviceState,
    names,
)
from ..collectives import Group
from ..communicator import RankError
from ..messages.context import PlainState, Traffic
from ..messages.size_changes import SizeChangeNotices
from .failure_coordinator import Failure
from .mailbox import Channel, unpacked
from .message_communicator import MessageCommunicator
from .rank_supervisor import supervisor
from .rank_threads import MpiThreadGroup

_RUN, _MESSAGES = 1, 2
"""Channels: of comparisons before data move, and the first one of `shard.send` messages."""


class TimedOut(NamedTuple):
    """A device waited for others longer than the timeout.

    `device` is the number of the device, `awaited` those of the others.
    """

    device: int
    state: DeviceState
    awaited: tuple[int, ...]
    seconds: float

    def text(self) -> str:
        """Return the error message."""
        return (
            f"waited {self.seconds:g} s on device {self.device} for {names(self.awaited)}:"
            " is it stuck, or does --timeout give too few seconds?"
        )


class MpiCommunicator(MessageCommunicator):
    """The communicator of this MPI rank."""

    def __init__(self) -> None:
        self.ranks = supervisor()
        self.mail = self.ranks.mailbox
        self.process = self.ranks.rank
        self.context = self.ranks.messages
        self._notices = SizeChangeNotices(self.process, self.context, self._command)
        self._traffic: Traffic | None = None
        self._deadline = 0.0
        self.taken = self.posted = 0
        self._devices = 1
        self._sent_before = 0
        self._groups: dict[int, MpiThreadGroup] = {}
        self._operations: Sequence[object] = ()
        self._numbers: dict[object, int] = {}

    @property
    def world(self) -> Group:
        return Group(tuple(range(self.ranks.size)), self.process)

    @property
    def core_sharers(self) -> int:
        return self.ranks.core_sharers

    @property
    def _sent(self) -> int:
        return sum(self.context.traffic().sent) + self.mail.sent

    @property
    def sent_messages(self) -> int:
        return self._sent - self._sent_before

    def use_operations(self, operations: Sequence[object]) -> None:
        """Set the operations of the program to run, in the same order on all ranks."""
        if self._operations is not operations:
            self._operations = operations
            self._numbers = {operation: number for number, operation in enumerate(operations)}

    # Failures ---------------------------------------------------------------------------------

    def begin(self) -> None:
        """Prepare for a run. Raises RankError if an earlier run failed."""
        if not self.ranks.is_usable():
            raise RankError("a run before this one failed: start the ranks again")
        self.context.reset()
        self.posted = self.taken = 0

    def recover(self) -> None:
        """Reset after a failure that all ranks know; a collective call."""
        self.ranks.recover()
        self.mail, self.context = self.ranks.mailbox, self.ranks.messages
        self._notices = SizeChangeNotices(self.process, self.context, self._command)
        self._groups.clear()

    def timed_out(self, content: tuple[int, PlainState, tuple[int, ...], float]) -> TimedOut:
        """Return a timeout of another rank in terms of this rank's operations."""
        rank, plain, awaited, seconds = content
        return TimedOut(rank, self._state(plain), awaited, seconds)

    def report(self, content: object) -> None:
        """Tell all ranks that this one failed: they raise RanksFailed with `content`."""
        self.ranks.fail(Failure("report", content))

    def mismatch(self, states: Mapping[int, PlainState | None]) -> CollectiveMismatch:
        """Return the error for states that do not match, in terms of this rank's operations."""
        return CollectiveMismatch({rank: self._state(state) for rank, state in states.items()})

    def _state(self, plain: PlainState | None) -> DeviceState:
        if plain is None:
            return ENDED
        text, number = plain
        # A rank that runs another program has other operations.
        is_known = number is not None and number < len(self._operations)
        operation = self._operations[number] if is_known and number is not None else None
        return DeviceState(CollectiveSignature.parse(text), operation)

    def plain(self, state: DeviceState) -> PlainState:
        """Return a state in a form that other ranks understand."""
        text = "None" if state.signature is None else state.signature.text()
        return text, self._numbers.get(state.operation)

    def _mismatched(self, states: dict[int, PlainState]) -> NoReturn:
        """Tell all ranks that devices do not match. Raises RanksFailed."""
        self.ranks.fail_together(Failure("mismatch", states))

    # Comparing --------------------------------------------------------------------------------

    def exchange(
        self,
        group: Group,
        state: DeviceState,
        numbers: tuple[int, ...],
    ) -> list[tuple[int, ...]]:
        found = self._compare(group, self.plain(state), _RUN, numbers)
        return [found[process] for process in group.processes]

    def _compare(
        self,
        group: Group,
        state: PlainState,
        tag: int,
        numbers: tuple[int, ...] = (),
    ) -> dict[int, tuple[int, ...]]:
        """Check that a group has reached the same collective; return the numbers of each process.

        In round k each process sends what it knows to the one 2^k places after it. After all rounds
        each process knows everything, and no process sends anything before what it received
        matches.
        """
        known = {self.process: numbers}
        distance = 1
        while distance < group.size:
            receiver = group.processes[(group.index + distance) % group.size]
            sender = group.processes[(group.index - distance) % group.size]
            self.mail.send(receiver, tag, pickle.dumps((state, known)))
            _, message = self._await_message([(sender, tag)], state)
            theirs, received = pickle.loads(message)
            if not _are_equal(state[0], theirs[0]):
                count = self._devices
                self._mismatched({self.process * count: state, sender * count: theirs})
            known |= received
            distance *= 2
        return known

    def _await_message(
        self, channels: Sequence[Channel], state: PlainState
    ) -> tuple[Channel, bytearray]:
        """Wait for a message in one of some channels; return the channel and the message."""
        deadline = time.monotonic() + self.ranks.timeout
        turns = 0
        self.ranks.enter(state)
        while True:
            self.mail.poll()
            found = self.mail.take(channels)
            if found is not None:
                break
            turns += 1
            if turns % 64 == 0:
                self._turn(deadline, state, [sender for sender, _ in channels])
        self.ranks.leave()
        return found

    def _turn(self, deadline: float, state: PlainState, awaited: Sequence[int]) -> None:
        """Check for failures and the timeout while this rank waits. Raises RanksFailed."""
        time.sleep(0)
        self.ranks.check()
        if time.monotonic() > deadline:
            count = self._devices
            others = tuple(each * count for each in awaited)
            content = (self.process * count, state, others, self.ranks.timeout)
            self.ranks.fail_together(Failure("timeout", content))

    def end(self) -> None:
        """Finish a run; a collective call. Raises RanksFailed if a message was never received."""
        state = self.plain(ENDED)
        numbers = (self.posted, self.taken)
        found = self._compare(self.world, state, _RUN, numbers).values()
        if sum(posted - taken for posted, taken in found):
            count = self._devices
            channels = [
                self.channel(sender, receiver, sender)
                for sender in range(self.ranks.size * count)
                for receiver in self.processes
            ]
            (rank, tag), message = self._await_message(channels, state)
            sender, receiver = divmod(tag - _MESSAGES, count)
            sent, _ = unpacked(message)
            first = self.processes[0]
            self._mismatched({rank * count + sender: sent, first + receiver: state})

    # Devices ----------------------------------------------------------------------------------

    @property
    def processes(self) -> range:
        """The grid processes (devices) of this rank."""
        return range(self.process * self._devices, (self.process + 1) * self._devices)

    def threads(self, devices: int) -> MpiThreadGroup | None:
        """Return the threads of this rank's devices, `None` for one device; a collective call.

        Raises RankError for several devices if MPI does not support THREAD_MULTIPLE.
        """
        self._devices = devices
        self._sent_before = self._sent
        if devices == 1:
            return None
        if not self.ranks.has_threads:
            raise RankError(
                "this MPI does not let threads send and receive (MPI_THREAD_MULTIPLE), which"
                " several devices of a rank need"
            )
        found = self._groups.get(devices)
        if found is None:
            found = self._groups[devices] = MpiThreadGroup(self, devices)
        self.ranks.devices = found
        return found

    def channel(self, sender: int, receiver: int, other: int) -> Channel:
        """Return the channel of messages between two devices, `other` being one of them."""
        count = self._devices
        return other // count, _MESSAGES + sender % count * count + receiver % count

    # Messages ---------------------------------------------------------------------------------

    @property
    def _rank(self) -> Self:
        return self

    def _waits(self, state: PlainState) -> _Waits:
        return _Waits(self, state)

    def _rank_devices(self, group: Group) -> tuple[int, None]:
        return 1, None

    def _post(self, channel: Channel, message: bytearray) -> None:
        self.posted += 1
        self.mail.send(*channel, message)

    def _take(
        self, channels: Sequence[Channel], own: PlainState, state: DeviceState
    ) -> tuple[Channel, bytearray]:
        found = self._await_message(channels, own)
        self.taken += 1
        return found

    def check_for_failures(self, state: PlainState) -> None:
        """Check for failures and the timeout in a collective. Raises RanksFailed.

        The timeout is measured from the last change of the message counts.
        """
        self.mail.poll()
        traffic = self.context.traffic()
        if traffic != self._traffic:
            self._traffic, self._deadline = traffic, time.monotonic() + self.ranks.timeout
        self.ranks.enter(state, is_new=False)
        self._turn(self._deadline, state, traffic.awaited)
        self.ranks.leave()

    def mismatched(self, state: PlainState) -> NoReturn:
        """Report that a message belongs to another collective. Raises RanksFailed."""
        sender, theirs = self.context.mismatch()
        self._mismatched({self.process: state, sender: theirs})


@dataclass(frozen=True, slots=True)
class _Waits:
    """What Python does while a rank waits in a collective."""

    communicator: MpiCommunicator
    state: PlainState

    def check_for_failures(self) -> None:
        self.communicator.check_for_failures(self.state)

    def mismatched(self) -> NoReturn:
        self.communicator.mismatched(self.state)


def _are_equal(one: str, other: str) -> bool:
    """Whether two texts are equal signatures."""
    return one == other or CollectiveSignature.parse(one) == CollectiveSignature.parse(other)


@cache
def world_communicator() -> MpiCommunicator:
    """Return this process's communicator among all ranks."""
    return MpiCommunicator()

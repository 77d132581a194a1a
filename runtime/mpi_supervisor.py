"""How MPI ranks fail together: one rank's failure ends the waiting of all, and is told once.

Every rank tells rank 0 when it fails and when it ends; rank 0 tells all what has happened. It does
so in a thread of its own, so that it answers while it computes. The same thread finds out whether
ranks wait for each other in vain: it asks all of them twice where they wait and how many messages
they have sent and received. If all waited both times, at the same places, and what was sent has
been received, nothing can happen any more. No clock decides that, however slow a rank is.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple, NoReturn, Protocol

from mpi4py import MPI

from .abi.arguments import InputError
from .abi.cores import core_numbers
from .message_context import MessageContext, PlainState, Traffic
from .mpi_abort import abort, print_error
from .mpi_mail import Mailbox, Notes

PERIOD = 0.02
"""Seconds between two looks of rank 0 at what it has been told."""

ROUND = 0.1
"""Seconds between two questions where ranks wait."""

SETTLING = 0.1
"""Seconds in which other ranks may fail as well before the lowest one's message is printed."""

GRACE = 2.0
"""Seconds in which all ranks must end after one has failed."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run has failed: states that do not match, what a rank says of its own failure, or that
    it has waited in vain: the rank, its state, those that it waited for, and seconds."""

    kind: Literal["mismatch", "report", "timeout", "exit"]
    content: Any


class RanksFailed(Exception):
    """Another rank failed, or ranks do not match."""

    def __init__(self, failure: Failure) -> None:
        super().__init__("another rank failed")
        self.failure = failure


class Wait(NamedTuple):
    """A device waits: for the how many-th time, and where.

    One without a state has finished. In a collective, `number` may stay the same: its messages are
    counted instead.
    """

    number: int
    state: PlainState | None


class _Status(NamedTuple):
    """What a rank answers: where its devices wait, messages of its own mailbox, and those of its
    collectives, by whether they are a device's and by the number of the device or the rank."""

    waits: dict[int, Wait | None]
    sent: int
    received: int
    traffic: dict[tuple[bool, int], Traffic]


class Devices(Protocol):
    """The devices of a rank that has several, each a thread."""

    def waits(self) -> dict[int, Wait | None] | None:
        """Where each waits, in a run; nothing if there is none."""
        ...

    def traffic(self) -> dict[int, Traffic]:
        """What each has sent and received."""
        ...

    @property
    def processes(self) -> Sequence[int]:
        """Their numbers."""
        ...


def _timeout() -> float:
    """Seconds to wait for a rank that does not answer. Raises InputError for what are none."""
    text = os.environ.get("MESH_OPT_MPI_TIMEOUT", "300")
    with suppress(ValueError):
        if float(text) > 0:
            return float(text)
    raise InputError(f"MESH_OPT_MPI_TIMEOUT is {text!r}, expected seconds, more than 0")


class Supervisor:
    """This rank among all of the world; its methods are for the main thread."""

    def __init__(self, world: Any) -> None:
        self.rank = int(world.Get_rank())
        self.size, self.timeout = int(world.Get_size()), _timeout()
        self.core_sharers = _core_sharers(world)
        self._world = world
        self._generation = 0
        self._dropped: list[object] = []
        self.mailbox = Mailbox(world)
        self.messages = MessageContext(world.Dup(), self.rank)
        self.devices: Devices | None = None
        """Those of a rank that has several; all ranks have as many."""
        self._notes = Notes(world)
        self._waits = 0
        self._wait: Wait | None = None
        self._is_finished = False
        self._exit_code: int | None = None
        self._is_printed = False
        self._failure: Failure | None = None
        self._is_failure_known = False
        self._question: int | None = None
        self._monitor = _Monitor(self, self._notes) if self.rank == 0 else None
        self.has_threads = MPI.Query_thread() == MPI.THREAD_MULTIPLE
        """Whether threads may send and receive."""
        if self._monitor is not None and self.has_threads and self.size > 1:
            self._monitor.start()
        if self.size > 1:
            atexit.register(self._leave)

    def new_communicator(self) -> object:
        """MPI's communicator of all ranks for messages of one kind; all ranks ask.

        Raises RanksFailed.
        """
        found, request = self._world.Idup()
        while not request.Test():
            self.check()
            time.sleep(PERIOD / 20)
        return found

    def gathered(self, value: str) -> list[str]:
        """What each rank says; all ranks ask, before anything else."""
        return list(self._world.allgather(value))

    # Waiting ----------------------------------------------------------------------------------

    def enter(self, state: PlainState, *, is_new: bool = True) -> None:
        """This rank waits from now on; or it still does so, in a collective."""
        self._waits += is_new
        self._wait = Wait(self._waits, state)

    def leave(self) -> None:
        """This rank goes on."""
        self._wait = None

    def check(self) -> None:
        """Look at what rank 0 says. Raises RanksFailed if the run has failed."""
        self._serve()
        if self._failure is not None:
            self._is_failure_known = True
            raise RanksFailed(self._failure)

    def is_usable(self) -> bool:
        """Whether a run may begin: what one that failed has left behind is not cleaned up.

        A rank that is alone starts afresh. Raises RanksFailed if another has failed in this run.
        """
        if self.size == 1:
            self._failure = None
            self.mailbox.clear()
            self._generation += 1
            if self._monitor is not None:
                self._monitor.forget()
        elif not self._is_failure_known:
            self.check()
        return self._failure is None

    def verdict(self) -> Failure:
        """What all ranks are told of a failure, this one's or another's."""
        self._is_failure_known = True
        while self._failure is None:
            self._serve()
            time.sleep(PERIOD / 4)
        return self._failure

    def recover(self) -> None:
        """Begin again after a failure that all ranks know; all call this. What was under way is
        dropped."""
        request = self._world.Ibarrier()
        while not request.Test():
            self._serve()
            time.sleep(PERIOD / 20)
        self._generation += 1
        # Messages that nobody received may still be written to.
        self._dropped.append((self.mailbox, self.messages, self.devices))
        self.devices = None
        self.mailbox = Mailbox(self._world)
        self.messages = MessageContext(self._world.Dup(), self.rank)
        self._failure = None
        self._is_failure_known = False
        if self._monitor is not None:
            self._monitor.forget()

    # Failing and ending -----------------------------------------------------------------------

    def fail(self, failure: Failure) -> None:
        """Tell all ranks of a failure, of which they may know already."""
        self._is_failure_known = True
        self._tell(("failure", self._generation, failure))

    def fail_together(self, failure: Failure) -> NoReturn:
        """The same, and raise RanksFailed with what all others raise."""
        self.fail(failure)
        deadline = time.monotonic() + GRACE
        while time.monotonic() < deadline:
            self.check()
            time.sleep(PERIOD / 4)
        raise RanksFailed(failure)

    def finish(self, code: int, text: str, patience: float | None = None) -> int:
        """End together with all other ranks; returns the exit code of all of them.

        With a code other than 0 rank 0 prints a text, that of the lowest rank that failed, and
        ends ranks that do not come to their end. `patience` is how long to wait for those that
        have not failed, in seconds.
        """
        if self._is_finished:
            return code
        self._is_finished = True
        self._waits += 1
        self._wait = Wait(self._waits, None)
        self._tell(("exit", code, text))
        start = time.monotonic()
        while self._exit_code is None:
            self.mailbox.poll()
            self._serve()
            time.sleep(0.001)
            waited = time.monotonic() - start
            if code and waited > GRACE + 1 + self.rank % 16 / 4:
                # Rank 0 does not end all, and nobody before this one has.
                if not self._is_printed:
                    print_error(text)
                abort(code)
            if patience is not None and waited > patience:
                return code
        if self._exit_code:
            # What was interrupted may keep MPI from coming to its end.
            timer = threading.Timer(GRACE, os._exit, (self._exit_code,))
            timer.daemon = True
            timer.start()
        else:
            self._take_last_notes()
        return self._exit_code

    def _take_last_notes(self) -> None:
        """Receive what is under way, as MPI complains of messages that nobody has received."""
        request = self._world.Ibarrier()
        deadline = time.monotonic() + GRACE
        while not request.Test() and time.monotonic() < deadline:
            time.sleep(0.001)
        if self._monitor is None:
            self._notes.receive()
        else:
            self._monitor.step()

    def _leave(self) -> None:
        """The process ends: well, or by an exception that nobody has caught."""
        if not MPI.Is_finalized():
            self.finish(int(getattr(sys, "last_value", None) is not None), "", GRACE)
        if self._monitor is not None:
            self._monitor.stop()

    # What is said between ranks ---------------------------------------------------------------

    def _status(self) -> _Status:
        """Where this rank waits, and what it has sent and received."""
        mail, devices = self.mailbox, self.devices
        traffic = {(False, self.rank): self.messages.traffic()}
        waits: dict[int, Wait | None] = {self.rank: self._wait}
        if devices is not None:
            traffic |= {(True, process): each for process, each in devices.traffic().items()}
            waits = devices.waits() or dict.fromkeys(devices.processes, self._wait)
        return _Status(waits, mail.sent, mail.received, traffic)

    def told(self, note: tuple[Any, ...]) -> None:
        """What rank 0 says."""
        match note:
            case ("status", number):
                self._question = number
            case ("failure", failure):
                self._failure = self._failure or failure
            case ("printed",):
                self._is_printed = True
            case ("end", code):
                self._exit_code = code
            case _:
                raise ValueError(f"rank 0 says {note}")

    def _tell(self, note: tuple[Any, ...]) -> None:
        if self._monitor is None:
            self._notes.send(0, note)
        else:
            self._monitor.told(0, note)

    def _serve(self) -> None:
        if self._monitor is None:
            for _, note in self._notes.receive():
                self.told(note)
        elif not self._monitor.has_thread:
            self._monitor.step()
        number, self._question = self._question, None
        if number is not None:
            self._tell(("status", number, self._status()))


class _Monitor:
    """What rank 0 does for all ranks."""

    def __init__(self, supervisor: Supervisor, notes: Notes) -> None:
        self._supervisor = supervisor
        self._notes = notes
        self._lock = threading.RLock()
        self._generation = 0
        self._reporter: int | None = None
        self._has_failed = False
        self._exits: dict[int, tuple[int, str]] = {}
        self._first_failure = 0.0
        self._has_printed = False
        self._is_over = False
        self._round = 0
        self._next_round = 0.0
        self._is_asking = False
        self._replies: dict[int, _Status] = {}
        self._previous: dict[int, _Status] | None = None
        self._thread: threading.Thread | None = None

    @property
    def has_thread(self) -> bool:
        """Whether it looks after the ranks by itself."""
        return self._thread is not None

    def start(self) -> None:
        """Look after the ranks in a thread."""
        self._thread = threading.Thread(target=self._run, daemon=True, name="mesh-opt-ranks")
        self._thread.start()

    def stop(self) -> None:
        """Look after the ranks no longer: MPI ends."""
        self._is_over = True
        if self._thread is not None:
            self._thread.join(GRACE)

    def forget(self) -> None:
        """Forget a failure, and questions that nobody will answer."""
        with self._lock:
            self._generation += 1
            self._has_failed = self._is_asking = False
            self._reporter = None
            self._previous = None
            self._replies = {}

    def _run(self) -> None:
        while not self._is_over and not MPI.Is_finalized():
            self.step()
            time.sleep(PERIOD)

    def step(self) -> None:
        """Take in what ranks have said, and do what is due."""
        with self._lock:
            for rank, note in self._notes.receive():
                self.told(rank, note)
            if not self._has_failed and not self._is_over:
                self._look_for_deadlock()
            self._end()

    def told(self, rank: int, note: tuple[Any, ...]) -> None:
        """What a rank says, this one included."""
        with self._lock:
            match note:
                case ("status", number, status):
                    if number == self._round:
                        self._replies[rank] = status
                case ("failure", generation, failure):
                    # A failure before the last recovery is over.
                    if generation == self._generation:
                        if failure.kind == "report" and not self._has_failed:
                            self._reporter = rank
                        self._fail(failure)
                case ("exit", code, text):
                    self._exits[rank] = (code, text)
                    if code and not self._first_failure:
                        self._first_failure = time.monotonic()
                        self._fail(Failure("exit", (rank, text)))
                case _:
                    raise ValueError(f"rank {rank} says {note}")

    def _tell(self, rank: int, note: tuple[Any, ...]) -> None:
        if rank == 0:
            self._supervisor.told(note)
        else:
            self._notes.send(rank, note)

    def _fail(self, failure: Failure) -> None:
        if not self._has_failed:
            self._has_failed = True
            for rank in range(self._supervisor.size):
                self._tell(rank, ("failure", failure))

    # Deadlocks --------------------------------------------------------------------------------

    def _look_for_deadlock(self) -> None:
        """Ask all ranks where they wait, and compare two answers of each. Who waits answers."""
        if len(self._replies) == self._supervisor.size:
            previous, self._previous, self._replies = self._previous, self._replies, {}
            self._is_asking = False
            if previous is not None and _is_deadlock(previous, self._previous):
                self._end_deadlock(self._previous)
                return
        if time.monotonic() < self._next_round:
            return
        if self._is_asking:
            return
        self._next_round = time.monotonic() + ROUND
        self._round += 1
        self._is_asking = True
        for rank in range(self._supervisor.size):
            self._tell(rank, ("status", self._round))

    def _end_deadlock(self, found: dict[int, _Status]) -> None:
        """Tell all ranks that they do not match."""
        waits = {device: wait for each in found.values() for device, wait in each.waits.items()}
        self._previous = None
        states = {device: wait.state for device, wait in waits.items() if wait is not None}
        self._fail(Failure("mismatch", states))

    # The end ----------------------------------------------------------------------------------

    def _end(self) -> None:
        """Print the message of a failure once, and end all ranks."""
        since = time.monotonic() - self._first_failure if self._first_failure else 0.0
        is_complete = len(self._exits) == self._supervisor.size
        # Who has reported a failure has most to say of it.
        patience = SETTLING if self._reporter is None else GRACE / 2
        is_told = is_complete or since > patience or self._reporter in self._exits
        if self._first_failure and not self._has_printed and is_told:
            self._has_printed = True
            failed = [rank for rank, (code, _) in self._exits.items() if code]
            rank = self._reporter if self._reporter in failed else min(failed)
            print_error(self._exits[rank][1])
            for each in range(self._supervisor.size):
                self._tell(each, ("printed",))
        if is_complete and not self._is_over:
            self._is_over = True
            code = max(code for code, _ in self._exits.values())
            for rank in range(self._supervisor.size):
                self._tell(rank, ("end", code))
        elif since > GRACE and not self._is_over:
            abort(1)


def _core_sharers(world: Any) -> int:
    """How many ranks of this machine may use a core that this one may use; all ranks ask."""
    machine = world.Split_type(MPI.COMM_TYPE_SHARED)
    own = core_numbers()
    cores: list[list[int]] = machine.allgather(sorted(own))
    machine.Free()
    return sum(not own.isdisjoint(each) for each in cores)


def _is_deadlock(before: dict[int, _Status], now: dict[int, _Status]) -> bool:
    """Whether all devices have waited between two answers, with no message on its way."""
    waits = [wait for status in now.values() for wait in status.waits.values()]
    traffic = {who: each for status in now.values() for who, each in status.traffic.items()}
    return (
        before == now
        and None not in waits
        and any(wait is not None and wait.state is not None for wait in waits)
        and sum(status.sent - status.received for status in now.values()) == 0
        and not any(
            who not in traffic or traffic[who].sent[receiver] != own.received[sender]
            for (is_device, receiver), own in traffic.items()
            for sender in own.awaited
            for who in [(is_device, sender)]
        )
    )


@cache
def supervisor() -> Supervisor:
    """This process among all ranks; the first call is made by all of them together."""
    return Supervisor(MPI.COMM_WORLD)

"""Failure handling of MPI ranks: a failure of one rank releases all, and is printed once.

Each rank tells rank 0 when it fails and when it ends, and rank 0 tells all ranks what happened. A
thread on rank 0 does so, so that it responds while the rank computes. The same thread detects
deadlocks: it asks all ranks twice where they wait, and how many messages they have sent and
received. If all waited at the same places both times, and all sent messages have been received, no
rank can ever continue. No timing is involved, however slow a rank is.
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
"""Seconds between two polls of rank 0 for notes."""

ROUND = 0.1
"""Seconds between two rounds in which rank 0 asks all ranks where they wait."""

SETTLING = 0.1
"""Seconds in which other ranks may fail too, before the lowest one's message is printed."""

GRACE = 2.0
"""Seconds in which all ranks must end after one has failed."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run failed.

    `content` depends on the kind: for `mismatch` the states by device; for `report` what the rank
    says; for `timeout` (device, state, awaited devices, seconds); for `exit` (rank, text).
    """

    kind: Literal["mismatch", "report", "timeout", "exit"]
    content: Any


class RanksFailed(Exception):
    """Another rank failed, or ranks do not match."""

    def __init__(self, failure: Failure) -> None:
        super().__init__("another rank failed")
        self.failure = failure


class Wait(NamedTuple):
    """A wait of a device: its serial number, and its state.

    A device without a state has finished. In a collective, `number` may stay the same while the
    message counts change.
    """

    number: int
    state: PlainState | None


class _Status(NamedTuple):
    """The status of a rank: its devices' waits, the counts of its mailbox, and collective traffic.

    Traffic is keyed by (whether it is a device's, number of the device or of the rank).
    """

    waits: dict[int, Wait | None]
    sent: int
    received: int
    traffic: dict[tuple[bool, int], Traffic]


class Devices(Protocol):
    """The devices of a rank that has several, each a thread."""

    def waits(self) -> dict[int, Wait | None] | None:
        """Return where each device waits; `None` outside of a run."""
        ...

    def traffic(self) -> dict[int, Traffic]:
        """Return the messages that each device has exchanged."""
        ...

    @property
    def processes(self) -> Sequence[int]:
        """The numbers of the devices."""
        ...


def _timeout() -> float:
    """Return the seconds to wait for a rank that does not respond.

    Raises InputError if malformed.
    """
    text = os.environ.get("MESH_OPT_MPI_TIMEOUT", "300")
    with suppress(ValueError):
        if float(text) > 0:
            return float(text)
    raise InputError(f"MESH_OPT_MPI_TIMEOUT is {text!r}, expected seconds, more than 0")


class Supervisor:
    """This rank's side of failure handling; its methods are for the main thread."""

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
        """The devices of a rank that has several; all ranks have the same number."""
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
        """Whether MPI supports THREAD_MULTIPLE, so that threads may send and receive."""
        if self._monitor is not None and self.has_threads and self.size > 1:
            self._monitor.start()
        if self.size > 1:
            atexit.register(self._leave)

    def new_communicator(self) -> object:
        """Return a new MPI communicator of all ranks; a collective call. Raises RanksFailed."""
        found, request = self._world.Idup()
        while not request.Test():
            self.check()
            time.sleep(PERIOD / 20)
        return found

    def gathered(self, value: str) -> list[str]:
        """Gather a string from each rank; a collective call, before any other communication."""
        return list(self._world.allgather(value))

    # Waiting ----------------------------------------------------------------------------------

    def enter(self, state: PlainState, *, is_new: bool = True) -> None:
        """Record that this rank waits; with `is_new=False`, that it still waits in a collective."""
        self._waits += is_new
        self._wait = Wait(self._waits, state)

    def leave(self) -> None:
        """Record that this rank continues."""
        self._wait = None

    def check(self) -> None:
        """Process notes from rank 0. Raises RanksFailed if the run has failed."""
        self._serve()
        if self._failure is not None:
            self._is_failure_known = True
            raise RanksFailed(self._failure)

    def is_usable(self) -> bool:
        """Whether a run may begin: ranks do not recover from a failed run by themselves.

        A single rank resets itself. Raises RanksFailed if another rank has failed in this run.
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
        """Wait for the failure that all ranks are told, whether this rank's or another's."""
        self._is_failure_known = True
        while self._failure is None:
            self._serve()
            time.sleep(PERIOD / 4)
        return self._failure

    def recover(self) -> None:
        """Reset after a failure that all ranks know; a collective call.

        Messages in flight are dropped.
        """
        request = self._world.Ibarrier()
        while not request.Test():
            self._serve()
            time.sleep(PERIOD / 20)
        self._generation += 1
        # Receive buffers of dropped messages may still be written to.
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
        """Tell all ranks of a failure; they ignore it if they know of one already."""
        self._is_failure_known = True
        self._tell(("failure", self._generation, failure))

    def fail_together(self, failure: Failure) -> NoReturn:
        """Tell all ranks of a failure; raise RanksFailed with the one that all ranks raise."""
        self.fail(failure)
        deadline = time.monotonic() + GRACE
        while time.monotonic() < deadline:
            self.check()
            time.sleep(PERIOD / 4)
        raise RanksFailed(failure)

    def finish(self, code: int, text: str, patience: float | None = None) -> int:
        """End together with all other ranks; return the exit code of all.

        If a code is not 0, rank 0 prints the text of the lowest rank that failed, and aborts ranks
        that do not end. `patience` is how long to wait for ranks that have not failed, in seconds.
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
                # Neither rank 0 nor a rank with a shorter delay has aborted.
                if not self._is_printed:
                    print_error(text)
                abort(code)
            if patience is not None and waited > patience:
                return code
        if self._exit_code:
            # Interrupted operations may keep MPI from finalising.
            timer = threading.Timer(GRACE, os._exit, (self._exit_code,))
            timer.daemon = True
            timer.start()
        else:
            self._take_last_notes()
        return self._exit_code

    def _take_last_notes(self) -> None:
        """Receive notes in flight, since MPI complains about messages that are never received."""
        request = self._world.Ibarrier()
        deadline = time.monotonic() + GRACE
        while not request.Test() and time.monotonic() < deadline:
            time.sleep(0.001)
        if self._monitor is None:
            self._notes.receive()
        else:
            self._monitor.step()

    def _leave(self) -> None:
        """Finish at process exit, normal or by an uncaught exception."""
        if not MPI.Is_finalized():
            self.finish(int(getattr(sys, "last_value", None) is not None), "", GRACE)
        if self._monitor is not None:
            self._monitor.stop()

    # Notes between ranks ----------------------------------------------------------------------

    def _status(self) -> _Status:
        """Return the status of this rank."""
        mail, devices = self.mailbox, self.devices
        traffic = {(False, self.rank): self.messages.traffic()}
        waits: dict[int, Wait | None] = {self.rank: self._wait}
        if devices is not None:
            traffic |= {(True, process): each for process, each in devices.traffic().items()}
            waits = devices.waits() or dict.fromkeys(devices.processes, self._wait)
        return _Status(waits, mail.sent, mail.received, traffic)

    def told(self, note: tuple[Any, ...]) -> None:
        """Handle a note from rank 0."""
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
    """The part of failure handling that rank 0 does for all ranks."""

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
        """Whether the monitor runs in a thread of its own."""
        return self._thread is not None

    def start(self) -> None:
        """Start the monitor's thread."""
        self._thread = threading.Thread(target=self._run, daemon=True, name="mesh-opt-ranks")
        self._thread.start()

    def stop(self) -> None:
        """Stop the monitor before MPI is finalised."""
        self._is_over = True
        if self._thread is not None:
            self._thread.join(GRACE)

    def forget(self) -> None:
        """Clear a failure, and questions that will not be answered."""
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
        """Handle the notes that have arrived, check for deadlocks, and end ranks where due."""
        with self._lock:
            for rank, note in self._notes.receive():
                self.told(rank, note)
            if not self._has_failed and not self._is_over:
                self._look_for_deadlock()
            self._end()

    def told(self, rank: int, note: tuple[Any, ...]) -> None:
        """Handle a note from a rank, including this one."""
        with self._lock:
            match note:
                case ("status", number, status):
                    if number == self._round:
                        self._replies[rank] = status
                case ("failure", generation, failure):
                    # Ignore failures from before the last recovery.
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
        """Ask all ranks where they wait, and compare two answers of each.

        Only waiting ranks answer.
        """
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

    # Exit -------------------------------------------------------------------------------------

    def _end(self) -> None:
        """Print the message of a failure once, and end all ranks."""
        since = time.monotonic() - self._first_failure if self._first_failure else 0.0
        is_complete = len(self._exits) == self._supervisor.size
        # The rank that reported a failure has the most detailed message.
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
    """Count this machine's ranks that share a core with this one; a collective call."""
    machine = world.Split_type(MPI.COMM_TYPE_SHARED)
    own = core_numbers()
    cores: list[list[int]] = machine.allgather(sorted(own))
    machine.Free()
    return sum(not own.isdisjoint(each) for each in cores)


def _is_deadlock(before: dict[int, _Status], now: dict[int, _Status]) -> bool:
    """Whether all devices waited between two answers, with no message in flight."""
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
    """Return this process's supervisor; the first call is collective."""
    return Supervisor(MPI.COMM_WORLD)

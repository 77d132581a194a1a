"""The part of failure handling that rank 0 does for all ranks.

A thread on rank 0 does so, so that it responds while the rank computes. The same thread detects
deadlocks: it asks all ranks twice where they wait, and how many messages they have sent and
received. If all waited at the same places both times, and all sent messages have been received, no
rank can ever continue. No timing is involved, however slow a rank is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from mpi4py import MPI

from ..messages.context import PlainState, Traffic
from .abort import abort, print_error
from .mailbox import Notes

_Note = tuple[Any, ...]

POLL_PERIOD = 0.02
"""Seconds between two polls of rank 0 for notes."""

STATUS_PERIOD = 0.1
"""Seconds between two rounds in which rank 0 asks all ranks where they wait."""

SETTLING_SECONDS = 0.1
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


class Status(NamedTuple):
    """The status of a rank: its devices' waits, the counts of its mailbox, and collective traffic.

    Traffic is keyed by (whether it is a device's, number of the device or of the rank).
    """

    waits: dict[int, Wait | None]
    sent: int
    received: int
    traffic: dict[tuple[bool, int], Traffic]


class Coordinator:
    """The part of failure handling that rank 0 does for all ranks."""

    def __init__(self, ranks: int, handle_own: Callable[[_Note], None], notes: Notes) -> None:
        """`handle_own` handles notes to rank 0 itself."""
        self._ranks = ranks
        self._handle_own = handle_own
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
        self._replies: dict[int, Status] = {}
        self._previous: dict[int, Status] | None = None
        self._thread: threading.Thread | None = None

    @property
    def has_thread(self) -> bool:
        """Whether the coordinator runs in a thread of its own."""
        return self._thread is not None

    def start(self) -> None:
        """Start the coordinator's thread."""
        self._thread = threading.Thread(target=self._run, daemon=True, name="mesh-opt-ranks")
        self._thread.start()

    def stop(self) -> None:
        """Stop the coordinator before MPI is finalised."""
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
            time.sleep(POLL_PERIOD)

    def step(self) -> None:
        """Handle the notes that have arrived, check for deadlocks, and end ranks where due."""
        with self._lock:
            for rank, note in self._notes.receive():
                self.handle(rank, note)
            if not self._has_failed and not self._is_over:
                self._detect_deadlock()
            self._end()

    def handle(self, rank: int, note: _Note) -> None:
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
                    raise ValueError(f"rank {rank} sent the unknown note {note}")

    def _send(self, rank: int, note: _Note) -> None:
        if rank == 0:
            self._handle_own(note)
        else:
            self._notes.send(rank, note)

    def _fail(self, failure: Failure) -> None:
        if not self._has_failed:
            self._has_failed = True
            for rank in range(self._ranks):
                self._send(rank, ("failure", failure))

    # Deadlocks --------------------------------------------------------------------------------

    def _detect_deadlock(self) -> None:
        """Ask all ranks where they wait, and compare two answers of each.

        Only waiting ranks answer.
        """
        if len(self._replies) == self._ranks:
            previous, self._previous, self._replies = self._previous, self._replies, {}
            self._is_asking = False
            if previous is not None and _is_deadlock(previous, self._previous):
                self._end_deadlock(self._previous)
                return
        if time.monotonic() < self._next_round:
            return
        if self._is_asking:
            return
        self._next_round = time.monotonic() + STATUS_PERIOD
        self._round += 1
        self._is_asking = True
        for rank in range(self._ranks):
            self._send(rank, ("status", self._round))

    def _end_deadlock(self, found: dict[int, Status]) -> None:
        """Tell all ranks that they do not match."""
        waits = {device: wait for each in found.values() for device, wait in each.waits.items()}
        self._previous = None
        states = {device: wait.state for device, wait in waits.items() if wait is not None}
        self._fail(Failure("mismatch", states))

    # Exit -------------------------------------------------------------------------------------

    def _end(self) -> None:
        """Print the message of a failure once, and end all ranks."""
        since = time.monotonic() - self._first_failure if self._first_failure else 0.0
        is_complete = len(self._exits) == self._ranks
        # The rank that reported a failure has the most detailed message.
        settling = SETTLING_SECONDS if self._reporter is None else GRACE / 2
        is_settled = is_complete or since > settling or self._reporter in self._exits
        if self._first_failure and not self._has_printed and is_settled:
            self._has_printed = True
            failed = [rank for rank, (code, _) in self._exits.items() if code]
            rank = self._reporter if self._reporter in failed else min(failed)
            print_error(self._exits[rank][1])
            for each in range(self._ranks):
                self._send(each, ("printed",))
        if is_complete and not self._is_over:
            self._is_over = True
            code = max(code for code, _ in self._exits.values())
            for rank in range(self._ranks):
                self._send(rank, ("end", code))
        elif since > GRACE and not self._is_over:
            abort(1)


def _is_deadlock(before: dict[int, Status], now: dict[int, Status]) -> bool:
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

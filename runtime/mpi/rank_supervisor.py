"""Failure handling of MPI ranks: a failure of one rank releases all, and is printed once.

Each rank tells rank 0 when it fails and when it ends, and rank 0 tells all ranks what happened
(`failure_coordinator.py`).
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NoReturn, Protocol

from mpi4py import MPI

from ..abi.arguments import InputError
from ..abi.cores import core_numbers
from ..messages.context import MessageContext, PlainState, Traffic
from .abort import abort, print_error
from .failure_coordinator import GRACE, POLL_PERIOD, Coordinator, Failure, RanksFailed, Status, Wait
from .mailbox import Mailbox, Notes


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
        self._coordinator = (
            Coordinator(self.size, self.handle, self._notes) if self.rank == 0 else None
        )
        self.has_threads = MPI.Query_thread() == MPI.THREAD_MULTIPLE
        """Whether MPI supports THREAD_MULTIPLE, so that threads may send and receive."""
        if self._coordinator is not None and self.has_threads and self.size > 1:
            self._coordinator.start()
        if self.size > 1:
            atexit.register(self._leave)

    def new_communicator(self) -> object:
        """Return a new MPI communicator of all ranks; a collective call. Raises RanksFailed."""
        found, request = self._world.Idup()
        while not request.Test():
            self.check()
            time.sleep(POLL_PERIOD / 20)
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
            if self._coordinator is not None:
                self._coordinator.forget()
        elif not self._is_failure_known:
            self.check()
        return self._failure is None

    def verdict(self) -> Failure:
        """Wait for the failure that all ranks are told, whether this rank's or another's."""
        self._is_failure_known = True
        while self._failure is None:
            self._serve()
            time.sleep(POLL_PERIOD / 4)
        return self._failure

    def recover(self) -> None:
        """Reset after a failure that all ranks know; a collective call.

        Messages in flight are dropped.
        """
        request = self._world.Ibarrier()
        while not request.Test():
            self._serve()
            time.sleep(POLL_PERIOD / 20)
        self._generation += 1
        # Receive buffers of dropped messages may still be written to.
        self._dropped.append((self.mailbox, self.messages, self.devices))
        self.devices = None
        self.mailbox = Mailbox(self._world)
        self.messages = MessageContext(self._world.Dup(), self.rank)
        self._failure = None
        self._is_failure_known = False
        if self._coordinator is not None:
            self._coordinator.forget()

    # Failing and ending -----------------------------------------------------------------------

    def fail(self, failure: Failure) -> None:
        """Tell all ranks of a failure; they ignore it if they know of one already."""
        self._is_failure_known = True
        self._send(("failure", self._generation, failure))

    def fail_together(self, failure: Failure) -> NoReturn:
        """Tell all ranks of a failure; raise RanksFailed with the one that all ranks raise."""
        self.fail(failure)
        deadline = time.monotonic() + GRACE
        while time.monotonic() < deadline:
            self.check()
            time.sleep(POLL_PERIOD / 4)
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
        self._send(("exit", code, text))
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
        if self._coordinator is None:
            self._notes.receive()
        else:
            self._coordinator.step()

    def _leave(self) -> None:
        """Finish at process exit, normal or by an uncaught exception."""
        if not MPI.Is_finalized():
            self.finish(int(getattr(sys, "last_value", None) is not None), "", GRACE)
        if self._coordinator is not None:
            self._coordinator.stop()

    # Notes between ranks ----------------------------------------------------------------------

    def _status(self) -> Status:
        """Return the status of this rank."""
        mail, devices = self.mailbox, self.devices
        traffic = {(False, self.rank): self.messages.traffic()}
        waits: dict[int, Wait | None] = {self.rank: self._wait}
        if devices is not None:
            traffic |= {(True, process): each for process, each in devices.traffic().items()}
            waits = devices.waits() or dict.fromkeys(devices.processes, self._wait)
        return Status(waits, mail.sent, mail.received, traffic)

    def handle(self, note: tuple[Any, ...]) -> None:
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
                raise ValueError(f"rank 0 sent the unknown note {note}")

    def _send(self, note: tuple[Any, ...]) -> None:
        if self._coordinator is None:
            self._notes.send(0, note)
        else:
            self._coordinator.handle(0, note)

    def _serve(self) -> None:
        if self._coordinator is None:
            for _, note in self._notes.receive():
                self.handle(note)
        elif not self._coordinator.has_thread:
            self._coordinator.step()
        number, self._question = self._question, None
        if number is not None:
            self._send(("status", number, self._status()))


def _core_sharers(world: Any) -> int:
    """Count this machine's ranks that share a core with this one; a collective call."""
    machine = world.Split_type(MPI.COMM_TYPE_SHARED)
    own = core_numbers()
    cores: list[list[int]] = machine.allgather(sorted(own))
    machine.Free()
    return sum(not own.isdisjoint(each) for each in cores)


@cache
def supervisor() -> Supervisor:
    """Return this process's supervisor; the first call is collective."""
    return Supervisor(MPI.COMM_WORLD)

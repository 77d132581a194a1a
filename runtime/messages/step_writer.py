"""Writer for the steps of `step_interpreter.py`, which also counts their scratch memory."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from ..moves import ByteSection, piece_words
from .step_interpreter import (
    CHECK,
    CLEAR,
    COPY,
    END,
    FAIL,
    PUBLISH,
    RECEIVE,
    REDUCE,
    RESULT_DATA,
    SCRATCH,
    SEND,
    SYNCHRONIZE,
    WAIT,
)

MESSAGE_BYTES = 1 << 30
"""The largest size of a message: MPI counts bytes in 32 bits."""

LINE = 64
"""Granularity of scratch memory in bytes: a cache line."""

Place = tuple[int, int]
"""A base and an offset in bytes."""


class StepWriter:
    """Writes steps and counts the scratch memory and messages that they use."""

    def __init__(self, participants: int) -> None:
        self.words: list[int] = []
        self.scratch_bytes = 0
        self.messages = 0
        self._others: list[int] = []
        self._bindings = self.room(8 * (participants + 2))

    def room(self, size: int) -> int:
        """Allocate scratch memory and return its offset."""
        start = self.scratch_bytes
        self.scratch_bytes += -(-size // LINE) * LINE
        return start

    @contextmanager
    def carried_out_if(self, is_own: bool) -> Generator[None]:
        """Discard the steps written in a `with` block unless `is_own`; keep their scratch memory.

        Steps that are not own are carried out by another device. All devices of a rank write them,
        so that they agree on the scratch layout.
        """
        words = self.words
        if not is_own:
            self.words = self._others
        yield
        self.words = words

    def message(self, opcode: int, place: Place, size: int, process: int) -> None:
        """Write a step that sends bytes, or receives at most `size` bytes."""
        self.words += (opcode, *place, size, process)
        self.messages += 1

    def send(self, place: Place, size: int, process: int) -> None:
        """Send bytes in as many messages as needed."""
        self._messages(SEND, place, size, process)

    def receive(self, place: Place, size: int, process: int) -> None:
        """Receive bytes in as many messages as needed."""
        self._messages(RECEIVE, place, size, process)

    def _messages(self, opcode: int, place: Place, size: int, process: int) -> None:
        base, offset = place
        for start in range(0, size, MESSAGE_BYTES):
            length = min(size - start, MESSAGE_BYTES)
            self.message(opcode, (base, offset + start), length, process)

    def wait(self) -> None:
        """Wait for all messages so far."""
        self.words.append(WAIT)

    def check(self, place: Place, word: int) -> None:
        """Check that a place has a word, the hash of a header."""
        self.words += (CHECK, *place, word)

    def publish(self, slot: int, header: int) -> None:
        """Publish the addresses of the buffers and of a header in a slot."""
        self.words += (PUBLISH, slot, header)

    def synchronize(self, barrier: int, participants: int) -> None:
        """Wait for the other devices of the rank at a barrier."""
        self.words += (SYNCHRONIZE, barrier, participants)

    def fail(self, status: int) -> None:
        """Fail with a status."""
        self.words += (FAIL, status)

    def end(self) -> None:
        """Write the last step."""
        self.words.append(END)

    def copy(self, target: Place, to: ByteSection, source: Place, origin: ByteSection) -> None:
        """Copy a section of bytes from one place to another."""
        if not origin.bytes:
            return
        self.words += (COPY, *at(target, to), *at(source, origin), *piece_words(to, origin))

    def clear(self, size: int) -> None:
        """Set the result to zero."""
        self.words += (CLEAR, RESULT_DATA, 0, size)

    def reduce(self, kernel: int, count: int, target: Place, sources: Sequence[Place]) -> None:
        """Reduce elements at several places into a target with a kernel."""
        places = [word for each in sources for word in each]
        head = (kernel, count, *target, len(sources), SCRATCH, self._bindings)
        self.words += (REDUCE, *head, *places)


def at(place: Place, part: ByteSection) -> Place:
    """Return the place at which a section begins."""
    return place[0], place[1] + part.start

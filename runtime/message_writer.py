"""Writes lists of steps (`messages.py`), and counts the scratch memory that they take."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from . import messages
from .messages import RESULT_DATA, SCRATCH
from .moves import Box

MESSAGE_BYTES = 1 << 30
"""Of one message: MPI counts bytes in 32 bits."""

LINE = 64
"""Scratch memory is taken in such lines."""

Place = tuple[int, int]
"""A base and an offset."""


class MessageSteps:
    """Writes steps, and counts the scratch memory that they use."""

    def __init__(self, participants: int) -> None:
        self.words: list[int] = []
        self.scratch_bytes = 0
        self.messages = 0
        self._others: list[int] = []
        self._bindings = self.room(8 * (participants + 2))

    def room(self, size: int) -> int:
        """Scratch memory that nobody else uses."""
        start = self.scratch_bytes
        self.scratch_bytes += -(-size // LINE) * LINE
        return start

    @contextmanager
    def carried_out_if(self, is_own: bool) -> Generator[None]:
        """Write steps that take scratch memory, but are for another device unless `is_own`."""
        words = self.words
        if not is_own:
            self.words = self._others
        yield
        self.words = words

    def message(self, opcode: int, place: Place, size: int, process: int) -> None:
        """Send or receive bytes, or fewer than there is memory for."""
        self.words += (opcode, *place, size, process)
        self.messages += 1

    def messages_of(self, opcode: int, place: Place, size: int, process: int) -> None:
        """The same, in as many messages as it takes."""
        base, offset = place
        for start in range(0, size, MESSAGE_BYTES):
            length = min(size - start, MESSAGE_BYTES)
            self.message(opcode, (base, offset + start), length, process)

    def wait(self) -> None:
        """Wait for all messages so far."""
        self.words.append(messages.WAIT)

    def copy(self, target: Place, to: Box, source: Place, origin: Box) -> None:
        """Copy from one place to another."""
        if not origin.bytes:
            return
        if to.is_contiguous and origin.is_contiguous:
            to, origin = Box(to.start, to.bytes), Box(origin.start, origin.bytes)
        loops = (to.outer, to.outer_pitch, origin.outer_pitch, to.inner)
        pitches = (to.inner_pitch, origin.inner_pitch)
        places = (*at(target, to), *at(source, origin))
        self.words += (messages.COPY, *places, to.size, *loops, *pitches)

    def clear(self, size: int) -> None:
        """Set the result to zero."""
        self.words += (messages.CLEAR, RESULT_DATA, 0, size)

    def reduce(self, kernel: int, count: int, target: Place, sources: Sequence[Place]) -> None:
        """Combine elements of several places."""
        places = [word for each in sources for word in each]
        head = (kernel, count, *target, len(sources), SCRATCH, self._bindings)
        self.words += (messages.REDUCE, *head, *places)


def at(place: Place, part: Box) -> Place:
    """Where a part begins of what lies at a place."""
    return place[0], place[1] + part.start

"""What native code needs of MPI to send messages for a rank (`messages.py`): its context."""

from __future__ import annotations

import ctypes
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from ..sharding.collective_matching import CollectiveSignature
from . import messages

Words = npt.NDArray[np.int64]

PlainState = tuple[str, int | None]
"""What a rank waits for: the text of a signature, and the number of an operation."""

HEADER_BYTES = 1 << 16
"""Of a header at most: its text names all ranks of a group."""

_HEAD_WORDS = 4
"""Of a header before its text: a hash, the rank, the number of the operation, the text's length."""


class Traffic(NamedTuple):
    """Messages of collectives by the other device, and from which devices one is awaited."""

    sent: tuple[int, ...]
    received: tuple[int, ...]
    awaited: tuple[int, ...]


class MessageContext:
    """The words by which native code sends and receives, and the memory that they point to."""

    def __init__(
        self, mpi: Any, process: int, devices: int = 1, abort: Words | None = None
    ) -> None:
        """`mpi` is a communicator for these messages alone, `process` the device that sends them,
        one of so many `devices` of its rank, and `abort` a word that is not 0 when all is to end.
        """
        self._mpi = mpi
        self._process = process
        self._abort: Words = np.zeros(1, np.int64) if abort is None else abort
        size = int(mpi.Get_size()) * devices
        self._words: Words = np.zeros(messages.CONTEXT_WORDS, np.int64)
        self._status: Words = np.zeros(64, np.int64)
        self._sent: Words = np.zeros(size, np.int64)
        self._received: Words = np.zeros(size, np.int64)
        self._requests: Words = np.zeros(0, np.int64)
        self._scratch: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        self._headers: dict[tuple[str, object, int | None], Words] = {}
        self._words[messages.STATUS] = self._status.ctypes.data
        self._words[messages.SENT] = self._sent.ctypes.data
        self._words[messages.RECEIVED] = self._received.ctypes.data
        library = ctypes.CDLL(MPI.__file__)
        for word, function in (
            (messages.ISEND, library.MPI_Isend),
            (messages.IRECV, library.MPI_Irecv),
            (messages.TEST, library.MPI_Test),
        ):
            self._words[word] = ctypes.cast(function, ctypes.c_void_p).value or 0
        self._words[messages.COMMUNICATOR] = _handle(self._mpi)
        self._words[messages.BYTE] = _handle(MPI.BYTE)
        self._words[messages.ABORT] = self._abort.ctypes.data
        self._words[messages.PROCESS] = process
        self._words[messages.DEVICES] = devices

    @property
    def address(self) -> int:
        """Where the words are."""
        return self._words.ctypes.data

    def reset(self) -> None:
        """Forget messages that a failure has left under way."""
        self._words[messages.POSITION] = self._words[messages.OPEN] = 0
        self._words[messages.AWAITS] = self._words[messages.MEETING] = 0
        self._words[messages.SAW_NEW] = self._words[messages.HAS_COME] = 0

    def reserve(self, scratch_bytes: int, requests: int) -> None:
        """Have so much memory for steps; none may be under way."""
        if scratch_bytes + 64 > self._scratch.size:
            self._scratch = np.empty(scratch_bytes + 64, np.uint8)
            start = self._scratch.ctypes.data
            self._words[messages.SCRATCH_START] = start + -start % 64
        if 2 * requests > self._requests.size:
            self._requests = np.zeros(2 * requests, np.int64)
            self._words[messages.REQUESTS] = self._requests.ctypes.data

    def header(self, state: PlainState, shapes: object) -> Words:
        """What tells a collective from others, the first word at once; it stays where it is."""
        key = (state[0], shapes, state[1])
        found = self._headers.get(key)
        if found is None:
            found = self._headers[key] = self._new_header(state, shapes)
        return found

    def _new_header(self, state: PlainState, shapes: object) -> Words:
        text, number = state
        signature = CollectiveSignature.parse(text)
        assert signature is not None
        # The type of what is brought may say its sizes on one rank and leave them open on another.
        compared = CollectiveSignature(
            *(signature.kind, signature.group, None, signature.element, signature.result),
            *(signature.sizes, signature.parameters),
        )
        digest = blake2b(f"{compared.text()} {shapes}".encode(), digest_size=8).digest()
        data = text.encode()
        if len(data) > HEADER_BYTES - 64 * _HEAD_WORDS:
            data = b""
        words = np.zeros((8 * _HEAD_WORDS + len(data) + 63) // 64 * 8, np.int64)
        words[0] = int.from_bytes(digest, "little", signed=True)
        words[1:4] = self._process, -1 if number is None else number, len(data)
        words.view(np.uint8)[8 * _HEAD_WORDS :][: len(data)] = np.frombuffer(data, np.uint8)
        return words

    def mismatch(self) -> tuple[int, PlainState]:
        """The device whose header did not match, and what it has reached."""
        return _read_header(int(self._words[messages.MISMATCH]))

    def reached(self) -> tuple[int, PlainState]:
        """This device, and the collective that it has reached."""
        return _read_header(int(self._words[messages.HEADER]))

    def wait(self) -> tuple[int, PlainState] | None:
        """How often the device has gone on, and where it waits now, if it does; it may be asked for
        by another thread than the device's."""
        words = self._words
        turns, meeting = int(words[messages.TURNS]), int(words[messages.MEETING])
        if meeting:
            # Who was let go goes on when the system lets it.
            generation = ctypes.c_int64.from_address(meeting + 64).value
            if generation != words[messages.GENERATION]:
                return None
        elif not words[messages.AWAITS]:
            return None
        return turns, self.reached()[1]

    def take_resized(self) -> bool:
        """Whether the last collective has told of new sizes, the first time that this is asked."""
        found = bool(self._words[messages.SAW_NEW])
        self._words[messages.SAW_NEW] = 0
        return found

    def traffic(self) -> Traffic:
        """What has been exchanged so far, and from whom something is awaited."""
        senders = self._requests[1::2][: self._words[messages.OPEN]].tolist()
        awaited = tuple(sorted({each for each in senders if each >= 0}))
        return Traffic(tuple(self._sent.tolist()), tuple(self._received.tolist()), awaited)


def _read_header(address: int) -> tuple[int, PlainState]:
    """The device that has written a header, and what it has reached."""
    _, process, number, size = (ctypes.c_int64 * _HEAD_WORDS).from_address(address)
    text = ctypes.string_at(address + 8 * _HEAD_WORDS, min(max(size, 0), HEADER_BYTES))
    return process, (text.decode() or "None", None if number < 0 else number)


def _handle(thing: Any) -> int:
    """What C calls a communicator or a type: an `int` of MPICH, a pointer of Open MPI."""
    mpi: Any = MPI
    kind = ctypes.c_int32 if mpi._sizeof(thing) == 4 else ctypes.c_int64
    return kind.from_address(mpi._addressof(thing)).value

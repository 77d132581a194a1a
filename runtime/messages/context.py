"""The context of native message passing: MPI functions, handles and counters."""

from __future__ import annotations

import ctypes
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from ...sharding.collective_matching import CollectiveSignature
from ..abi.arrays import Words
from ..abi.memory import word_at
from ..protocol import BARRIER_GENERATION
from . import step_interpreter

PlainState = tuple[str, int | None]
"""What a device has reached, without IR: the text of a signature, and an operation's number."""

HEADER_BYTES = 1 << 16
"""The largest size of a header, whose text names all ranks of a group."""

_HEAD_WORDS = 4
"""Words of a header before its text: hash, device, operation number, length of the text."""


class Traffic(NamedTuple):
    """Messages of collectives by the other device, and the devices from which one is awaited."""

    sent: tuple[int, ...]
    received: tuple[int, ...]
    awaited: tuple[int, ...]


class MessageContext:
    """The words by which native code sends and receives, and the memory that they point to."""

    def __init__(
        self, mpi: Any, process: int, devices: int = 1, abort: Words | None = None
    ) -> None:
        """`mpi` is an MPI communicator used for these messages only.

        `process` is the device that sends them, one of `devices` on its rank. `abort` is a word
        that becomes nonzero when all must stop.
        """
        self._mpi = mpi
        self._process = process
        self._abort: Words = np.zeros(1, np.int64) if abort is None else abort
        size = int(mpi.Get_size()) * devices
        self._words: Words = np.zeros(step_interpreter.CONTEXT_WORDS, np.int64)
        self._status: Words = np.zeros(64, np.int64)
        self._sent: Words = np.zeros(size, np.int64)
        self._received: Words = np.zeros(size, np.int64)
        self._requests: Words = np.zeros(0, np.int64)
        self._scratch: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        self._headers: dict[tuple[str, object, int | None], Words] = {}
        self._words[step_interpreter.STATUS] = self._status.ctypes.data
        self._words[step_interpreter.SENT] = self._sent.ctypes.data
        self._words[step_interpreter.RECEIVED] = self._received.ctypes.data
        library = ctypes.CDLL(MPI.__file__)
        for word, function in (
            (step_interpreter.ISEND, library.MPI_Isend),
            (step_interpreter.IRECV, library.MPI_Irecv),
            (step_interpreter.TEST, library.MPI_Test),
        ):
            self._words[word] = ctypes.cast(function, ctypes.c_void_p).value or 0
        self._words[step_interpreter.COMMUNICATOR] = _handle(self._mpi)
        self._words[step_interpreter.BYTE] = _handle(MPI.BYTE)
        self._words[step_interpreter.ABORT] = self._abort.ctypes.data
        self._words[step_interpreter.PROCESS] = process
        self._words[step_interpreter.DEVICES] = devices

    @property
    def address(self) -> int:
        """The address of the words."""
        return self._words.ctypes.data

    def reset(self) -> None:
        """Forget messages that were in flight at a failure."""
        self._words[step_interpreter.POSITION] = self._words[step_interpreter.OPEN] = 0
        self._words[step_interpreter.AWAITS] = self._words[step_interpreter.AT_BARRIER] = 0
        self._words[step_interpreter.SAW_NEW] = self._words[step_interpreter.HAS_ARRIVED] = 0

    def reserve(self, scratch_bytes: int, requests: int) -> None:
        """Allocate scratch memory and requests for steps; no steps may be running."""
        if scratch_bytes + 64 > self._scratch.size:
            self._scratch = np.empty(scratch_bytes + 64, np.uint8)
            start = self._scratch.ctypes.data
            self._words[step_interpreter.SCRATCH_START] = start + -start % 64
        if 2 * requests > self._requests.size:
            self._requests = np.zeros(2 * requests, np.int64)
            self._words[step_interpreter.REQUESTS] = self._requests.ctypes.data

    def header(self, state: PlainState, shapes: object) -> Words:
        """Return the header that identifies a collective; its first word is a hash of it.

        Headers are cached, so that their addresses stay valid.
        """
        key = (state[0], shapes, state[1])
        found = self._headers.get(key)
        if found is None:
            found = self._headers[key] = self._new_header(state, shapes)
        return found

    def _new_header(self, state: PlainState, shapes: object) -> Words:
        text, number = state
        signature = CollectiveSignature.parse(text)
        assert signature is not None
        # The operand type may contain static sizes on one rank and dynamic ones on another, so it
        # is left out.
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
        """Return the device whose header did not match, and its state."""
        return _read_header(int(self._words[step_interpreter.MISMATCH]))

    def reached(self) -> tuple[int, PlainState]:
        """Return this device and the collective that it has reached."""
        return _read_header(int(self._words[step_interpreter.HEADER]))

    def wait(self) -> tuple[int, PlainState] | None:
        """Return how often the device has resumed and where it waits; `None` if it does not wait.

        May be called from other threads than the device's.
        """
        words = self._words
        turns, barrier = int(words[step_interpreter.TURNS]), int(words[step_interpreter.AT_BARRIER])
        if barrier:
            # The others have arrived: the device continues once the system schedules it.
            generation = word_at(barrier + BARRIER_GENERATION).value
            if generation != words[step_interpreter.GENERATION]:
                return None
        elif not words[step_interpreter.AWAITS]:
            return None
        return turns, self.reached()[1]

    def take_resized(self) -> bool:
        """Whether the last collective reported new sizes; clears the flag."""
        found = bool(self._words[step_interpreter.SAW_NEW])
        self._words[step_interpreter.SAW_NEW] = 0
        return found

    def traffic(self) -> Traffic:
        """Return the messages exchanged so far, and the devices from which one is awaited."""
        senders = self._requests[1::2][: self._words[step_interpreter.OPEN]].tolist()
        awaited = tuple(sorted({each for each in senders if each >= 0}))
        return Traffic(tuple(self._sent.tolist()), tuple(self._received.tolist()), awaited)


def _read_header(address: int) -> tuple[int, PlainState]:
    """Return the device that wrote a header, and its state."""
    _, process, number, size = (ctypes.c_int64 * _HEAD_WORDS).from_address(address)
    text = ctypes.string_at(address + 8 * _HEAD_WORDS, min(max(size, 0), HEADER_BYTES))
    return process, (text.decode() or "None", None if number < 0 else number)


def _handle(thing: Any) -> int:
    """Return the C handle of a communicator or type: an `int` in MPICH, a pointer in Open MPI."""
    mpi: Any = MPI
    kind = ctypes.c_int32 if mpi._sizeof(thing) == 4 else ctypes.c_int64
    return kind.from_address(mpi._addressof(thing)).value

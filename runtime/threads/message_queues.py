"""Messages between device threads: queues in memory that native code reads and writes.

A queue leads from one device to another and has one producer and one consumer. Word `[0]` points to
the newest message and is written by the sender only; word `[8]` points to the message taken last
and is written by the receiver only. A message is its own allocation: the next message or 0, its
kind, its bytes, and the number of the sender's state; its data start at byte 64. The first message
of a queue is a dummy inside the queue:

    queue [0] ------------------------------.
    queue [8] -> taken last -> oldest -> newest -> 0
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import finalize

import numpy as np

from ..abi.arrays import Words
from ..abi.memory import free, word_at
from ..abi.native_code import source_of
from ..intrinsics import (
    allocate_aligned,
    atomic_add,
    atomic_load,
    atomic_store,
    copy_bytes,
    cycle_count,
    free_memory,
    load_word,
    store_word,
)
from ..protocol import FAILED, MISMATCHED, RELEASED, RESUMPTIONS, WAITING, YIELDS, back_off

SOURCE = source_of(__file__)

TAKEN = 64
FIRST = 128
"""Offsets in a queue, in bytes: the pointer to the message taken last, and the dummy message."""

KIND, SIZE, STATE, DATA = 8, 16, 24, 64
"""Offsets in a message, in bytes."""

QUEUE_WORDS = 24

CHECK_CYCLES = 1 << 26
"""Cycles after which Python checks for failures: some hundredths of a second."""


def post_message(bindings: Sequence[int], constants: Sequence[int], first: int, last: int) -> int:
    """Put `constants[0]` bytes of binding 1 into a queue: [queue, source, kind, state]."""
    size = constants[0]
    message = allocate_aligned(64, DATA + size)
    if message == 0:
        return FAILED
    store_word(message, 0)
    store_word(message + KIND, bindings[2])
    store_word(message + SIZE, size)
    store_word(message + STATE, bindings[3])
    copy_bytes(message + DATA, bindings[1], size)
    newest = load_word(bindings[0])
    store_word(bindings[0], message)
    atomic_store(newest, message)
    return 0


def take_message(bindings: Sequence[int], constants: Sequence[int], first: int, last: int) -> int:
    """Wait for `constants[0]` bytes of a kind, and take them from the first queue with a message.

    Bindings: [queues, number of queues, status words, target, kind]. Returns MISMATCHED if the
    oldest message has another kind or size.
    """
    polls = 0
    begin = cycle_count()
    while cycle_count() - begin < CHECK_CYCLES:
        for number in range(bindings[1]):
            queue = load_word(bindings[0] + 8 * number)
            taken = load_word(queue + TAKEN)
            message = atomic_load(taken)
            if message != 0:
                if load_word(message + KIND) != bindings[4]:
                    return MISMATCHED
                if load_word(message + SIZE) != constants[0]:
                    return MISMATCHED
                copy_bytes(bindings[3], message + DATA, constants[0])
                store_word(queue + TAKEN, message)
                if taken != queue + FIRST:
                    free_memory(taken)
                atomic_add(bindings[2] + 8 * RESUMPTIONS, 1)
                return 0
        if atomic_load(bindings[2]) != 0:
            return RELEASED
        polls += 1
        back_off(polls, YIELDS)
    return WAITING


class MessageQueue:
    """The queue of messages from one device to another."""

    def __init__(self) -> None:
        self.words: Words = np.zeros(QUEUE_WORDS, np.int64)
        _make_empty(self.words)
        # At exit, threads may still read messages; the system frees them.
        finalize(self, _drop_messages, self.words).atexit = False

    @property
    def address(self) -> int:
        """The address of the queue's words."""
        return int(self.words.ctypes.data)

    def oldest(self) -> int | None:
        """Return the state number of the oldest message; `None` if the queue is empty."""
        message = word_at(int(self.words[TAKEN // 8])).value
        return word_at(message + STATE).value if message else None

    def empty(self) -> None:
        """Drop all messages; no thread may be sending or receiving."""
        _drop_messages(self.words)
        _make_empty(self.words)


def _make_empty(words: Words) -> None:
    words[:] = 0
    words[0] = words[TAKEN // 8] = words.ctypes.data + FIRST


def _drop_messages(words: Words) -> None:
    message = int(words[TAKEN // 8])
    while message:
        following = word_at(message).value
        if message != words.ctypes.data + FIRST:
            free()(message)
        message = following

"""Messages between devices that are threads: queues in memory, which native code reads and writes.

A box has the messages of one device to another. Its words: `[0]` the newest one, which only the
sender sets, `[8]` the one that was taken last, which only the receiver sets. A message is memory of
its own: the next message or 0, its kind, its bytes, and who sent what as a number; 64 bytes later,
what was sent. The first message of a box lies in the box, and was never sent:

    box [0] ------------------------------.
    box [8] -> taken last -> oldest -> newest -> 0
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import NoReturn
from weakref import finalize

import numpy as np

from ..sharding.collective_matching import CollectiveMismatch, DeviceState
from .abi.memory import free
from .abi.native_code import Native, source_of
from .commands import Words
from .intrinsics import SOURCE as INTRINSICS
from .intrinsics import (
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
from .native import FAILED, MEETINGS, MISMATCHED, RELEASED, WAITING, YIELDS, back_off
from .native import SOURCE as NATIVE
from .native_functions import runtime_function

SOURCE = source_of(__file__)

TAKEN = 64
FIRST = 128
"""Where in a box the message is that was taken last, and where the first one lies, in bytes."""

KIND, SIZE, STATE, DATA = 8, 16, 24, 64
"""Where in a message is what, in bytes."""

BOX_WORDS = 24

PATIENCE = 1 << 26
"""Cycles after which Python is to look around: some hundredths of a second."""


def post_message(bindings: Sequence[int], constants: Sequence[int], first: int, last: int) -> int:
    """Put `constants[0]` bytes of binding 1 into a box: [box, source, kind, state]."""
    size = constants[0]
    message = allocate_aligned((DATA + size + 63) // 64 * 64)
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
    """Wait for `constants[0]` bytes of a kind: [boxes, how many, state of the group, target,
    kind]. Of several boxes, the first that has a message."""
    polls = 0
    begin = cycle_count()
    while cycle_count() - begin < PATIENCE:
        for number in range(bindings[1]):
            box = load_word(bindings[0] + 8 * number)
            taken = load_word(box + TAKEN)
            message = atomic_load(taken)
            if message != 0:
                if load_word(message + KIND) != bindings[4]:
                    return MISMATCHED
                if load_word(message + SIZE) != constants[0]:
                    return MISMATCHED
                copy_bytes(bindings[3], message + DATA, constants[0])
                store_word(box + TAKEN, message)
                if taken != box + FIRST:
                    free_memory(taken)
                atomic_add(bindings[2] + 8 * MEETINGS, 1)
                return 0
        if atomic_load(bindings[2]) != 0:
            return RELEASED
        polls += 1
        back_off(polls, YIELDS)
    return WAITING


@cache
def native_mail(name: str) -> Native:
    """The native code of one of this module's functions."""
    return runtime_function(globals()[name], INTRINSICS, NATIVE)


def mail_functions() -> set[Native]:
    """The native functions that carry out messages on threads."""
    return {native_mail(each.__name__) for each in (post_message, take_message)}


class Box:
    """The messages of one device to another."""

    def __init__(self) -> None:
        self.words: Words = np.zeros(BOX_WORDS, np.int64)
        _make_empty(self.words)
        finalize(self, _drop_messages, self.words)

    @property
    def address(self) -> int:
        """Where its words lie."""
        return int(self.words.ctypes.data)

    def oldest(self) -> int | None:
        """The number of the state with which the oldest message was sent, `None` for none."""
        message = _word(int(self.words[TAKEN // 8]))
        return _word(message + STATE) if message else None

    def empty(self) -> None:
        """Drop all messages; nobody may be sending or taking."""
        _drop_messages(self.words)
        _make_empty(self.words)


def _make_empty(words: Words) -> None:
    words[:] = 0
    words[0] = words[TAKEN // 8] = words.ctypes.data + FIRST


def _drop_messages(words: Words) -> None:
    message = int(words[TAKEN // 8])
    while message:
        following = _word(message)
        if message != words.ctypes.data + FIRST:
            free()(message)
        message = following


def _word(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


class Receiver:
    """What Python does for a device that has waited for a message for a while."""

    def __init__(
        self,
        boxes: Sequence[Box],
        state: DeviceState,
        wait: Callable[[Sequence[Box], DeviceState], None],
        mismatch: Callable[[Sequence[Box], DeviceState], CollectiveMismatch],
    ) -> None:
        self.boxes, self.state = boxes, state
        self.addresses: Words = np.array([each.address for each in boxes], np.int64)
        self._wait, self._mismatch = wait, mismatch

    def look_around(self) -> None:
        """Wait until there is a message. Raises DeviceFailed if nobody sends one."""
        self._wait(self.boxes, self.state)

    def mismatched(self) -> NoReturn:
        """Raise CollectiveMismatch: the oldest message is another one."""
        raise self._mismatch(self.boxes, self.state)

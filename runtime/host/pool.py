"""Reference-counted blocks of a device's memory, kept for the next who asks for that size.

A pool is an array of words: for each class of sizes the first free block, then counters. A block
has a header of 64 bytes in front, whose words are the references, the class, the next free block,
the next of all blocks, the bytes that were asked for, those that there are, the device, and a
guard. A block is known by the address behind its header; 0 is no block, such as the memory of an
input.

Classes are four to a power of two, so a block is at most a quarter larger than what it is for.
"""

from __future__ import annotations

import ctypes
import weakref
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ..abi.memory import free
from ..abi.native_code import Native, source_of
from ..commands import Bytes, Words
from ..intrinsics import (
    LARGE_BLOCK,
    allocate_aligned,
    copy_bytes,
    leading_zeros,
    load_word,
    store_8,
    store_word,
    use_large_pages,
)
from ..intrinsics import SOURCE as INTRINSICS
from ..native_functions import runtime_function

SOURCE = source_of(__file__)

Array = npt.NDArray[Any]

CLASSES = 256
USED = CLASSES
"""The word that counts the bytes of blocks in use."""

PEAK = CLASSES + 1
"""The word with the most bytes that were in use at a time."""

BLOCKS = CLASSES + 2
"""The word with the first of all blocks."""

TAKEN = CLASSES + 3
"""The word that counts how often the system was asked for memory."""

CURRENT = CLASSES + 4
"""The word with the number of the device that new blocks are of."""

GUARD_BYTES = CLASSES + 5
"""The word with the number of guard bytes behind each block, 0 if there are none."""

DEVICES = CLASSES + 6
"""The word with the number of devices that blocks may be of, nobody counted in."""

RETURNED = CLASSES + 7
"""The word that counts the blocks that Python has given back, which are in the words behind it. The
next run releases them."""

MOST_RETURNED = 16

ACCOUNTS = RETURNED + 1 + MOST_RETURNED
"""Where the words of each device begin."""

ACCOUNT_WORDS = 8
IN_USE, MOST, ALLOCATED, DISPATCHES, RECEIVED, INPUTS, RESULTS = range(7)
"""Of a device: its bytes in use and the most that were, those of all blocks, how many dispatches it
has run, the bytes that others sent it, and those of inputs and results that lie in its memory."""


def pool_words(devices: int) -> int:
    """The size of a pool for some devices, nobody counted in."""
    return ACCOUNTS + ACCOUNT_WORDS * devices


def account(device: int, word: int) -> int:
    """The number of one of a device's words."""
    return ACCOUNTS + ACCOUNT_WORDS * device + word


def begin_run(pool: int) -> None:
    """Count the most bytes of a run, and what devices do in it, from now on."""
    release_returned(pool)
    store_word(pool + 8 * PEAK, load_word(pool + 8 * USED))
    store_word(pool + 8 * CURRENT, 0)
    for device in range(load_word(pool + 8 * DEVICES)):
        own = pool + 8 * (ACCOUNTS + ACCOUNT_WORDS * device)
        store_word(own + 8 * MOST, load_word(own + 8 * IN_USE))
        for counter in range(ALLOCATED, ACCOUNT_WORDS):
            store_word(own + 8 * counter, 0)


def release_returned(pool: int) -> None:
    """Release what Python has given back."""
    for number in range(load_word(pool + 8 * RETURNED)):
        release(pool, load_word(pool + 8 * (RETURNED + 1 + number)))
    store_word(pool + 8 * RETURNED, 0)


HEADER = 64
GUARD, UNWRITTEN = 0xA5, 0xCB
"""What guard bytes hold, and new blocks that have some."""

LARGEST = 1 << 62
"""Bytes that nobody has, and that can still be counted in a word."""


def size_class(lines: int) -> tuple[int, int]:
    """The class of so many cache lines, and the lines of a block of it."""
    if lines <= 4:
        return lines - 1, lines
    last = lines - 1
    shift = 61 - leading_zeros(last)
    quarter = (last >> shift) & 3
    return 4 * (shift + 1) + quarter, (5 + quarter) << shift


def allocate(pool: int, size: int) -> int:
    """A block of at least `size` bytes with one reference; 0 if there is no memory."""
    if size < 0 or size > LARGEST:
        return 0
    number, lines = size_class(max(1, (size + 63) >> 6))
    capacity = lines << 6
    guard = load_word(pool + 8 * GUARD_BYTES)
    block = load_word(pool + 8 * number)
    if block != 0:
        store_word(pool + 8 * number, load_word(block - HEADER + 16))
    else:
        memory = allocate_aligned(capacity + HEADER + guard)
        if memory == 0:
            return 0
        if capacity >= LARGE_BLOCK:
            use_large_pages(memory, capacity + HEADER + guard)
        block = memory + HEADER
        store_word(memory + 8, number)
        store_word(memory + 24, load_word(pool + 8 * BLOCKS))
        store_word(memory + 40, capacity)
        store_word(pool + 8 * BLOCKS, block)
        store_word(pool + 8 * TAKEN, load_word(pool + 8 * TAKEN) + 1)
    store_word(block - HEADER, 1)
    store_word(block - HEADER + 32, size)
    if guard != 0:
        set_guards(block, size, capacity + guard)
    used = load_word(pool + 8 * USED) + size
    store_word(pool + 8 * USED, used)
    if used > load_word(pool + 8 * PEAK):
        store_word(pool + 8 * PEAK, used)
    device = load_word(pool + 8 * CURRENT)
    store_word(block - HEADER + 48, device)
    own = pool + 8 * (ACCOUNTS + ACCOUNT_WORDS * device)
    used = load_word(own) + size
    store_word(own, used)
    if used > load_word(own + 8 * MOST):
        store_word(own + 8 * MOST, used)
    store_word(own + 8 * ALLOCATED, load_word(own + 8 * ALLOCATED) + size)
    return block


def set_guards(block: int, size: int, end: int) -> None:
    """Let a block hold a pattern, so that nothing finds harmless zeros there, between guards."""
    for position in range(-8, end):
        store_8(block + position, UNWRITTEN if 0 <= position < size else GUARD)


def retain(block: int) -> None:
    """One more reference to a block, if it is one."""
    if block != 0:
        store_word(block - HEADER, load_word(block - HEADER) + 1)


def release(pool: int, block: int) -> None:
    """One reference less to a block, if it is one."""
    if block == 0:
        return
    references = load_word(block - HEADER) - 1
    store_word(block - HEADER, references)
    if references == 0:
        number = load_word(block - HEADER + 8)
        store_word(block - HEADER + 16, load_word(pool + 8 * number))
        store_word(pool + 8 * number, block)
        used = load_word(pool + 8 * USED) - load_word(block - HEADER + 32)
        store_word(pool + 8 * USED, used)
        own = pool + 8 * (ACCOUNTS + ACCOUNT_WORDS * load_word(block - HEADER + 48))
        store_word(own, load_word(own) - load_word(block - HEADER + 32))


def reuse(pool: int, block: int, address: int, size: int) -> int:
    """A block to write `size` bytes to: the given one if it is nobody else's, with one reference
    more, else a new one. `address` is where the bytes are that it holds."""
    if (
        block != 0
        and block == address
        and load_word(block - HEADER) == 1
        and load_word(block - HEADER + 40) >= size
        and (load_word(pool + 8 * GUARD_BYTES) == 0 or load_word(block - HEADER + 32) == size)
    ):
        store_word(block - HEADER, 2)
        return block
    return allocate(pool, size)


def own(pool: int, block: int, address: int, size: int) -> int:
    """What `reuse` gives, holding the bytes that are at an address."""
    found = reuse(pool, block, address, size)
    if found not in (0, address):
        copy_bytes(found, address, size)
    return found


def free_blocks(pool: Words) -> None:
    """Give all of a pool's memory back to the system; no block of it may be used afterwards."""
    block = int(pool[BLOCKS])
    while block:
        following = ctypes.c_int64.from_address(block - HEADER + 24).value
        free()(block - HEADER)
        block = following
    pool[:] = 0


def as_numbers(words: Any) -> Any:
    """The same words in ctypes, which reads and writes them in half of NumPy's time."""
    return (ctypes.c_int64 * len(words)).from_buffer(words)


# For Python -----------------------------------------------------------------------------------


def pool_call(function: int, pool: int, argument: int) -> int:
    """What Python asks of a pool: a block (0), to release one (1), or what was given back (2)."""
    if function == 0:
        return allocate(pool, argument)
    if function == 1:
        release(pool, argument)
    else:
        release_returned(pool)
    return 0


@dataclass(frozen=True, slots=True)
class NativePool:
    """`pool_call` for Python; `code` keeps it in memory."""

    call: Any
    code: Native


@cache
def native_pool() -> NativePool:
    """The native functions, compiled once."""
    native = runtime_function(pool_call, INTRINSICS)
    words = [ctypes.c_int64] * 4
    # Too short to let other threads run meanwhile.
    return NativePool(ctypes.PYFUNCTYPE(*words)(native.address), native)


class Pool:
    """Blocks of memory, which live as long as anybody knows the pool."""

    def __init__(self, devices: int = 1, guard_bytes: int = 0) -> None:
        self.words: Words = np.zeros(pool_words(devices), np.int64)
        self.words[GUARD_BYTES] = guard_bytes
        self.words[DEVICES] = devices
        self._address = self.words.ctypes.data
        self._numbers = as_numbers(self.words)
        self._returned: deque[int] = deque()
        self._native = native_pool().call
        # At exit the system takes the memory back; threads may still be using it.
        weakref.finalize(self, free_blocks, self.words).atexit = False

    def allocate(self, size: int) -> int:
        """A block with one reference. Raises MemoryError."""
        block = self._native(0, self._address, size)
        if not block:
            raise MemoryError(f"a tensor of {size} bytes")
        return int(block)

    def store(self, data: Bytes) -> int:
        """A new block with some bytes. Raises MemoryError."""
        block = self.allocate(data.size)
        ctypes.memmove(block, data.ctypes.data, data.size)
        return block

    def release(self, block: int) -> None:
        """One reference less."""
        self._native(1, self._address, block)

    def give_back(self, block: int) -> None:
        """Release a block before the next run; this may be called at any time."""
        self._returned.append(block)

    def collect(self) -> None:
        """Let the next run release what was given back."""
        numbers, returned = self._numbers, self._returned
        while returned:
            count = numbers[RETURNED]
            if count == MOST_RETURNED:
                self._native(2, self._address, 0)
                count = 0
            numbers[RETURNED + 1 + count] = returned.popleft()
            numbers[RETURNED] = count + 1

    @property
    def current(self) -> int:
        """The number of the device that new blocks are of."""
        return int(self.words[CURRENT])

    @staticmethod
    def size(block: int) -> int:
        """The bytes that a block was asked for."""
        return ctypes.c_int64.from_address(block - HEADER + 32).value

    @staticmethod
    def references(block: int) -> int:
        """How many references there are to a block."""
        return _word_at(block - HEADER).value

    def take(self, address: int, block: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """An array in a block with a reference, which it owns from now on.

        It is copied if others know the block, too, or if it lies somewhere in it.
        """
        size = prod(shape) * dtype.itemsize
        if block == address and self.references(block) == 1:
            memory = _owned_bytes(size).from_address(block)
            memory.pool, memory.block = self, block
            return np.ndarray(shape, dtype, memory)
        copied = view(address, size).copy()
        self._returned.append(block)
        return copied.view(dtype).reshape(shape)

    def guards(self) -> Iterator[tuple[int, int]]:
        """Where the guard bytes of blocks in use begin, and how many there are."""
        guard_bytes = int(self.words[GUARD_BYTES])
        block = int(self.words[BLOCKS])
        while block:
            words = view(block - HEADER, HEADER).view(np.int64)
            references, _, _, following, size, capacity, *_ = (int(word) for word in words)
            if references > 0:
                yield block - 8, 8
                yield block + size, capacity - size + guard_bytes
            block = following

    def count(self, device: int, word: int) -> int:
        """What is counted for a device."""
        return int(self.words[account(device, word)])

    @property
    def used_bytes(self) -> int:
        """The bytes of blocks in use, once what was given back is released."""
        self.collect()
        self._native(2, self._address, 0)
        return int(self.words[USED])

    @property
    def peak_bytes(self) -> int:
        """The most bytes that were in use at a time."""
        return int(self.words[PEAK])


_word_at = ctypes.c_int64.from_address


@lru_cache(maxsize=256)
def _owned_bytes(size: int) -> Any:
    """The type of blocks as bytes that arrays lie in; a block is given back with the last of them.

    An array of ctypes is a buffer, which NumPy takes in half the time of an array interface.
    """

    class OwnedBytes(ctypes.c_uint8 * size):
        pool: Pool
        block: int

        def __del__(self) -> None:
            self.pool.give_back(self.block)

    return OwnedBytes


def view(address: int, size: int) -> Bytes:
    """The bytes at an address, which must stay there for as long as they are looked at."""
    if size == 0:
        return np.empty(0, np.uint8)
    memory: Any = (ctypes.c_uint8 * size).from_address(address)
    return np.frombuffer(memory, np.uint8)

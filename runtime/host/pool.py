"""Pool of reference-counted memory blocks of a device; free blocks are reused by size class.

A pool is an array of words: the first free block of each size class, then counters. A block has a
header of 64 bytes, whose words are the reference count, the class, the next free block, the next of
all blocks, the requested bytes, the capacity, the device, and a guard. A block is identified by the
address behind its header; 0 is not a block, for example for the memory of an input.

There are four classes per power of two, so a block is at most a quarter larger than requested.
"""

from __future__ import annotations

import ctypes
import weakref
from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ..abi.arrays import Array, Bytes, Words
from ..abi.memory import as_numbers, free, word_at
from ..abi.native_code import source_of
from ..intrinsics import (
    LARGE_BLOCK,
    LARGE_PAGE,
    allocate_aligned,
    copy_bytes,
    leading_zeros,
    load_field,
    load_word,
    store_8,
    store_field,
    store_word,
    use_large_pages,
)
from ..native_registry import callable_function

SOURCE = source_of(__file__)

CLASSES = 256
USED = CLASSES
"""The word with the bytes of blocks in use."""

PEAK = CLASSES + 1
"""The word with the peak of the bytes in use."""

BLOCKS = CLASSES + 2
"""The word with the head of the list of all blocks."""

TAKEN = CLASSES + 3
"""The word with the number of allocations from the system."""

CURRENT = CLASSES + 4
"""The word with the id of the device of new blocks."""

GUARD_BYTES = CLASSES + 5
"""The word with the number of guard bytes behind each block, 0 for none."""

DEVICES = CLASSES + 6
"""The word with the number of device ids of blocks, including the id of no device."""

RETURNED = CLASSES + 7
"""The word with the number of blocks that Python has given back.

Their addresses follow. The next run releases them.
"""

MAX_RETURNED = 16

ACCOUNTS = RETURNED + 1 + MAX_RETURNED
"""The first word of the devices' accounts."""

ACCOUNT_WORDS = 8
IN_USE, PEAK_IN_USE, ALLOCATED, DISPATCHES, RECEIVED, INPUTS, RESULTS = range(7)
"""Words of a device's account: bytes in use, their peak, the sum of all allocated bytes,
dispatches, bytes received from other devices, and bytes of inputs and results in the device's
memory.
"""


def pool_words(devices: int) -> int:
    """Return the number of words of a pool for a number of device ids."""
    return ACCOUNTS + ACCOUNT_WORDS * devices


def account(device: int, word: int) -> int:
    """Return the number of a word of a device's account."""
    return ACCOUNTS + ACCOUNT_WORDS * device + word


def account_of(pool: int, device: int) -> int:
    """Return the address of a device's account."""
    return pool + 8 * account(device, 0)


def begin_run(pool: int) -> None:
    """Reset the peak and the devices' counters for a run."""
    release_returned(pool)
    store_field(pool, PEAK, load_field(pool, USED))
    store_field(pool, CURRENT, 0)
    for device in range(load_field(pool, DEVICES)):
        counters = account_of(pool, device)
        store_field(counters, PEAK_IN_USE, load_field(counters, IN_USE))
        for counter in range(ALLOCATED, ACCOUNT_WORDS):
            store_word(counters + 8 * counter, 0)


def release_returned(pool: int) -> None:
    """Release the blocks that Python has given back."""
    for number in range(load_field(pool, RETURNED)):
        release(pool, load_word(pool + 8 * (RETURNED + 1 + number)))
    store_field(pool, RETURNED, 0)


HEADER = 64
REFERENCES, SIZE_CLASS, NEXT_FREE, NEXT_BLOCK, REQUESTED, CAPACITY, OWNER = range(-64, -8, 8)
"""The bytes of a header, and the offsets of its words from the block."""

GUARD, UNWRITTEN = 0xA5, 0xCB
"""Contents of guard bytes, and of new blocks with guards."""

MAX_BLOCK_BYTES = 1 << 62
"""More bytes than can be allocated, small enough that sizes do not overflow a word."""


def size_class(lines: int) -> tuple[int, int]:
    """Return the class of a number of cache lines, and the lines of a block of that class."""
    if lines <= 4:
        return lines - 1, lines
    last = lines - 1
    shift = 61 - leading_zeros(last)
    quarter = (last >> shift) & 3
    return 4 * (shift + 1) + quarter, (5 + quarter) << shift


def allocate(pool: int, size: int) -> int:
    """Return a block of at least `size` bytes with one reference; 0 if out of memory."""
    if size < 0 or size > MAX_BLOCK_BYTES:
        return 0
    number, lines = size_class(max(1, (size + 63) >> 6))
    capacity = lines << 6
    guard = load_field(pool, GUARD_BYTES)
    block = load_word(pool + 8 * number)
    if block != 0:
        store_word(pool + 8 * number, load_word(block + NEXT_FREE))
    else:
        is_large = capacity >= LARGE_BLOCK
        memory = allocate_aligned(LARGE_PAGE if is_large else 64, capacity + HEADER + guard)
        if memory == 0:
            return 0
        if is_large:
            use_large_pages(memory, capacity + HEADER + guard)
        block = memory + HEADER
        store_word(block + SIZE_CLASS, number)
        store_word(block + NEXT_BLOCK, load_field(pool, BLOCKS))
        store_word(block + CAPACITY, capacity)
        store_field(pool, BLOCKS, block)
        store_field(pool, TAKEN, load_field(pool, TAKEN) + 1)
    store_word(block + REFERENCES, 1)
    store_word(block + REQUESTED, size)
    if guard != 0:
        set_guards(block, size, capacity + guard)
    used = load_field(pool, USED) + size
    store_field(pool, USED, used)
    if used > load_field(pool, PEAK):
        store_field(pool, PEAK, used)
    device = load_field(pool, CURRENT)
    store_word(block + OWNER, device)
    counters = account_of(pool, device)
    in_use = load_field(counters, IN_USE) + size
    store_field(counters, IN_USE, in_use)
    if in_use > load_field(counters, PEAK_IN_USE):
        store_field(counters, PEAK_IN_USE, in_use)
    store_field(counters, ALLOCATED, load_field(counters, ALLOCATED) + size)
    return block


def set_guards(block: int, size: int, end: int) -> None:
    """Fill a block with a pattern that shows uninitialised reads, and its guard bytes."""
    for position in range(-8, end):
        store_8(block + position, UNWRITTEN if 0 <= position < size else GUARD)


def retain(block: int) -> None:
    """Add a reference to a block, unless it is 0."""
    if block != 0:
        store_word(block + REFERENCES, load_word(block + REFERENCES) + 1)


def release(pool: int, block: int) -> None:
    """Remove a reference from a block, unless it is 0; free it with the last one."""
    if block == 0:
        return
    references = load_word(block + REFERENCES) - 1
    store_word(block + REFERENCES, references)
    if references == 0:
        number = load_word(block + SIZE_CLASS)
        store_word(block + NEXT_FREE, load_word(pool + 8 * number))
        store_word(pool + 8 * number, block)
        size = load_word(block + REQUESTED)
        store_field(pool, USED, load_field(pool, USED) - size)
        counters = account_of(pool, load_word(block + OWNER))
        store_field(counters, IN_USE, load_field(counters, IN_USE) - size)


def reuse(pool: int, block: int, address: int, size: int) -> int:
    """Return a block to write `size` bytes to.

    It is the given block, with another reference, if that has no other owner, is large enough, and
    its data begin at `address`; otherwise a new block.
    """
    if (
        block != 0
        and block == address
        and load_word(block + REFERENCES) == 1
        and load_word(block + CAPACITY) >= size
        and (load_field(pool, GUARD_BYTES) == 0 or load_word(block + REQUESTED) == size)
    ):
        store_word(block + REFERENCES, 2)
        return block
    return allocate(pool, size)


def own(pool: int, block: int, address: int, size: int) -> int:
    """Return the block of `reuse`, containing the bytes at `address`."""
    found = reuse(pool, block, address, size)
    if found not in (0, address):
        copy_bytes(found, address, size)
    return found


def free_blocks(pool: Words) -> None:
    """Free all memory of a pool; its blocks must not be used afterwards."""
    block = int(pool[BLOCKS])
    while block:
        following = word_at(block + NEXT_BLOCK).value
        free()(block - HEADER)
        block = following
    pool[:] = 0


# For Python -----------------------------------------------------------------------------------


ALLOCATE, RELEASE, RELEASE_RETURNED = range(3)
"""Requests of Python."""


def pool_call(request: int, pool: int, argument: int) -> int:
    """Execute a request of Python on a size or a block; return a new block or 0."""
    if request == ALLOCATE:
        return allocate(pool, argument)
    if request == RELEASE:
        release(pool, argument)
    else:
        release_returned(pool)
    return 0


class Pool:
    """Blocks of memory, which live as long as the pool is referenced."""

    def __init__(self, devices: int = 1, guard_bytes: int = 0) -> None:
        self.words: Words = np.zeros(pool_words(devices), np.int64)
        self.words[GUARD_BYTES] = guard_bytes
        self.words[DEVICES] = devices
        self._address = self.words.ctypes.data
        self._numbers = as_numbers(self.words)
        self.returned: deque[int] = deque()
        """Blocks to be released before the next run; a destructor may append at any time."""
        self._native = callable_function(pool_call, keeps_gil=True)
        # At exit, threads may still use the memory; the system frees it.
        weakref.finalize(self, free_blocks, self.words).atexit = False

    def allocate(self, size: int) -> int:
        """Return a block with one reference. Raises MemoryError."""
        block = self._native(ALLOCATE, self._address, size)
        if not block:
            raise MemoryError(f"a tensor of {size} bytes")
        return int(block)

    def store(self, data: Bytes) -> int:
        """Return a new block that contains a copy of `data`. Raises MemoryError."""
        block = self.allocate(data.size)
        ctypes.memmove(block, data.ctypes.data, data.size)
        return block

    def release(self, block: int) -> None:
        """Remove a reference."""
        self._native(RELEASE, self._address, block)

    def collect(self) -> None:
        """Let the next run release the blocks that were returned."""
        numbers, returned = self._numbers, self.returned
        if not returned:
            return
        count = numbers[RETURNED]
        while returned:
            if count == MAX_RETURNED:
                numbers[RETURNED] = count
                self._native(RELEASE_RETURNED, self._address, 0)
                count = 0
            count += 1
            numbers[RETURNED + count] = returned.popleft()
        numbers[RETURNED] = count

    @property
    def current(self) -> int:
        """The id of the device of new blocks."""
        return int(self.words[CURRENT])

    @staticmethod
    def size(block: int) -> int:
        """Return the requested size of a block in bytes."""
        return word_at(block + REQUESTED).value

    def take(self, address: int, block: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Return an array that takes over one reference to a block.

        The data are copied if the block has other references, or if they do not begin at the block.
        """
        if block == address and word_at(block + REFERENCES).value == 1:
            memory = _owned_bytes(shape, dtype).from_address(block)
            memory.pool, memory.block = self, block
            return np.ndarray(shape, dtype, memory)
        copied = view(address, prod(shape) * dtype.itemsize).copy()
        self.returned.append(block)
        return copied.view(dtype).reshape(shape)

    def guards(self) -> Iterator[tuple[int, int]]:
        """Yield the address and size of the guard regions of blocks in use."""
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
        """Return a counter of a device."""
        return int(self.words[account(device, word)])

    @property
    def peak_bytes(self) -> int:
        """The peak of the bytes in use."""
        return int(self.words[PEAK])


@lru_cache(maxsize=256)
def _owned_bytes(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Return a ctypes array type that gives its block back when the last array in it is freed.

    NumPy accepts a ctypes array as a buffer in half the time of an array interface.
    """
    size = prod(shape) * dtype.itemsize

    class OwnedBytes(ctypes.c_uint8 * size):
        __slots__ = ("block", "pool")
        pool: Pool
        block: int

        def __del__(self) -> None:
            self.pool.returned.append(self.block)

    return OwnedBytes


def view(address: int, size: int) -> Bytes:
    """Return the bytes at an address, which must stay allocated while the view is used."""
    if size == 0:
        return np.empty(0, np.uint8)
    memory: Any = (ctypes.c_uint8 * size).from_address(address)
    return np.frombuffer(memory, np.uint8)

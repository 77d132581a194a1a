"""Reference-counted blocks of a device's memory, kept for the next who asks for that size.

A pool is an array of words: for each class of sizes the first free block, then counters. A block
has a header of 64 bytes in front, whose words are the references, the class, the next free block,
the next of all blocks, the bytes that were asked for, those that there are, and the device. A block
is known by the address behind its header; 0 is no block, such as the memory of an input.

Classes are four to a power of two, so a block is at most a quarter larger than what it is for.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from types import FunctionType
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from numba import types

from ...codegen.cache import Native, compile_native, source_of
from ...codegen.scalar_ops.numba_intrinsics import primitive
from ..intrinsics import SOURCE as INTRINSICS
from ..intrinsics import allocate_aligned, copy_bytes, load_word, store_word

SOURCE = source_of(__file__)

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

ACCOUNTS = CLASSES + 8
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


HEADER = 64
LARGEST = 1 << 62
"""Bytes that nobody has, and that can still be counted in a word."""

njit: Any = numba.njit(error_model="numpy", boundscheck=False)
leading_zeros: Any = primitive("ctlz_i64")


@njit
def size_class(lines: int) -> tuple[int, int]:
    """The class of so many cache lines, and the lines of a block of it."""
    if lines <= 4:
        return lines - 1, lines
    last = lines - 1
    shift = 61 - leading_zeros(last)
    quarter = (last >> shift) & 3
    return 4 * (shift + 1) + quarter, (5 + quarter) << shift


@njit
def allocate(pool: int, size: int) -> int:
    """A block of at least `size` bytes with one reference; 0 if there is no memory."""
    if size < 0 or size > LARGEST:
        return 0
    number, lines = size_class(max(1, (size + 63) >> 6))
    capacity = lines << 6
    block = load_word(pool + 8 * number)
    if block != 0:
        store_word(pool + 8 * number, load_word(block - HEADER + 16))
    else:
        memory = allocate_aligned(capacity + HEADER)
        if memory == 0:
            return 0
        block = memory + HEADER
        store_word(memory + 8, number)
        store_word(memory + 24, load_word(pool + 8 * BLOCKS))
        store_word(memory + 40, capacity)
        store_word(pool + 8 * BLOCKS, block)
        store_word(pool + 8 * TAKEN, load_word(pool + 8 * TAKEN) + 1)
    store_word(block - HEADER, 1)
    store_word(block - HEADER + 32, size)
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


@njit
def retain(block: int) -> None:
    """One more reference to a block, if it is one."""
    if block != 0:
        store_word(block - HEADER, load_word(block - HEADER) + 1)


@njit
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


@njit
def reuse(pool: int, block: int, address: int, size: int) -> int:
    """A block to write `size` bytes to: the given one if it is nobody else's, with one reference
    more, else a new one. `address` is where the bytes are that it holds."""
    if (
        block != 0
        and block == address
        and load_word(block - HEADER) == 1
        and load_word(block - HEADER + 40) >= size
    ):
        store_word(block - HEADER, 2)
        return block
    return allocate(pool, size)


@njit
def own(pool: int, block: int, address: int, size: int) -> int:
    """What `reuse` gives, holding the bytes that are at an address."""
    found = reuse(pool, block, address, size)
    if found not in (0, address):
        copy_bytes(found, address, size)
    return found


@cache
def _free() -> Any:
    library = ctypes.CDLL(None)
    library.free.argtypes = [ctypes.c_void_p]
    library.free.restype = None
    return library.free


def free_blocks(pool: npt.NDArray[np.int64]) -> None:
    """Give all of a pool's memory back to the system; no block of it may be used afterwards."""
    block = int(pool[BLOCKS])
    while block:
        following = ctypes.c_int64.from_address(block - HEADER + 24).value
        _free()(block - HEADER)
        block = following
    pool[:] = 0


# For Python -----------------------------------------------------------------------------------


def pool_call(function: int, pool: int, argument: int) -> int:
    """What Python asks of a pool: a block (0), or to release one (1)."""
    if function == 0:
        return allocate(pool, argument)
    release(pool, argument)
    return 0


@dataclass(frozen=True, slots=True)
class NativePool:
    """The native functions of pools for Python; `code` keeps them in memory."""

    call: Any
    code: Native

    def allocate(self, pool: int, size: int) -> int:
        """A block, or 0."""
        return int(self.call(0, pool, size))

    def release(self, pool: int, block: int) -> None:
        """One reference less."""
        self.call(1, pool, block)


@cache
def native_pool() -> NativePool:
    """The native functions, compiled once."""

    def make(symbol: str) -> FunctionType:
        code = pool_call.__code__.replace(co_name=symbol, co_qualname=symbol)
        return FunctionType(code, pool_call.__globals__, symbol)

    native = compile_native(SOURCE + INTRINSICS, make, [types.int64] * 3, types.int64)
    words = [ctypes.c_int64] * 4
    return NativePool(ctypes.CFUNCTYPE(*words)(native.address), native)

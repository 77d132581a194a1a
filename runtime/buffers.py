"""Pieces of a device's memory, while a program is recorded and when it runs."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from .arena import ALIGNMENT

Bytes = npt.NDArray[np.uint8]

LARGEST_BUFFER = 1 << 62
"""Bytes that nobody has, and that can still be counted in 64 bits."""


class Storage(Enum):
    """Whose memory a buffer is."""

    TRANSIENT = "transient"
    """The program's own: it gets its place when recording has ended."""
    INPUT = "input"
    """The caller's, another one at each run."""
    OUTPUT = "output"
    """A result's, new at each run."""
    RESIDENT = "resident"
    """Known already: a constant, or what a program has computed so far."""


class Buffer:
    """`size` bytes of a device's memory.

    `position` is the number of the input or output that it is; `memory` is set for RESIDENT ones.
    `references` counts the values of the program that lie in it while it is recorded. `owner` is
    the device whose memory it is, in programs that name several.
    """

    __slots__ = ("memory", "owner", "position", "references", "size", "storage")

    def __init__(
        self,
        size: int,
        storage: Storage,
        position: int = 0,
        memory: Bytes | None = None,
        owner: str | None = None,
    ) -> None:
        self.size = size
        self.storage = storage
        self.position = position
        self.memory = memory
        self.references = 0
        self.owner = owner

    @staticmethod
    def holding(array: npt.NDArray[Any]) -> Buffer:
        """A buffer of what an array holds; the array must not change afterwards."""
        array = np.asarray(array, order="C")
        return Buffer(array.nbytes, Storage.RESIDENT, memory=array.reshape(-1).view(np.uint8))


def allocate(size: int) -> Bytes:
    """Memory that begins at a cache line. Its contents are whatever was there."""
    if size > LARGEST_BUFFER:
        raise MemoryError(f"a buffer of {size} bytes")
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size]

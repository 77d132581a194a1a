"""Guard bytes around buffers: whoever writes beyond the end of a buffer, or before it, is caught.

For tests: every buffer is memory of its own, exactly as large as the program says, between bytes
that nothing may write to. New memory holds a pattern, so that what is read before it is written
is no harmless zero. Commands run one at a time, so that the one that did it is known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .buffers import Buffer, Bytes, Storage, allocate

OVERWRITTEN = 7
"""The status of a command that has written where it must not."""

GUARD_BYTES = 256
"""Before and behind each buffer."""

GUARD = 0xA5
UNWRITTEN = 0xCB


class Guards:
    """Memory between guard bytes."""

    def __init__(self) -> None:
        self._around: dict[int, tuple[Bytes, Bytes]] = {}
        self._constants: dict[Buffer, Bytes] = {}

    def allocate(self, size: int) -> Bytes:
        """`size` bytes between guard bytes."""
        whole = allocate(size + 2 * GUARD_BYTES)
        whole[:] = GUARD
        memory = whole[GUARD_BYTES : GUARD_BYTES + size]
        memory[:] = UNWRITTEN
        self._around[memory.ctypes.data] = whole[:GUARD_BYTES], whole[GUARD_BYTES + size :]
        return memory

    def copy(self, data: Bytes) -> Bytes:
        """The same bytes between guard bytes."""
        memory = self.allocate(data.size)
        memory[:] = data
        return memory

    def forget(self, memories: Sequence[Bytes]) -> None:
        """Look no longer after memory that was for one run."""
        for memory in memories:
            self._around.pop(memory.ctypes.data, None)

    def hold(self, buffer: Buffer) -> None:
        """Note what a constant is."""
        memory = buffer.memory
        if buffer.storage is not Storage.RESIDENT or memory is None:
            return
        if memory.ctypes.data not in self._around:
            self._constants.setdefault(buffer, memory.copy())

    def is_intact(self, buffer: Buffer, memory: Bytes) -> bool:
        """Whether nothing has been written around a buffer, nor to a constant."""
        around = self._around.get(memory.ctypes.data, ())
        constant = self._constants.get(buffer)
        return all(bool((part == GUARD).all()) for part in around) and (
            constant is None or np.array_equal(memory, constant)
        )

"""Guard bytes around blocks: whatever writes beyond the end of one, or before it, is noticed.

For tests: each block is followed by bytes that nothing may write to, and holds a pattern, so that
what is read before it is written is no harmless zero. Inputs are copied between guards. All of it
is looked at after each instruction that writes to memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..commands import Bytes
from .pool import GUARD, Pool, view

OVERWRITTEN = 7
"""The status of a command that has written where it must not."""


BEHIND = 256
"""Guard bytes behind each block."""


class Guards:
    """What must stay as it is while a machine runs a program."""

    def __init__(self, constants: Sequence[npt.NDArray[Any]]) -> None:
        """`constants` are the arrays of the program, which nothing may write to."""
        self._constants = [(each.reshape(-1).view(np.uint8), each.tobytes()) for each in constants]
        self._inputs: list[tuple[int, Bytes]] = []

    def place_input(self, pool: Pool, data: Bytes) -> int:
        """Copy an input to a block; returns where it is."""
        block = pool.store(data)
        self._inputs.append((block, data))
        return block

    def forget_inputs(self, pool: Pool) -> None:
        """Release the inputs of a call that has ended."""
        for block, _ in self._inputs:
            pool.release(block)
        self._inputs.clear()

    def are_intact(self, pool: Pool) -> bool:
        """Whether nothing was written around a block, to an input, or to a constant."""
        return (
            all(bool((view(start, size) == GUARD).all()) for start, size in pool.guards())
            and all(np.array_equal(view(block, data.size), data) for block, data in self._inputs)
            and all(array.tobytes() == data for array, data in self._constants)
        )

"""Guard bytes around blocks, which detect writes outside of them.

For tests: each block is surrounded by guard bytes, and filled with a pattern, so that reads of
uninitialised memory do not find harmless zeros. Inputs are copied between guards. All guards are
checked after each instruction that writes to memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..abi.arrays import Bytes
from .pool import GUARD, Pool, view

OVERWRITTEN = 7
"""Status of a command that wrote where it must not."""


BEHIND = 256
"""The number of guard bytes behind each block."""


class Guards:
    """The memory that must not change while a machine runs a program."""

    def __init__(self, constants: Sequence[npt.NDArray[Any]]) -> None:
        """`constants` are the arrays of the program, which must not be written to."""
        self._constants = [(each.reshape(-1).view(np.uint8), each.tobytes()) for each in constants]
        self._inputs: list[tuple[int, Bytes]] = []

    def place_input(self, pool: Pool, data: Bytes) -> int:
        """Copy an input to a block and return its address."""
        block = pool.store(data)
        self._inputs.append((block, data))
        return block

    def forget_inputs(self, pool: Pool) -> None:
        """Release the inputs of a call that has ended."""
        for block, _ in self._inputs:
            pool.release(block)
        self._inputs.clear()

    def are_intact(self, pool: Pool) -> bool:
        """Whether no guard, input or constant has been overwritten."""
        return (
            all(bool((view(start, size) == GUARD).all()) for start, size in pool.guards())
            and all(np.array_equal(view(block, data.size), data) for block, data in self._inputs)
            and all(array.tobytes() == data for array, data in self._constants)
        )

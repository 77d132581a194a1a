"""NumPy implementations of the operations.

The interpreter uses them, and so does native code until the operations are lowered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from mesh_opt.extend import Frame, impl
from xdsl.ir import Operation


@impl("acme.add_positions")
def add_positions(_: Operation, operands: Sequence[Any], frame: Frame) -> Sequence[Any]:
    """Compute `source[i, j] + first + i`."""
    source, first = operands
    positions = (first + np.arange(len(source))).astype(source.dtype)
    return (source + positions[:, None],)


@impl("acme.row_energy")
def row_energy(_: Operation, operands: Sequence[Any], frame: Frame) -> Sequence[Any]:
    """Compute the sum of the squares of each row."""
    (source,) = operands
    return ((source * source).sum(axis=1, dtype=source.dtype),)

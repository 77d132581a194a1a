"""Load and store elements of tensors through registers of host code."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime.host.builder import Builder
from ...runtime.host.program import Register


def load_element(builder: Builder, address: Register, dtype: np.dtype[Any]) -> Register:
    """Load an element: integers are sign- or zero-extended, other types are loaded as bits."""
    if dtype.itemsize == 8:
        return builder.compute("load_i64", address)
    sign = "i" if dtype.kind == "i" else "u"
    return builder.compute(f"load_{sign}{8 * dtype.itemsize}", address)


def store_element(
    builder: Builder, address: Register, value: Register, dtype: np.dtype[Any]
) -> None:
    """Store a register as an element, truncated to its size."""
    builder.emit(f"store_{8 * dtype.itemsize}", address, value)

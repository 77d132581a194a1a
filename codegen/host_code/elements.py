"""Elements of tensors in registers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime.host.builder import Builder
from ...runtime.host.program import Register


def load_element(builder: Builder, address: Register, dtype: np.dtype[Any]) -> Register:
    """A register with the element at an address: integers by their sign, the bits of others."""
    if dtype.itemsize == 8:
        return builder.compute("load_i64", address)
    sign = "i" if dtype.kind == "i" else "u"
    return builder.compute(f"load_{sign}{8 * dtype.itemsize}", address)


def store_element(
    builder: Builder, address: Register, value: Register, dtype: np.dtype[Any]
) -> None:
    """Store a register as an element."""
    builder.emit(f"store_{8 * dtype.itemsize}", address, value)

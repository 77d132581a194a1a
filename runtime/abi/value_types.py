"""Types of arguments and results as names and shapes, for who runs programs without their IR."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .arrays import UnsupportedType, dtype_named, integer_type


@dataclass(frozen=True)
class ValueType:
    """A type of the IR.

    - `text`: as it is written, `tensor<2x?xf32>`;
    - `element`: the type of its elements, or itself;
    - `shape`: negative where it is open, `None` if the rank is;
    - `container`: the name of what holds the elements, such as `tensor`; empty for a scalar.
    """

    text: str
    element: str
    shape: tuple[int, ...] | None
    container: str

    def __str__(self) -> str:
        return self.text

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of the elements. Raises UnsupportedType if they are no numbers."""
        return dtype_named(self.element)

    @property
    def holds_numbers(self) -> bool:
        """Whether values are numbers or arrays of them."""
        try:
            return bool(self.dtype.itemsize)
        except UnsupportedType:
            return False

    @property
    def integer_width(self) -> int | None:
        """The bits of an integer, 64 for an index, `None` for other elements."""
        found = integer_type(self.element)
        return None if found is None else found[0]

    @property
    def is_unsigned(self) -> bool:
        """Whether the elements are `uiN`."""
        found = integer_type(self.element)
        return found is not None and found[1]


@dataclass(frozen=True, slots=True)
class FunctionTypes:
    """The types of whole arguments and results of a function."""

    arguments: tuple[ValueType, ...]
    results: tuple[ValueType, ...]

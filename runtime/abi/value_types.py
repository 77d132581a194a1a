"""Types of arguments and results as names and shapes, for running programs without IR."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .arrays import UnsupportedType, dtype_named, integer_type


@dataclass(frozen=True)
class ValueType:
    """A type of the IR.

    - `text`: the type as MLIR writes it, `tensor<2x?xf32>`;
    - `element`: the name of its element type, or of the type itself if it is a scalar;
    - `shape`: negative where dynamic, `None` if unranked;
    - `container`: what holds the elements, such as `tensor`; empty for a scalar.
    """

    text: str
    element: str
    shape: tuple[int, ...] | None
    container: str

    def __str__(self) -> str:
        return self.text

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the elements. Raises UnsupportedType if they are not numbers."""
        return dtype_named(self.element)

    @property
    def holds_numbers(self) -> bool:
        """Whether values are numbers or arrays of numbers."""
        try:
            return bool(self.dtype.itemsize)
        except UnsupportedType:
            return False

    @property
    def integer_width(self) -> int | None:
        """The bits of an integer element (64 for `index`); `None` for other elements."""
        found = integer_type(self.element)
        return None if found is None else found[0]

    @property
    def is_unsigned(self) -> bool:
        """Whether the elements are `uiN`."""
        found = integer_type(self.element)
        return found is not None and found[1]


@dataclass(frozen=True, slots=True)
class FunctionTypes:
    """The types of a function's global arguments and results."""

    arguments: tuple[ValueType, ...]
    results: tuple[ValueType, ...]

    def __str__(self) -> str:
        """Return the types as MLIR writes a function type."""
        arguments, results = (", ".join(map(str, each)) for each in (self.arguments, self.results))
        return f"({arguments}) -> ({results})"

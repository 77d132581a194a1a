"""Parameters: arrays in files, found by a scope and a key, which are read when they are wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import Array


@dataclass(frozen=True, slots=True)
class Deferred:
    """Bytes that are only read, or made, if they are as many as the program wants."""

    size: int
    read: Callable[[], bytes]
    mapped: Callable[[], memoryview] | None = None
    """The same as pages of a file, which are read where they are looked at; `None` if they must be
    made."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """The contents of a parameter, and what its file says of them."""

    contents: bytes | Deferred
    shape: tuple[int, ...] | None = None
    """`None` if the file knows bytes only."""
    dtype: np.dtype[Any] | None = None
    """The type of the elements, `None` if the file does not say or it is none of NumPy's."""

    @staticmethod
    def of_array(array: Array) -> Parameter:
        """An array as a parameter. NumPy stores types that it does not know as raw bytes."""
        known = None if array.dtype.kind == "V" else array.dtype
        return Parameter(np.ascontiguousarray(array).tobytes(), array.shape, known)

    @property
    def size(self) -> int:
        """The bytes of the contents."""
        contents = self.contents
        return contents.size if isinstance(contents, Deferred) else len(contents)

    def read(self) -> bytes:
        """The contents. Raises ValueError if a file does not hold what it said."""
        contents = self.contents
        return contents.read() if isinstance(contents, Deferred) else contents


Parameters = Mapping[tuple[str, str], Parameter]
"""Parameters by scope, empty for those without one, and key."""

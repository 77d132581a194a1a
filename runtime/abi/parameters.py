"""Parameters: arrays in files, identified by a scope and a key, and read on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import Array


@dataclass(frozen=True, slots=True)
class Deferred:
    """Contents that are read or computed only if their size is the one that the program expects."""

    size: int
    read: Callable[[], bytes]
    mapped: Callable[[], memoryview] | None = None
    """Returns the contents as a memory map of the file; `None` if they must be computed."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """The contents of a parameter, and the shape and type that its file declares."""

    contents: bytes | Deferred
    shape: tuple[int, ...] | None = None
    """The declared shape; `None` if the file has only bytes."""
    dtype: np.dtype[Any] | None = None
    """The declared NumPy dtype; `None` if the file has none or it is not a NumPy type."""

    @staticmethod
    def of_array(array: Array) -> Parameter:
        """Create a parameter from an array.

        NumPy stores dtypes that it does not know as raw bytes.
        """
        known = None if array.dtype.kind == "V" else array.dtype
        return Parameter(np.ascontiguousarray(array).tobytes(), array.shape, known)

    @property
    def size(self) -> int:
        """The size of the contents in bytes."""
        contents = self.contents
        return contents.size if isinstance(contents, Deferred) else len(contents)

    def read(self) -> bytes:
        """Return the contents. Raises ValueError if the file does not match its declaration."""
        contents = self.contents
        return contents.read() if isinstance(contents, Deferred) else contents


Parameters = Mapping[tuple[str, str], Parameter]
"""Parameters by (scope, key); the scope is empty for parameters without one."""

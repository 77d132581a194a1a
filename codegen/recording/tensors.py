"""Values while a program is recorded: tensors on the device, and numbers that are known already."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ...runtime.commands import Place

Array = npt.NDArray[Any]


class Tensor:
    """A row-major tensor (or, for no dimensions, a scalar) in a buffer of the device.

    A tensor that does not lie in its buffer is never made. Asking for its number, as control flow
    and shapes do, runs the program recorded so far.
    """

    __slots__ = ("_read", "dtype", "place", "shape")

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        place: Place,
        read: Callable[[Tensor], Array],
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.place = place
        self._read = read
        if not 0 <= place.offset <= place.buffer.size - self.nbytes:
            raise ValueError(f"{self.nbytes} bytes from {place.offset} of {place.buffer.size}")

    @property
    def nbytes(self) -> int:
        """The size of the elements in bytes."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def is_whole(self) -> bool:
        """Whether the tensor is all that its buffer holds."""
        return self.place.offset == 0 and self.place.buffer.size == self.nbytes

    def read(self) -> Array:
        """The elements, now."""
        return self._read(self)

    def view(self, shape: tuple[int, ...], first: int = 0) -> Tensor:
        """The elements from row-major position `first` on as another shape."""
        offset = self.place.offset + first * self.dtype.itemsize
        return Tensor(shape, self.dtype, Place(self.place.buffer, offset), self._read)

    def __bool__(self) -> bool:
        return bool(self.read())

    def __int__(self) -> int:
        return int(self.read())

    __index__ = __int__

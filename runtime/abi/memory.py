"""Addresses of arrays, and memory of the C library, which native code allocates."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any


@cache
def free() -> Callable[[int], None]:
    """Return the C function that frees the memory at an address."""
    library = ctypes.CDLL(None)
    library.free.argtypes = [ctypes.c_void_p]
    library.free.restype = None
    return library.free


_address, _first_byte = ctypes.addressof, ctypes.c_char.from_buffer
_word_at = ctypes.c_ssize_t.from_address
_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_ssize_t, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)

ARRAY_STRUCT_DATA = 40
"""The offset of the data pointer in `PyArrayInterface` (NumPy's array interface protocol): after
two `int`, a `char`, two `int` and two pointers.
"""


def address_of(array: Any) -> int:
    """Return the address of an array's data."""
    if array.flags.writeable:
        try:
            # Takes half the time of the array's interface structure.
            return _address(_first_byte(array))
        except (TypeError, ValueError):
            # The array is empty, or the buffer protocol does not support its dtype.
            pass
    return _word_at(_pointer_in(array.__array_struct__, None) + ARRAY_STRUCT_DATA).value

"""Memory of the C library, which native code asks for and Python gives back."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache


@cache
def free() -> Callable[[int], None]:
    """The function that gives memory at an address back."""
    library = ctypes.CDLL(None)
    library.free.argtypes = [ctypes.c_void_p]
    library.free.restype = None
    return library.free

"""Memory of the C library, which native code allocates and Python frees."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache


@cache
def free() -> Callable[[int], None]:
    """Return the C function that frees the memory at an address."""
    library = ctypes.CDLL(None)
    library.free.argtypes = [ctypes.c_void_p]
    library.free.restype = None
    return library.free

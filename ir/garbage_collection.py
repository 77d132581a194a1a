"""Suspend Python's cyclic garbage collector.

A pass creates many objects and hardly any garbage. The collector would traverse the whole program
repeatedly, and more often for larger programs.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def without_garbage_collection() -> Generator[None]:
    """Disable automatic collection inside the `with` block and restore its state afterwards."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()

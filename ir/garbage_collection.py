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


RARELY = 200_000
"""The new objects after which the collector runs in a tool. Python's default is 700."""


def collect_rarely() -> None:
    """Let the collector run rarely in a tool, whose modules and programs live until its end."""
    gc.set_threshold(RARELY)

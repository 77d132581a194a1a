"""Suspend Python's cyclic garbage collector.

A pass creates many objects that stay. The collector would traverse the whole program repeatedly,
and more often for larger programs.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

MANY = 10_000
"""The number of new objects from which on the collector is told to regard them as old."""

MOST = 1_000_000
"""The number of objects regarded as old without a look at them, after which a full collection frees
those that are garbage. About four compilations of a program of 1,500 operations make as many.
"""


@contextmanager
def without_garbage_collection() -> Generator[None]:
    """Disable automatic collection inside the `with` block and restore its state afterwards.

    If there are many new objects then, the collector's next run does not traverse them.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            _unseen.regard_as_old(gc.get_count()[0])
            gc.enable()


class _Unseen:
    """Counts the objects that are regarded as old although no collection has seen them."""

    def __init__(self) -> None:
        self._count = 0
        self._others_froze = False

    def regard_as_old(self, new: int) -> None:
        """Move all objects to the oldest generation, if `new` of them are many.

        Does nothing once others have frozen objects, which have to stay so.
        """
        if new < MANY or self._others_froze:
            return
        # This count visits all frozen objects: one that is not zero is the last.
        self._others_froze = gc.get_freeze_count() > 0
        if self._others_froze:
            return
        self._count += new
        if self._count < MOST:
            # Neither call traverses objects.
            gc.freeze()
            gc.unfreeze()
        else:
            gc.collect()
            self._count = 0


_unseen = _Unseen()


RARELY = 200_000
"""The number of new objects after which the collector runs in a tool. Python's default is 700."""


def collect_rarely() -> None:
    """Let the collector run rarely in a tool, whose modules and programs live until its end."""
    gc.set_threshold(RARELY)

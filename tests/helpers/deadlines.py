"""Deadlines on a machine that does something else as well."""

from __future__ import annotations

import time

_WORK = 0.1
"""Seconds of a core."""


def slowness() -> float:
    """How many times longer a thread takes for its work now than on a machine of its own."""
    start, worked = time.monotonic(), time.thread_time()
    while time.thread_time() - worked < _WORK:
        pass
    return max((time.monotonic() - start) / _WORK, 1)


def is_in_time(seconds: float, limit: float) -> bool:
    """Whether something took less than a limit, which holds for a machine that does nothing else.

    Where it took longer, the limit is as many times longer as other work makes all of it.
    """
    return seconds < limit or seconds < limit * slowness()

"""How many threads the kernels of `benchmarks.kernels` have, in every process alike."""

from __future__ import annotations

import os
import sys


def workers() -> int:
    """The number after `--workers`, 1 if there is none."""
    words = sys.argv[:-1]
    return int(sys.argv[words.index("--workers") + 1]) if "--workers" in words else 1


def keep_to_cpus(count: int) -> None:
    """Let this process run on as many CPUs as it may, but no more than `count`."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])

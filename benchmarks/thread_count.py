"""The number of threads of `benchmarks.kernels`, the same in every process."""

from __future__ import annotations

import os
import sys


def workers() -> int:
    """Return the number after `--workers`; 1 if there is none."""
    words = sys.argv[:-1]
    return int(sys.argv[words.index("--workers") + 1]) if "--workers" in words else 1


def keep_to_cpus(count: int) -> None:
    """Restrict this process to at most `count` of the CPUs that it may use."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])

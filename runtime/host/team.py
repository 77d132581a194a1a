"""Workers that share the tiles of a device's kernels, as native code.

While a function runs, the other threads of its device are in `serve`, which waits for jobs in the
words of a team. The thread that runs host code is worker 0: it posts a job, does its own share, and
waits for the others.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..abi.native_code import Native, source_of
from ..intrinsics import SOURCE as INTRINSICS
from ..intrinsics import (
    atomic_add,
    atomic_load,
    atomic_store,
    call_kernel,
    load_word,
    store_word,
)
from ..native import SOURCE as NATIVE
from ..native import back_off
from ..native_functions import runtime_function

SOURCE = source_of(__file__)

JOBS, DONE, WORKERS = 0, 8, 16
KERNEL, BINDINGS, CONSTANTS, FIRST, LAST = 24, 25, 26, 27, 28
STATUSES = 32
"""Words of a team: how many jobs there were, how many workers have done the last, how many workers
there are, the last job, and a status for each worker. A job without a kernel ends the work."""

YIELDS = 1000
"""How often a worker that waits for a job gives its core away before it sleeps."""

NEVER = 1 << 62
"""The same of one that waits for the others: they are at work."""

SMALLEST_WORK = 1 << 17
"""The work of a kernel, in bytes moved and multiplications, from which on it is shared."""

WAKING_WORK = 1 << 19
"""The same where the other workers must be called first."""


def team_words(workers: int) -> int:
    """The size of a team."""
    return STATUSES + workers


def do_share(team: int, worker: int) -> int:
    """Run a worker's part of the tiles of a job; returns the kernel's status."""
    workers = load_word(team + 8 * WORKERS)
    first, last = load_word(team + 8 * FIRST), load_word(team + 8 * LAST)
    start = first + (last - first) * worker // workers
    stop = first + (last - first) * (worker + 1) // workers
    if start >= stop:
        return 0
    return call_kernel(
        load_word(team + 8 * KERNEL),
        load_word(team + 8 * BINDINGS),
        load_word(team + 8 * CONSTANTS),
        start,
        stop,
    )


def run_shared(team: int, kernel: int, bindings: int, constants: int, first: int, last: int) -> int:
    """Run the tiles of a kernel on all workers; returns the first status that is not 0."""
    workers = load_word(team + 8 * WORKERS)
    store_word(team + 8 * KERNEL, kernel)
    store_word(team + 8 * BINDINGS, bindings)
    store_word(team + 8 * CONSTANTS, constants)
    store_word(team + 8 * FIRST, first)
    store_word(team + 8 * LAST, last)
    atomic_store(team + 8 * DONE, 0)
    atomic_add(team + 8 * JOBS, 1)
    status = do_share(team, 0)
    spins = 0
    while atomic_load(team + 8 * DONE) != workers - 1:
        spins += 1
        back_off(spins, NEVER)
    for worker in range(1, workers):
        if status == 0:
            status = load_word(team + 8 * (STATUSES + worker))
    return status


def serve(team: int, worker: int, jobs: int) -> int:
    """Do a worker's share of all jobs after the first `jobs`, up to one without a kernel."""
    while True:
        spins = 0
        while atomic_load(team + 8 * JOBS) == jobs:
            spins += 1
            back_off(spins, YIELDS)
        jobs += 1
        if load_word(team + 8 * KERNEL) == 0:
            return 0
        store_word(team + 8 * (STATUSES + worker), do_share(team, worker))
        atomic_add(team + 8 * DONE, 1)


@cache
def native_serve() -> Native:
    """The native code of `serve`."""
    return runtime_function(serve, INTRINSICS, NATIVE)


def end_work(team: np.ndarray[Any, np.dtype[np.int64]]) -> None:
    """Let the workers of a team go. Nobody else may be posting jobs."""
    team[KERNEL] = 0
    team[JOBS] += 1

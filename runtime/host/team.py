"""Workers that share the tiles of a device's kernels, as native code.

While a function runs, the other threads of its device are in `serve`, which waits for jobs in the
words of a team. The thread that runs host code is worker 0. It posts a job, which has a few shares
for each worker. Each claims its own shares first and then those that nobody has begun, so a worker
that the system does not let run holds nobody up. Worker 0 waits until all shares are done.

A share is claimed by giving its word the number of the job, if it has that of the job before.
A worker that wakes late therefore claims nothing of a job that is over, and the words of a job do
not change while somebody works on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ..abi.native_code import Native, source_of
from ..crew import Call, Crew
from ..intrinsics import SOURCE as INTRINSICS
from ..intrinsics import (
    atomic_add,
    atomic_exchange_if,
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

JOBS, DONE, ENDED, WORKERS = 0, 8, 16, 24
KERNEL, BINDINGS, CONSTANTS, FIRST, LAST = 25, 26, 27, 28, 29
SHARES = 32
"""Words of a team: how many jobs there were, how many shares of the last are done, the last call of
a function that is over, how many workers there are, the last job, and then for each share the last
job of which it was claimed. Behind them lies the status of each share, and then for each worker
what `serve_call` takes."""

CALL_WORDS = 3

SHARES_EACH = 8
"""Shares of a worker: what the others find left to do if one is late, or has longer tiles."""

YIELDS = 1000
"""How often a worker that waits for a job gives its core away before it sleeps."""

NEVER = 1 << 62
"""The same of one that waits for shares that others have begun."""

SMALLEST_WORK = 1 << 17
"""The work of a kernel, in bytes moved and multiplications, from which on it is shared."""

WAKING_WORK = 1 << 19
"""The same where the other workers must be called first."""


def team_words(workers: int) -> int:
    """The size of a team."""
    return worker_call(workers, workers)


def worker_call(workers: int, worker: int) -> int:
    """The first of the words that a worker's `serve_call` takes."""
    return SHARES + 2 * workers * SHARES_EACH + CALL_WORDS * worker


def do_share(team: int, share: int) -> int:
    """Run a share of the tiles of a job; returns the kernel's status."""
    shares = load_word(team + 8 * WORKERS) * SHARES_EACH
    first, last = load_word(team + 8 * FIRST), load_word(team + 8 * LAST)
    start = first + (last - first) * share // shares
    stop = first + (last - first) * (share + 1) // shares
    if start >= stop:
        return 0
    return call_kernel(
        load_word(team + 8 * KERNEL),
        load_word(team + 8 * BINDINGS),
        load_word(team + 8 * CONSTANTS),
        start,
        stop,
    )


def do_shares(team: int, worker: int, job: int) -> None:
    """Do the shares of a job that nobody has claimed, a worker's own first."""
    shares = load_word(team + 8 * WORKERS) * SHARES_EACH
    for other in range(shares):
        share = (worker * SHARES_EACH + other) % shares
        if atomic_exchange_if(team + 8 * (SHARES + share), job - 1, job) == 1:
            store_word(team + 8 * (SHARES + shares + share), do_share(team, share))
            atomic_add(team + 8 * DONE, 1)


def run_shared(team: int, kernel: int, bindings: int, constants: int, first: int, last: int) -> int:
    """Run the tiles of a kernel on all workers; returns the first status that is not 0."""
    shares = load_word(team + 8 * WORKERS) * SHARES_EACH
    store_word(team + 8 * KERNEL, kernel)
    store_word(team + 8 * BINDINGS, bindings)
    store_word(team + 8 * CONSTANTS, constants)
    store_word(team + 8 * FIRST, first)
    store_word(team + 8 * LAST, last)
    atomic_store(team + 8 * DONE, 0)
    job = atomic_add(team + 8 * JOBS, 1) + 1
    do_shares(team, 0, job)
    spins = 0
    while atomic_load(team + 8 * DONE) != shares:
        spins += 1
        back_off(spins, NEVER)
    status = 0
    for share in range(shares):
        if status == 0:
            status = load_word(team + 8 * (SHARES + shares + share))
    return status


def serve(team: int, worker: int, call: int) -> int:
    """Do shares of all jobs until a call of a function is over."""
    job = 0
    spins = 0
    while atomic_load(team + 8 * ENDED) < call:
        posted = atomic_load(team + 8 * JOBS)
        if posted == job:
            spins += 1
            back_off(spins, YIELDS)
        else:
            job = posted
            spins = 0
            do_shares(team, worker, job)
    return 0


def serve_call(words: int) -> int:
    """Serve a team, as a worker, until the end of a call: these three words."""
    return serve(load_word(words), load_word(words + 8), load_word(words + 16))


@cache
def native_serve() -> Native:
    """The native code of `serve_call`."""
    return runtime_function(serve_call, INTRINSICS, NATIVE)


class Team:
    """The workers of a device. Its own thread, which is number 0, calls the others."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._others = Crew(workers - 1, "mesh-opt-worker")

    def start(self, calls: Sequence[Call], kept: object) -> None:
        """Let the other threads run native calls, one each, which use what is `kept`.

        Nobody waits for them. Those that are not done with the last ones yet get no others.
        """
        if self._others.wait(0):
            self._others.post(calls, kept)

    def close(self) -> None:
        """End the other threads, after what they run."""
        self._others.close()

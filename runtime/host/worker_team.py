"""Native work sharing: the workers of a device share the tiles of its kernels.

While a function runs, the other worker threads are in `serve`, which waits for jobs in the words of
the team. The thread that runs host code is worker 0. It posts a job that is divided into several
shares for each worker. Each worker claims its own shares first, then those not claimed by others,
so a worker that is not scheduled holds up no one. Worker 0 waits until all shares are done.

A share is claimed by a compare-and-exchange of its word from the number of the previous job to that
of this job. So a worker that wakes late claims nothing of a finished job, and the words of a job do
not change while someone works on it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..abi.native_code import source_of
from ..intrinsics import (
    atomic_add,
    atomic_exchange_if,
    atomic_load,
    atomic_store,
    call_kernel,
    load_field,
    load_word,
    store_field,
    store_word,
)
from ..protocol import back_off
from ..threads.thread_pool import Call, ThreadPool

SOURCE = source_of(__file__)

JOBS, DONE, ENDED, WORKERS = 0, 8, 16, 24
KERNEL, BINDINGS, CONSTANTS, FIRST, LAST = 25, 26, 27, 28, 29
SHARES = 32
"""Words of a team: the number of jobs posted, the number of finished shares of the last job, the
last call of a function that has ended, the number of workers, the last job's arguments, and for
each share the last job for which it was claimed. Then follow the status of each share, and for each
worker the arguments of `serve_call`.
"""

CALL_WORDS = 3

SHARES_EACH = 8
"""Shares per worker, which others can take over if a worker is late or has slower tiles."""

YIELDS = 1000
"""Yields of a worker that waits for a job, before it sleeps."""

NEVER_SLEEP = 1 << 62
"""Yields of a worker that waits for shares claimed by others, which never sleeps."""

MIN_SHARED_WORK = 1 << 17
"""Work of a kernel (bytes moved plus multiplications) from which on it is shared."""

WAKING_WORK = 1 << 19
"""Work of a kernel from which on it is shared if the other workers must be woken first."""


def team_words(workers: int) -> int:
    """Return the number of words of a team."""
    return worker_call(workers, workers)


def worker_call(workers: int, worker: int) -> int:
    """Return the position of the arguments of a worker's `serve_call`."""
    return SHARES + 2 * workers * SHARES_EACH + CALL_WORDS * worker


def do_share(team: int, share: int) -> int:
    """Run a share of the tiles of a job; return the kernel's status."""
    shares = load_field(team, WORKERS) * SHARES_EACH
    first, last = load_field(team, FIRST), load_field(team, LAST)
    start = first + (last - first) * share // shares
    stop = first + (last - first) * (share + 1) // shares
    if start >= stop:
        return 0
    return call_kernel(
        load_field(team, KERNEL),
        load_field(team, BINDINGS),
        load_field(team, CONSTANTS),
        start,
        stop,
    )


def do_shares(team: int, worker: int, job: int) -> None:
    """Run the shares of a job that are not claimed, a worker's own first."""
    shares = load_field(team, WORKERS) * SHARES_EACH
    for other in range(shares):
        share = (worker * SHARES_EACH + other) % shares
        if atomic_exchange_if(team + 8 * (SHARES + share), job - 1, job) == 1:
            store_word(team + 8 * (SHARES + shares + share), do_share(team, share))
            atomic_add(team + 8 * DONE, 1)


def run_shared(team: int, kernel: int, bindings: int, constants: int, first: int, last: int) -> int:
    """Run the tiles of a kernel on all workers; return the first status other than 0."""
    shares = load_field(team, WORKERS) * SHARES_EACH
    store_field(team, KERNEL, kernel)
    store_field(team, BINDINGS, bindings)
    store_field(team, CONSTANTS, constants)
    store_field(team, FIRST, first)
    store_field(team, LAST, last)
    atomic_store(team + 8 * DONE, 0)
    job = atomic_add(team + 8 * JOBS, 1) + 1
    do_shares(team, 0, job)
    spins = 0
    while atomic_load(team + 8 * DONE) != shares:
        spins += 1
        back_off(spins, NEVER_SLEEP)
    status = 0
    for share in range(shares):
        if status == 0:
            status = load_word(team + 8 * (SHARES + shares + share))
    return status


def serve(team: int, worker: int, call: int) -> int:
    """Run shares of all jobs until a call of a function has ended."""
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
    """Serve a team until a call ends; `words` holds the arguments of `serve`."""
    return serve(load_word(words), load_word(words + 8), load_word(words + 16))


class WorkerTeam:
    """The workers of a device; its own thread is worker 0 and starts the others."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._others = ThreadPool(workers - 1, "mesh-opt-worker")

    def start(self, calls: Sequence[Call], kept: object) -> None:
        """Start native calls on the other threads, one each; `kept` is kept alive for them.

        Does not wait for them. If they have not finished the previous calls, nothing is started.
        """
        if self._others.wait(0):
            self._others.post(calls, kept)

    def close(self) -> None:
        """End the other threads after their current calls."""
        self._others.close()

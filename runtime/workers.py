"""The threads that share a device's dispatches: they live as long as the process."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from functools import cache

Work = Callable[[int], int]


class _Worker:
    """A thread that runs what is put into its queue."""

    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue[tuple[Work, int, queue.SimpleQueue[tuple[int, int]]]]
        self._tasks = queue.SimpleQueue()
        threading.Thread(target=self._serve, daemon=True, name="mesh-opt-worker").start()

    def submit(self, work: Work, number: int, done: queue.SimpleQueue[tuple[int, int]]) -> None:
        self._tasks.put((work, number, done))

    def _serve(self) -> None:
        while True:
            work, number, done = self._tasks.get()
            done.put((number, work(number)))


class _Team:
    """Workers of one calling thread."""

    def __init__(self) -> None:
        self.workers: list[_Worker] = []

    def run(self, count: int, work: Work) -> list[int]:
        while len(self.workers) < count - 1:
            self.workers.append(_Worker())
        done: queue.SimpleQueue[tuple[int, int]] = queue.SimpleQueue()
        for number in range(1, count):
            self.workers[number - 1].submit(work, number, done)
        results = {0: work(0)}
        results |= dict(done.get() for _ in range(1, count))
        return [results[number] for number in range(count)]


@cache
def _local() -> threading.local:
    return threading.local()


def run_together(count: int, work: Work) -> list[int]:
    """Run `work(0)` to `work(count - 1)` at the same time; returns what each returned.

    `work` must not raise. The calling thread is number 0 and has a team of its own.
    """
    team: _Team | None = getattr(_local(), "team", None)
    if team is None:
        team = _Team()
        _local().team = team
    return team.run(count, work)

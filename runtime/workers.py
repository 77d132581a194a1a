"""Threads that run what is put into their queues: of devices, and of the workers of a device."""

from __future__ import annotations

import os
import queue
import threading
import weakref
from collections.abc import Callable, Sequence

Task = Callable[[], None]


_Queue = queue.SimpleQueue[Task | None]


class Threads:
    """Threads with a queue each, which end with the last who knows this object.

    The threads themselves know only their queues. They are daemons: none keeps the interpreter
    from exiting.
    """

    def __init__(self, count: int, name: str) -> None:
        self._count = count
        self._name = name
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._queues: list[_Queue] = [queue.SimpleQueue() for _ in range(self._count)]
        for number, tasks in enumerate(self._queues):
            threading.Thread(
                target=_serve, args=(tasks,), daemon=True, name=f"mesh-opt-{self._name}-{number}"
            ).start()
        self._finish = weakref.finalize(self, _stop, self._queues)

    def __len__(self) -> int:
        return self._count

    def submit(self, number: int, task: Task) -> None:
        """Let a thread run a task, after those that it has been given. A task must not raise."""
        if self._process != os.getpid():
            # A fork has the queues, but not the threads.
            self._start()
        self._queues[number].put(task)

    def close(self) -> None:
        """End the threads, after what is queued."""
        self._finish()


def _stop(queues: Sequence[_Queue]) -> None:
    for tasks in queues:
        tasks.put(None)


def _serve(tasks: _Queue) -> None:
    while (task := tasks.get()) is not None:
        task()
        # A task may hold the last reference to a program, which must not wait for the next task.
        del task


class Team:
    """The workers that share a device's dispatches: its own thread, and others beside it."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._others = Threads(workers - 1, "worker")

    def run(self, work: Callable[[int], int]) -> list[int]:
        """Run `work(0)`, ..., `work(workers - 1)` at the same time; returns what each returned.

        The calling thread is number 0. `work` must not raise, and one caller at a time may run.
        """
        results = [0] * self.workers

        def keep(number: int) -> None:
            results[number] = work(number)

        wait = self.start(keep)
        keep(0)
        wait()
        return results

    def start(self, work: Callable[[int], object]) -> Callable[[], None]:
        """Let the other threads run `work(1)`, ...; returns what waits until all have.

        `work` must not raise.
        """
        done: queue.SimpleQueue[None] = queue.SimpleQueue()

        def task(number: int) -> Task:
            def run() -> None:
                work(number)
                done.put(None)

            return run

        for number in range(1, self.workers):
            self._others.submit(number - 1, task(number))

        def wait() -> None:
            for _ in range(1, self.workers):
                done.get()

        return wait

    def close(self) -> None:
        """End the other threads, after what is queued."""
        self._others.close()

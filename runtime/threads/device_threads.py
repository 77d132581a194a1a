"""The threads that run a program: one per device, and the workers that share a device's kernels."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import partial
from weakref import finalize

from ..abi.cores import available_cores
from ..host.worker_team import WorkerTeam
from .call_lock import CallLock
from .thread_group import ThreadGroup


class DeviceThreads:
    """The threads of one program; started when first needed, ended with the program."""

    def __init__(self, workers: int | None = None) -> None:
        """`workers` threads share the kernels of each device.

        By default the cores available to this process are divided between its devices.
        """
        self._workers = workers
        self._cores = available_cores()
        self._teams: dict[tuple[int, int], WorkerTeam] = {}
        self._groups: dict[int, ThreadGroup] = {}
        self._lock = threading.Lock()
        # Bind only the groups: a bound method would form a reference cycle that keeps this object
        # alive until the cycle collector runs.
        self.turn = CallLock(partial(_runs_here, self._groups))
        """The lock that a call of the program holds."""
        self._finish = finalize(self, _release, self._groups, self._teams)

    def group(self, count: int) -> ThreadGroup:
        """Return the group of `count` devices with a thread each."""
        found = self._groups.get(count)
        if found is None:
            found = self._groups[count] = ThreadGroup(count)
        return found

    def team(self, process: int, devices: int) -> WorkerTeam | None:
        """Return the workers of a process's device; `None` if its own thread does all work.

        `devices` is the number of devices that share the available cores.
        """
        workers = self._workers or max(1, self._cores // devices)
        if workers == 1:
            return None
        key = process, workers
        found = self._teams.get(key)
        if found is None:
            with self._lock:
                found = self._teams.setdefault(key, WorkerTeam(workers))
        return found

    def close(self) -> None:
        """End the threads after their current calls."""
        _release(self._groups, self._teams)


def _runs_here(groups: Mapping[int, ThreadGroup]) -> bool:
    """Whether this thread belongs to a device that is running."""
    return bool(groups) and any(map(ThreadGroup.is_inside, tuple(groups.values())))


def _release(groups: dict[int, ThreadGroup], teams: dict[tuple[int, int], WorkerTeam]) -> None:
    for each in (*groups.values(), *teams.values()):
        each.close()
    groups.clear()
    teams.clear()

"""The threads that run a program: of its devices, and of the workers that share their kernels."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import partial
from weakref import finalize

from .abi.cores import available_cores
from .call_lock import CallLock
from .host.team import Team
from .threads import ThreadGroup


class DeviceThreads:
    """The threads of one program; they are started when they are needed, and end with it."""

    def __init__(self, workers: int | None = None) -> None:
        """`workers` threads share the kernels of each device; by default the cores that this
        process may use are shared out over its devices."""
        self._workers = workers
        self._cores = available_cores()
        self._teams: dict[tuple[int, int], Team] = {}
        self._groups: dict[int, ThreadGroup] = {}
        self._lock = threading.Lock()
        # Of the groups alone: with a method of its own it would live until a search for cycles.
        self.turn = CallLock(partial(_runs_here, self._groups))
        """What a call of the program holds."""
        self._finish = finalize(self, _release, self._groups, self._teams)

    def group(self, count: int) -> ThreadGroup:
        """Devices with a thread each."""
        found = self._groups.get(count)
        if found is None:
            found = self._groups[count] = ThreadGroup(count)
        return found

    def team(self, process: int, devices: int) -> Team | None:
        """The workers of a process's device, one of so many; `None` if its own thread is all."""
        workers = self._workers or max(1, self._cores // devices)
        if workers == 1:
            return None
        key = process, workers
        found = self._teams.get(key)
        if found is None:
            with self._lock:
                found = self._teams.setdefault(key, Team(workers))
        return found

    def close(self) -> None:
        """End the threads, after what they run."""
        _release(self._groups, self._teams)


def _runs_here(groups: Mapping[int, ThreadGroup]) -> bool:
    """Whether this thread is one of a device that is running."""
    return any(group.is_inside() for group in tuple(groups.values()))


def _release(groups: dict[int, ThreadGroup], teams: dict[tuple[int, int], Team]) -> None:
    for each in (*groups.values(), *teams.values()):
        each.close()
    groups.clear()
    teams.clear()

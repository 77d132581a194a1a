"""A lock that lets one call of a program run at a time."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock, get_ident

from ..abi.errors import ExecutionError

_forks: list[int] = []
"""Process ids of the forks that led to this process.

Its length identifies the process without a system call.
"""

os.register_at_fork(after_in_child=lambda: _forks.append(os.getpid()))


class CallLock:
    """Lock held by a running call of a program; calls on other threads wait for it.

    Where the wait would never end, it raises ExecutionError instead: for a call from within a call,
    as from a callback that traces a run, and in a fork that was made during a call.
    """

    def __init__(self, is_inside: Callable[[], bool]) -> None:
        """`is_inside` tells whether this thread runs Python code of a call for another thread."""
        self._is_inside = is_inside
        self._lock = Lock()
        self._owner: int | None = None
        self._forks = len(_forks)

    def __enter__(self) -> None:
        if not self._lock.acquire(False):
            self._check_that_it_ends()
            self._lock.acquire()
        self._owner = get_ident()
        self._forks = len(_forks)

    def _check_that_it_ends(self) -> None:
        """Raise ExecutionError if the running call would never end."""
        if self._forks != len(_forks):
            raise ExecutionError(
                "the program was in a call when this process was forked, which the fork does"
                " not end: compile or load it here, or fork between calls"
            )
        if self._owner == get_ident() or self._is_inside():
            raise ExecutionError(
                "the program is called from within a call of it, which would wait for itself:"
                " call it after that has ended, or compile another one"
            )

    def __exit__(self, kind: object, problem: object, trace: object) -> None:
        self._owner = None
        self._lock.release()

"""A lock that lets one call of a program run at a time."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import RLock

from ..abi.errors import ExecutionError

_forks: list[int] = []
"""Process ids of the forks that led to this process.

Its length identifies the process without a system call.
"""

os.register_at_fork(after_in_child=lambda: _forks.append(os.getpid()))


class CallLock:
    """Lock held by a running call of a program; calls on other threads wait for it.

    Where the wait would never end, it raises ExecutionError instead: for a call from within a call,
    as from a callback that traces a run or from a signal handler, and in a fork that was made
    during a call.
    """

    def __init__(self, is_inside: Callable[[], bool]) -> None:
        """`is_inside` tells whether this thread runs Python code of a call for another thread."""
        self._is_inside = is_inside
        # It knows its owner itself, so that no signal can come between it and a record of that.
        self._lock = RLock()
        self._is_mine: Callable[[], bool] = self._lock._is_owned  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]
        self._forks = len(_forks)

    def checked(self) -> AbstractContextManager[bool]:
        """Return the lock for a `with` statement, after a check that a wait for it would end.

        An exception of a signal handler, such as KeyboardInterrupt, can follow any call of Python
        code, but does not come between C code that takes a lock and the block of its `with`.
        """
        if self._forks != len(_forks):
            if self._is_mine() or not self._lock.acquire(False):
                raise ExecutionError(
                    "the program was in a call when this process was forked, which the fork does"
                    " not end: compile or load it here, or fork between calls"
                )
            self._lock.release()
            self._forks = len(_forks)
        elif self._is_mine() or self._is_inside():
            raise ExecutionError(
                "the program is called from within a call of it, which would wait for itself:"
                " call it after that has ended, or compile another one"
            )
        return self._lock

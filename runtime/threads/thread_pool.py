"""Threads that run native calls: one for each device, and the workers of a device.

A call starts and ends without the GIL. A thread that has finished its call stays awake for a while,
yielding its core, since the next call often follows at once. A call that returns a status other
than 0 continues in Python, on the same thread.

The words of a pool: how many members have ended their call, how many members there are, and a lock
on which the caller waits for all. Each member has 16 words, so that members do not share cache
lines: how many calls it was given and how many it has taken, the call's function and argument, a
lock, and whether it is busy. Locks are CPython's thread locks, used as semaphores: each acquire is
matched by one release.
"""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from ..abi.memory import as_numbers
from ..abi.native_code import source_of
from ..intrinsics import (
    acquire_lock,
    atomic_add,
    atomic_load,
    atomic_store,
    call_function,
    cycle_count,
    load_field,
    release_lock,
    store_field,
    yield_processor,
)
from ..native_registry import callable_function

SOURCE = source_of(__file__)

ENDED, MEMBERS, ALL_ENDED = 0, 8, 9
FIRST_MEMBER, MEMBER_WORDS = 16, 16
GIVEN, TAKEN, FUNCTION, ARGUMENT, LOCK, IS_BUSY = 0, 8, 9, 10, 11, 12
"""Offsets, in words, of a pool's fields, and of a member's fields."""

IDLE_CYCLES = 1 << 21
"""Cycles for which a thread without a call yields its core before it sleeps: about 1 ms.

Another core that has gone to sleep takes 100 us to 1 ms to start a thread. A call of a few hundred
microseconds ends before that, so that a thread that sleeps between calls takes part in none.
"""

WAITING_CYCLES = 1 << 17
"""Cycles for which the caller yields its core to the members before it sleeps: about 50 us."""

WAIT_FOREVER = -1

TASK_ALONE, CLOSED = -1, -2
"""Statuses besides those of native calls: only a Python task was given; the thread is to end."""


def member_words(pool: int, number: int) -> int:
    """Return the address of a member's words."""
    return pool + 8 * (FIRST_MEMBER + MEMBER_WORDS * number)


def attend(pool: int, number: int, has_ended: int) -> int:
    """Run a member's calls until one must continue in Python; return its status, or CLOSED.

    `has_ended` is nonzero if the previous call has been completed in Python.
    """
    member = member_words(pool, number)
    status = 0
    if has_ended != 0:
        end_call(pool, member)
    while status == 0:
        taken = load_field(member, TAKEN)
        begin = cycle_count()
        while atomic_load(member + 8 * GIVEN) == taken and cycle_count() - begin < IDLE_CYCLES:
            yield_processor()
        while acquire_lock(load_field(member, LOCK), WAIT_FOREVER) != 1:
            # A signal interrupted the wait; the main thread handles it.
            begin = 0
        if atomic_load(member + 8 * GIVEN) == taken:
            return CLOSED
        store_field(member, TAKEN, taken + 1)
        function = load_field(member, FUNCTION)
        status = TASK_ALONE
        if function != 0:
            status = call_function(function, load_field(member, ARGUMENT))
        if status == 0:
            end_call(pool, member)
    return status


def end_call(pool: int, member: int) -> None:
    """Mark a member's call as ended; the last member wakes the thread that waits for all."""
    atomic_store(member + 8 * IS_BUSY, 0)
    if atomic_add(pool + 8 * ENDED, 1) + 1 == load_field(pool, MEMBERS):
        release_lock(load_field(pool, ALL_ENDED))


def post(pool: int) -> None:
    """Start the calls of all members."""
    members = load_field(pool, MEMBERS)
    atomic_store(pool + 8 * ENDED, 0)
    for number in range(members):
        member = member_words(pool, number)
        store_field(member, IS_BUSY, 1)
        atomic_add(member + 8 * GIVEN, 1)
        release_lock(load_field(member, LOCK))


def post_and_wait(pool: int, microseconds: int) -> int:
    """Start the calls of all members, then wait as `await_all` does."""
    post(pool)
    return await_all(pool, microseconds)


def await_all(pool: int, microseconds: int) -> int:
    """Wait until all members have ended.

    Returns 1 when they have; another number after the given time or at a signal.
    """
    begin = cycle_count()
    members = load_field(pool, MEMBERS)
    while atomic_load(pool + 8 * ENDED) < members and cycle_count() - begin < WAITING_CYCLES:
        yield_processor()
    return acquire_lock(load_field(pool, ALL_ENDED), microseconds)


POOL_FUNCTIONS = attend, post_and_wait, await_all, post


Task = Callable[[int, int], None]
"""Continues a call in Python, given the number of the thread and the call's status; must not raise.
"""

Call = tuple[int, int]
"""The address of a native function of one word, and its argument."""


class _Shared:
    """What a pool's threads share: words, locks, and a Python task."""

    def __init__(self, count: int) -> None:
        self.words = np.zeros(FIRST_MEMBER + MEMBER_WORDS * count, np.int64)
        self.numbers = as_numbers(self.words)
        self.address = int(self.words.ctypes.data)
        self.task: Task | None = None
        self.kept: object = None
        locks = [_new_lock() for _ in range(count + 1)]
        self.words[MEMBERS] = count
        self.words[ALL_ENDED] = locks[count]
        self.words[FIRST_MEMBER + LOCK :: MEMBER_WORDS] = locks[:count]
        weakref.finalize(self, _free_locks, locks).atexit = False


class ThreadPool:
    """Threads that run calls at the same time; they end when the pool is garbage-collected.

    They are daemon threads, so they do not keep the interpreter from exiting.
    """

    def __init__(self, count: int, name: str) -> None:
        self._count = count
        self._name = name
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._shared = shared = _Shared(self._count)
        self._is_running = False
        self._finish = weakref.finalize(self, _close, shared)
        for number in range(self._count):
            threading.Thread(
                target=_serve, args=(shared, number), daemon=True, name=f"{self._name}-{number}"
            ).start()

    def begin(self, task: Task, calls: Sequence[Call] | None, kept: object, seconds: float) -> bool:
        """Let each thread run its call, and the task if the call continues in Python.

        Without calls each thread runs the task only. `kept` is kept alive until all have ended.
        Waits as `wait` does, which must have reported the end of the previous calls.
        """
        self._shared.task, self._shared.kept = task, kept
        self._set_calls([(0, 0)] * self._count if calls is None else calls)
        self._is_running = True
        return self._has_ended(post_and_wait, seconds)

    def post(self, calls: Sequence[Call], kept: object) -> None:
        """Let each thread run its call, without waiting; such calls must not continue in Python.

        `kept` is kept alive until `wait` reports their end, as it must have for the previous calls.
        """
        self._shared.kept = kept
        self._set_calls(calls)
        self._is_running = True
        callable_function(post)(self._shared.address)

    def _set_calls(self, calls: Sequence[Call]) -> None:
        numbers, first = self._shared.numbers, FIRST_MEMBER
        for function, argument in calls:
            numbers[first + FUNCTION], numbers[first + ARGUMENT] = function, argument
            first += MEMBER_WORDS

    def wait(self, seconds: float) -> bool:
        """Wait at most `seconds`, or until a signal; return whether all calls have ended."""
        if self._process != os.getpid():
            # A forked process has the pool's memory but not its threads.
            self._start()
        return not self._is_running or self._has_ended(await_all, seconds)

    def _has_ended(self, function: FunctionType, seconds: float) -> bool:
        if callable_function(function)(self._shared.address, int(seconds * 1e6)) == 1:
            self._is_running = False
            self._shared.task = self._shared.kept = None
        return not self._is_running

    @property
    def busy(self) -> list[int]:
        """The numbers of the members whose call or task has not ended."""
        return np.flatnonzero(self._shared.words[FIRST_MEMBER + IS_BUSY :: MEMBER_WORDS]).tolist()

    def close(self) -> None:
        """End the threads after their current calls."""
        self._finish()


def _serve(shared: _Shared, number: int) -> None:
    run_calls = callable_function(attend)
    has_ended = 0
    while True:
        status = run_calls(shared.address, number, has_ended)
        if status == CLOSED:
            return
        assert shared.task is not None
        shared.task(number, status)
        has_ended = 1


def _close(shared: _Shared) -> None:
    for lock in shared.words[FIRST_MEMBER + LOCK :: MEMBER_WORDS].tolist():
        _python().PyThread_release_lock(lock)


@cache
def _python() -> Any:
    """Return CPython's thread lock functions."""
    found = ctypes.PyDLL(None)
    found.PyThread_allocate_lock.restype = ctypes.c_void_p
    found.PyThread_allocate_lock.argtypes = ()
    for name in ("PyThread_release_lock", "PyThread_free_lock"):
        function = getattr(found, name)
        function.restype, function.argtypes = None, (ctypes.c_void_p,)
    found.PyThread_acquire_lock.restype = ctypes.c_int
    found.PyThread_acquire_lock.argtypes = (ctypes.c_void_p, ctypes.c_int)
    return found


def _new_lock() -> int:
    """Return the address of a new lock in locked state. Raises MemoryError."""
    lock = _python().PyThread_allocate_lock()
    if lock is None:
        raise MemoryError("a lock")
    _python().PyThread_acquire_lock(lock, 0)
    return int(lock)


def _free_locks(locks: Sequence[int]) -> None:
    for lock in locks:
        _python().PyThread_free_lock(lock)

"""Report long-running activities to a progress listener.

Any code that may take seconds wraps its work in `activity(...)`. Without a listener this costs
almost nothing.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol


class Listener(Protocol):
    """Receives the begin and end of activities, on the thread that runs them."""

    def begin(self, name: str) -> None:
        """Note that an activity begins, nested in those that have not ended yet."""

    def end(self, name: str) -> None:
        """Note that an activity ends."""


_listeners: list[Listener] = []


def activity(name: str) -> AbstractContextManager[None]:
    """Return a context manager for one activity: `with activity("compiling kernel 3"):`."""
    return _reported(name, _listeners[-1]) if _listeners else nullcontext()


@contextmanager
def _reported(name: str, listener: Listener) -> Generator[None]:
    listener.begin(name)
    try:
        yield
    finally:
        listener.end(name)


@contextmanager
def listen_to_activities(listener: Listener) -> Generator[None]:
    """Report the activities inside the `with` block to `listener`."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.pop()

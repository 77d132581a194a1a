"""What goes on at the moment, for whoever shows it to a person who waits.

Whatever may take seconds says so. It costs nothing to speak of where nobody listens.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol


class Listener(Protocol):
    """Is told what begins and ends, from whatever thread it is on."""

    def begin(self, what: str) -> None:
        """Something begins, inside of what has begun before."""

    def end(self, what: str) -> None:
        """It is over."""


_listeners: list[Listener] = []


def activity(what: str) -> AbstractContextManager[None]:
    """A `with` block in which something goes on: `activity("compiling kernel 3")`."""
    return _told(what, _listeners[-1]) if _listeners else nullcontext()


@contextmanager
def _told(what: str, listener: Listener) -> Generator[None]:
    listener.begin(what)
    try:
        yield
    finally:
        listener.end(what)


@contextmanager
def activities_to(listener: Listener) -> Generator[None]:
    """Tell a listener what goes on inside the `with` block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.pop()

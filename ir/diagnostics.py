"""Errors and remarks about operations, and output of passes, independent of how they are printed.

A pass raises `OperationError`. The caller that has the source text (mesh-opt, a test, the driver of
another compiler) converts the operation into `file:line:col`. Remarks go to the sink of the current
context and cost nothing without one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from xdsl.ir import Operation


@dataclass(frozen=True, slots=True)
class Note:
    """A secondary location or fact that explains an error or a remark."""

    message: str
    operation: Operation | None = None


class OperationError(Exception):
    """An error in a program: the operation, what is wrong, and what would be valid.

    It is printed as `file:line:col: error: 'op.name' op message`, so the message starts in lower
    case and does not repeat the op's name.
    """

    def __init__(self, operation: Operation, message: str, notes: Sequence[Note] = ()) -> None:
        super().__init__(message)
        self.operation = operation
        self.message = message
        self.notes = tuple(notes)
        self.others: tuple[OperationError, ...] = ()
        """Further errors of the same run, for a driver that prints all of them."""


def raise_all(errors: Sequence[OperationError]) -> None:
    """Raise the first error with the rest attached as `others`. Do nothing if there are none."""
    if errors:
        errors[0].others = tuple(errors[1:])
        raise errors[0]


@dataclass(frozen=True, slots=True)
class Remark:
    """A decision of a pass that its user may want to know."""

    category: str
    operation: Operation
    message: str
    notes: tuple[Note, ...] = field(default=())


_sink: ContextVar[Callable[[Remark], None] | None] = ContextVar("remark_sink", default=None)


def remark(category: str, operation: Operation, message: str, notes: Sequence[Note] = ()) -> None:
    """Emit a remark under a category such as `sharding` or `encoding`."""
    sink = _sink.get()
    if sink is not None:
        sink(Remark(category, operation, message, tuple(notes)))


def remarks_wanted() -> bool:
    """Return whether a sink is set. Check this before doing work only to word a remark."""
    return _sink.get() is not None


@contextmanager
def remarks_to(sink: Callable[[Remark], None] | None) -> Generator[None]:
    """Send the remarks made inside the `with` block to `sink`; `None` drops them."""
    token = _sink.set(sink)
    try:
        yield
    finally:
        _sink.reset(token)


@contextmanager
def remarks_also_to(sink: Callable[[Remark], None]) -> Generator[None]:
    """Send the remarks made inside the `with` block to `sink` in addition to the current sink."""
    outer = _sink.get()

    def both(remark: Remark) -> None:
        sink(remark)
        if outer is not None:
            outer(remark)

    with remarks_to(both):
        yield


_pass_output: ContextVar[Callable[[str], object] | None] = ContextVar("pass_output", default=None)


def write_pass_output(text: str) -> None:
    """Write output of a pass (a graph, statistics) where `pass_output_to` says, else to stderr."""
    write = _pass_output.get()
    (write or sys.stderr.write)(text)


@contextmanager
def pass_output_to(write: Callable[[str], object]) -> Generator[None]:
    """Send the textual output of passes inside the `with` block to `write`."""
    token = _pass_output.set(write)
    try:
        yield
    finally:
        _pass_output.reset(token)

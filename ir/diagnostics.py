"""Errors and remarks about operations, before a driver knows where to print them.

A pass raises `OperationError`; whoever reads the text (mesh-opt, a test, another compiler's
driver) turns the operation into `file:line:col`. Remarks go to the sink of the current context
and cost nothing where there is none.
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
    """A second place or fact that an error or remark needs to be understood."""

    message: str
    operation: Operation | None = None


class OperationError(Exception):
    """What is wrong with a program, at which operation, and what would be right.

    Printed as `file:line:col: error: 'op.name' op message`, so the message starts in lower
    case and does not name the operation again.
    """

    def __init__(self, operation: Operation, message: str, notes: Sequence[Note] = ()) -> None:
        super().__init__(message)
        self.operation = operation
        self.message = message
        self.notes = tuple(notes)
        self.others: tuple[OperationError, ...] = ()
        """What is wrong besides, for who tells all of it."""


def raise_all(errors: Sequence[OperationError]) -> None:
    """Raise the first of some errors, which has the others with it; nothing if there is none."""
    if errors:
        errors[0].others = tuple(errors[1:])
        raise errors[0]


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that a pass decided and that its user may want to know."""

    category: str
    operation: Operation
    message: str
    notes: tuple[Note, ...] = field(default=())


_sink: ContextVar[Callable[[Remark], None] | None] = ContextVar("remark_sink", default=None)


def remark(category: str, operation: Operation, message: str, notes: Sequence[Note] = ()) -> None:
    """Report a decision of a pass under a category such as `sharding` or `encoding`."""
    sink = _sink.get()
    if sink is not None:
        sink(Remark(category, operation, message, tuple(notes)))


def remarks_wanted() -> bool:
    """Whether anybody listens: ask before doing work only to word a remark."""
    return _sink.get() is not None


@contextmanager
def remarks_to(sink: Callable[[Remark], None] | None) -> Generator[None]:
    """Send every remark made inside the `with` block to `sink`, or to nobody."""
    token = _sink.set(sink)
    try:
        yield
    finally:
        _sink.reset(token)


@contextmanager
def remarks_also_to(sink: Callable[[Remark], None]) -> Generator[None]:
    """Send every remark made inside the `with` block to `sink`, and to where it went before."""
    outer = _sink.get()

    def both(remark: Remark) -> None:
        sink(remark)
        if outer is not None:
            outer(remark)

    with remarks_to(both):
        yield


_reports: ContextVar[Callable[[str], object] | None] = ContextVar("reports", default=None)


def report(text: str) -> None:
    """Print what a pass was asked for beside the program: on standard error, unless it is sent
    elsewhere."""
    write = _reports.get()
    (write or sys.stderr.write)(text)


@contextmanager
def reports_to(write: Callable[[str], object]) -> Generator[None]:
    """Send the reports of passes inside the `with` block to a function."""
    token = _reports.set(write)
    try:
        yield
    finally:
        _reports.reset(token)

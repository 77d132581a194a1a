"""Functions of other packages: what they raise is told with their names, where it happened.

    'acme.softmax' op in rule acme.rules.softmax_rule: ZeroDivisionError: division by zero

Registries guard what they are given, so that nobody takes a fault of such a function for one of
ours. What a program may be refused for, an `OperationError`, passes as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps
from inspect import isgeneratorfunction
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, cast

from xdsl.ir import Operation

from .diagnostics import OperationError

P = ParamSpec("P")
R = TypeVar("R")

OWN_PACKAGE = __name__.partition(".")[0]
PASSED_ON = (OperationError, MemoryError, RecursionError)
"""What says enough by itself."""

DEPENDENCIES = frozenset(
    ("llvmlite", "ml_dtypes", "mpi4py", "networkx", "numba", "numpy", "scipy", "xdsl")
)
"""Packages that run nobody's functions but those that they are given."""


def is_foreign(module: str | None) -> bool:
    """Whether a module is of another package."""
    return (module or OWN_PACKAGE).partition(".")[0] != OWN_PACKAGE


def name_of(function: object) -> str:
    """The module and the name of a function or class."""
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{getattr(function, '__module__', None) or type(function).__module__}.{name}"


def told(error: BaseException) -> str:
    """An exception as the last line of its traceback."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class ForeignFault(OperationError):
    """What code of another package has raised: its mistake, and nothing that it cannot do."""


@contextmanager
def _naming(
    kind: str, operation: object, name: Callable[[Exception], str | None]
) -> Generator[None]:
    """What is raised here becomes an error of the operation that says in what it arose.

    Where `name` knows no name, the exception passes as it is.
    """
    try:
        yield
    except PASSED_ON:
        raise
    except Exception as error:
        where = name(error)
        if where is None:
            raise
        message = f"in {kind} {where}: {told(error)}"
        raise ForeignFault(cast(Operation, operation), message) from error


def guarded(kind: str, function: Callable[P, R], position: int = 0) -> Callable[P, R]:
    """The function, with its name in what it raises if it is of another package.

    `kind` is what it is registered as, `position` that of its argument that is the operation.
    """
    if not is_foreign(getattr(function, "__module__", None)):
        return function

    def name(_: Exception) -> str:
        return name_of(function)

    if isgeneratorfunction(function):

        @wraps(function)
        def routine(*args: P.args, **kwargs: P.kwargs) -> Generator[Any, Any, Any]:
            with _naming(kind, args[position], name):
                return (yield from cast("Generator[Any, Any, Any]", function(*args, **kwargs)))

        return routine  # pyright: ignore[reportReturnType]

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with _naming(kind, args[position], name):
            return function(*args, **kwargs)

    return call


def blamed(kind: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorates a function of ours that is about its first argument, an operation.

    If it fails in a function of another package, that is named, and said to be a `kind`.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            with _naming(kind, args[0], culprit):
                return function(*args, **kwargs)

        return call

    return decorate


def culprit(error: BaseException) -> str | None:
    """The function of another package in which an exception arose, `None` if it was in ours.

    What the standard library and our own dependencies raise is the affair of who called them.
    """
    found: str | None = None
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        module = str(frame.f_globals.get("__name__", ""))
        root = module.partition(".")[0]
        if root == OWN_PACKAGE:
            found = None
        elif root not in DEPENDENCIES and root not in sys.stdlib_module_names:
            found = f"{module}.{frame.f_code.co_qualname}"
        trace = trace.tb_next
    return found

"""Attribute exceptions to the functions of other packages that raise them.

    'acme.softmax' op in rule acme.rules.softmax_rule: ZeroDivisionError: division by zero

Registries wrap the functions that they are given, so that a fault in such a function is not
reported as a bug of this project. An `OperationError`, which rejects a program, passes through
unchanged.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import wraps
from inspect import isgeneratorfunction
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, cast

from xdsl.ir import Operation

from .diagnostics import OperationError

P = ParamSpec("P")
R = TypeVar("R")
EntryT = TypeVar("EntryT")
FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

OWN_PACKAGE = __name__.partition(".")[0]
PASSED_ON = (OperationError, MemoryError)
"""Exceptions that pass through unchanged."""

DEPENDENCIES = frozenset(
    ("llvmlite", "ml_dtypes", "mpi4py", "networkx", "numba", "numpy", "scipy", "xdsl")
)
"""Packages that call no user functions except those passed to them.

Exceptions raised in them are attributed to their callers.
"""


def is_foreign(module: str | None) -> bool:
    """Return whether a module belongs to another package."""
    return (module or OWN_PACKAGE).partition(".")[0] != OWN_PACKAGE


def _is_foreign_function(function: object) -> bool:
    return is_foreign(getattr(function, "__module__", None))


def name_of(function: object) -> str:
    """Return the qualified name of a function or class, with its module."""
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{getattr(function, '__module__', None) or type(function).__module__}.{name}"


def exception_text(error: BaseException) -> str:
    """Return an exception as in the last line of a traceback: `ValueError: message`."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class ForeignFault(OperationError):
    """A bug in code of another package, as opposed to a program that it does not support."""


@contextmanager
def _attributing(
    kind: str, operation: object, name: Callable[[Exception], str | None]
) -> Generator[None]:
    """Convert exceptions in the `with` block to a `ForeignFault` at `operation`.

    The message names the function.

    An exception passes through unchanged if `name` returns `None` for it.
    """
    try:
        yield
    except PASSED_ON:
        raise
    except Exception as error:
        where = name(error)
        if where is None:
            raise
        message = f"in {kind} {where}: {exception_text(error)}"
        raise ForeignFault(cast(Operation, operation), message) from error


def wrap_foreign(kind: str, function: Callable[P, R], position: int = 0) -> Callable[P, R]:
    """Wrap a function of another package so that its name is in the errors that it raises.

    `kind` is what the function is registered as. `position` is the index of the argument that is
    the operation. Functions of this package are returned unchanged.
    """
    if not _is_foreign_function(function):
        return function

    def name(_: Exception) -> str:
        return name_of(function)

    if isgeneratorfunction(function):

        @wraps(function)
        def routine(*args: P.args, **kwargs: P.kwargs) -> Generator[Any, Any, Any]:
            with _attributing(kind, args[position], name):
                return (yield from cast("Generator[Any, Any, Any]", function(*args, **kwargs)))

        return routine  # pyright: ignore[reportReturnType]

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with _attributing(kind, args[position], name):
            return function(*args, **kwargs)

    return call


class OpenTable(dict[str, EntryT]):
    """A table by operation name that other packages extend through decorators.

    An entry of another package replaces ours, also if our module is imported later. If entries are
    `unique`, which names them in errors, none is replaced: `load(name)` then imports ours before
    another package registers one.
    """

    def __init__(self, unique: str = "", load: Callable[[str], None] | None = None) -> None:
        super().__init__()
        self._unique = unique
        self._load = load
        self._functions: dict[str, Callable[..., Any]] = {}

    def decorator(
        self,
        usage: str,
        names: Sequence[str],
        kind: str,
        *,
        entry: Callable[[Any], EntryT] = lambda function: function,
        checked: Callable[[Any], Callable[..., Any]] = lambda function: function,
        position: int = 0,
        example: str = "acme.double",
    ) -> Callable[[FunctionT], FunctionT]:
        """Return the decorator `usage`, which registers `entry(function)` under each name.

        A function of another package is wrapped by `checked` and `wrap_foreign`. Raises TypeError
        for wrong arguments, ValueError if a name has another entry that must not be replaced.
        """
        check_names(f"@{usage}", names, example)

        def register(function: FunctionT) -> FunctionT:
            if not callable(function):
                raise TypeError(f"@{usage} decorates a function, not {function!r}")
            used: Callable[..., Any] = function
            if _is_foreign_function(function):
                used = wrap_foreign(kind, checked(function), position)
            for name in names:
                self._put(name, entry(used), function)
            return function

        return register

    def _put(self, name: str, entry: EntryT, function: Callable[..., Any]) -> None:
        foreign = _is_foreign_function(function)
        if foreign and self._load is not None:
            self._load(name)
        known = self._functions.get(name, function)
        if known is not function:
            if self._unique:
                what = "operation" if "." in name else "dialect"
                raise ValueError(f"{what} {name} already has a {self._unique}")
            if _is_foreign_function(known) and not foreign:
                return
        self._functions[name] = function
        self[name] = entry


def check_names(usage: str, names: Sequence[object], example: str) -> None:
    """Check names that are registered. Raises TypeError unless they are like `example`."""
    text = f'{usage} takes names, as in {usage}("{example}")'
    if not names:
        raise TypeError(f"{text}, and has none")
    for name in names:
        if not isinstance(name, str) or ("." in name) != ("." in example):
            raise TypeError(f"{text}: {name!r}")


def attribute_faults(function: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function of this package that writes the kernel of its first argument, an operation.

    If an exception originates in a function of another package, the error names that function.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with _attributing("kernel", args[0], foreign_origin):
            return function(*args, **kwargs)

    return call


def foreign_origin(error: BaseException) -> str | None:
    """Return the function of another package that raised an exception; `None` if there is none.

    Exceptions from the standard library and from `DEPENDENCIES` count as raised by their callers.
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

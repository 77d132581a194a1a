"""Which function emits one device's part of which operation: a table by operation name.

    @partition("mydialect.scale")
    def scale(partitioner: Partitioner, operation: Operation) -> None: ...

An operation without an entry is handled by its factor rule, and one without a rule runs whole on
each process.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from xdsl.ir import Operation

from ....dialects.linalg.structured_view import STRUCTURED_OPERATIONS
from ....ir.foreign_code import guarded

Handler = Callable[[Any, Operation], None]
"""Emits an operation with the help of a `Partitioner`."""

AnyHandler = TypeVar("AnyHandler", bound=Callable[[Any, Any], None])
"""A handler, which may say of which class its operations are."""

ANY = "any operation"
ANY_STRUCTURED = "any structured operation"
"""Under which names the handlers of operations without an entry are registered."""

_HANDLERS: dict[str, Handler] = {}

_MODULES = (
    "by_rule",
    "control_flow",
    "joins",
    "shapes",
    "slices",
    "structured",
    "tosa",
)
"""The files of this folder that register handlers."""


def partition(*names: str) -> Callable[[AnyHandler], AnyHandler]:
    """Register the decorated function for the operations of these names, in the place of another.

    It raises OperationError for an operation that cannot be partitioned.
    """

    def register(function: AnyHandler) -> AnyHandler:
        for name in names:
            _HANDLERS[name] = guarded("partition handler", function, 1)
        return function

    return register


@cache
def _load() -> None:
    for module in _MODULES:
        import_module(f".{module}", __package__)


def find_handler(operation: Operation) -> Handler:
    """The function that emits an operation."""
    _load()
    default = ANY_STRUCTURED if operation.name in STRUCTURED_OPERATIONS else ANY
    return _HANDLERS.get(operation.name) or _HANDLERS[default]

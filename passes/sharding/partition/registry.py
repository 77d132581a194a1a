"""Register the functions that emit the local form of operations, by operation name.

    @partition("mydialect.scale")
    def scale(partitioner: Partitioner, operation: Operation) -> None: ...

An operation without an entry is partitioned by its factor rule, and runs replicated if it has none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from typing import Any, TypeVar

from xdsl.ir import Operation

from ....dialects.linalg.structured_view import STRUCTURED_OPERATIONS
from ....ir.foreign_code import OpenTable

Handler = Callable[[Any, Operation], None]
"""Emit an operation with the help of a `Partitioner`."""

AnyHandler = TypeVar("AnyHandler", bound=Callable[[Any, Any], None])
"""A handler, whose parameter may be a specific operation class."""

ANY = "*.*"
ANY_STRUCTURED = "linalg.*"
"""Names under which the handlers of operations without an entry are registered."""

_HANDLERS = OpenTable[Handler]()

_MODULES = (
    "by_rule",
    "concat_and_insert",
    "control_flow",
    "creations_and_reshapes",
    "slices_and_padding",
    "structured",
    "tosa",
)
"""The files of this folder that register handlers."""


def partition(*names: str) -> Callable[[AnyHandler], AnyHandler]:
    """Register the decorated function as the handler of these operations.

    It must raise OperationError for an operation that it cannot partition.
    """
    return _HANDLERS.decorator(
        "partition", names, "partition handler", checked=_checked, position=1
    )


def _checked(function: Handler) -> Handler:
    """Wrap a handler of another package with a check that it records the operation's results."""

    @wraps(function)
    def call(partitioner: Any, operation: Operation) -> None:
        function(partitioner, operation)
        for index, result in enumerate(operation.results):
            if not partitioner.is_recorded(result):
                raise ValueError(
                    f"result #{index} has no local value: call partition_by_rule or set_value"
                )

    return call


@cache
def _load() -> None:
    for module in _MODULES:
        import_module(f".{module}", __package__)


def find_handler(operation: Operation) -> Handler:
    """Return the handler of an operation."""
    _load()
    default = ANY_STRUCTURED if operation.name in STRUCTURED_OPERATIONS else ANY
    return _HANDLERS.get(operation.name) or _HANDLERS[default]

"""Which function emits one device's part of which operation: a table by operation name.

    @partition("mydialect.scale")
    def scale(partitioner: Partitioner, operation: Operation) -> None: ...

An operation without an entry is handled by its factor rule, and one without a rule runs whole on
each process.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from xdsl.ir import Operation

from ....dialects.linalg.structured_view import STRUCTURED_OPERATIONS

if TYPE_CHECKING:
    from .partitioner import Partitioner

Handler: TypeAlias = "Callable[[Partitioner, Operation], None]"

_HANDLERS: dict[str, Handler] = {}

_MODULES = (
    "control_flow",
    "control_flow",
    "control_flow",
    "shapes",
    "joins",
    "joins",
    "shapes",
    "control_flow",
    "slices",
    "tosa",
    "tosa",
)
_defaults: list[Handler] = []


def partition(*names: str) -> Callable[[Handler], Handler]:
    """Register the decorated function for the operations of these names."""

    def register(function: Handler) -> Handler:
        for name in names:
            _HANDLERS[name] = function
        return function

    return register


def find_handler(operation: Operation) -> Handler:
    """The function that emits an operation."""
    if not _defaults:
        from .by_rule import by_rule
        from .structured import structured

        _defaults.extend((by_rule, structured))
        for module in _MODULES:
            import_module(f".{module}", __package__)
    found = _HANDLERS.get(operation.name)
    if found is not None:
        return found
    return _defaults[operation.name in STRUCTURED_OPERATIONS]

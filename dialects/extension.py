"""Dialects of xDSL with the operations that they lack, or with better ones of the same name."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialect_interfaces import DialectInterface
from xdsl.ir import Dialect, Operation


def extended(base: Dialect, operations: Sequence[type[Operation]]) -> Dialect:
    """The dialect with the given operations added, or put in the place of their namesakes."""
    names = {operation.name for operation in operations}
    kept = [operation for operation in base.operations if operation.name not in names]
    interface = base.get_interface(DialectInterface)
    return Dialect(
        base.name,
        [*kept, *operations],
        list(base.attributes),
        [] if interface is None else [interface],
    )

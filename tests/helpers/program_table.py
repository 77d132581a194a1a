"""The table of operations that random programs are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

from program_writer import Writer

Step = Callable[[Writer], None]
"""Writes an operation, and perhaps what it needs, to the end of a program."""

_steps: list[Step] = []
_MODULES = ("program_operations", "program_control_flow")


def operation(step: Step) -> Step:
    """Let random programs have the decorated operation."""
    _steps.append(step)
    return step


def often(step: Step) -> Step:
    """The same, four times as often: reductions and tables are where most can go wrong."""
    _steps.extend([step] * 4)
    return step


def operations() -> Sequence[Step]:
    """All operations that random programs may have."""
    for module in _MODULES:
        import_module(module)
    return _steps

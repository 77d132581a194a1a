"""A table of the functions that lower operations, filled by the files of this package.

- `@lowers("scf.for")`: `function(lowering, op)`, which binds the results;
- `@lowers_branch("cf.br")`: `function(lowering, op, graph)`, for terminators with successors.

Four keys are not names of operations: `kernel` lowers a step that a kernel executes, `start` a step
that begins a collective, `python` a step in the interpreter, and `other` an operation that has no
rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from xdsl.ir import Operation

from ...ir.rules import Rules
from .values import HostValue

Rule = Callable[[Any, Any], None]
BranchRule = Callable[[Any, Operation, Any], None]
ExitRule = Callable[[Operation, Sequence[HostValue]], None]
"""Called at the end of a region with the terminator and its operands."""

lowers = Rules[Rule]()
lowers_branch = Rules[BranchRule]()

_MODULES = (
    "collective_steps",
    "control_flow",
    "executable_steps",
    "global_steps",
    "kernel_steps",
    "python_steps",
    "scalar_steps",
    "buffer_view_steps",
    "stream_steps",
    "tensor_steps",
)
"""The files of this package that register functions."""


def load_rules() -> None:
    """Import the files in `_MODULES`, which fills the tables."""
    for module in _MODULES:
        import_module(f".{module}", __package__)

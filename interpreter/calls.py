"""Calls of functions, each in a frame of its own."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ..ir.diagnostics import OperationError
from ..runtime.abi.arrays import Value
from .frames import Exit, Frame
from .registry import Routine

MAXIMAL_DEPTH = 20_000
"""Maximal number of nested calls. More count as endless recursion."""


def call(op: Operation, name: str, arguments: Sequence[Value], frame: Frame) -> Routine:
    """Run a function by name in a new frame and return its results. Raises OperationError."""
    callee = frame.process.program.lookup(op, name)
    if callee is None:
        raise OperationError(op, f"calls @{name}, which is not defined")
    if not callee.regions or not callee.regions[0].blocks:
        raise OperationError(
            op, f"calls @{name}, which is only declared: the interpreter has no body to run"
        )
    count = len(callee.regions[0].blocks[0].args)
    if count != len(arguments):
        raise OperationError(
            op, f"passes {len(arguments)} arguments to @{name}, which takes {count}"
        )
    check_depth(op, name, frame.depth)
    inner = Frame(frame.process, frame.depth + 1)
    return (yield run_function(callee, arguments, inner))


def check_depth(call: Operation, callee: str, depth: int) -> None:
    """Raise OperationError if a call is nested in `depth` others and that is too deep."""
    if depth >= MAXIMAL_DEPTH:
        raise OperationError(
            call,
            f"exceeds the depth of {MAXIMAL_DEPTH} nested calls: does @{callee} recurse without "
            "end?",
        )


def run_function(function: Operation, arguments: Sequence[Value], frame: Frame) -> Routine:
    """Run the body of a function in a fresh frame and return its results."""
    exit_: Exit = yield frame.run_region(function.regions[0], arguments)
    if exit_.operation is None:
        raise OperationError(function, "ends without a return")
    return exit_.values

"""The functions and calls of host programs (`func` or `util`), and a walk that skips kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Operation

from .graph_orders import CallGraph
from .regions import enclosing, inner_operations, walk
from .symbols import find_visible_symbol, root_symbol

OperationT = TypeVar("OperationT", bound=Operation)

FUNCTIONS = frozenset({"func.func", "util.func"})
INITIALIZER = "util.initializer"
FUNCTIONS_AND_INITIALIZERS = FUNCTIONS | {INITIALIZER}
"""Functions and initializers, whose bodies are isolated from above."""

CALLS = frozenset({"func.call", "util.call"})
RETURNS = frozenset({"func.return", "util.return"})
GLOBAL_LOAD, GLOBAL_STORE = "util.global.load", "util.global.store"
EXECUTABLES = frozenset({"flow.executable", "hal.executable", "stream.executable"})
KERNEL_IN_PLACE = "flow.dispatch.workgroups"
DISPATCH_REGION = "flow.dispatch.region"

CONSTANTS = frozenset({"arith.constant", "flow.tensor.constant"})

LOOPS = frozenset({"scf.for", "scf.while"})
"""Loops whose turns run in order."""
CHOICES = frozenset({"scf.if", "scf.index_switch"})
"""Operations that run at most one of their regions, once."""
CONTROL_FLOW = LOOPS | CHOICES

ABI_AFFINITY = "iree.abi.affinity"
"""On arguments and results of public functions: the device that holds the value."""


def host_operations(module: ModuleOp) -> Iterator[Operation]:
    """Yield all operations of the host program in order, without the bodies of kernels."""
    for operation in module.body.block.ops:
        if operation.name not in EXECUTABLES:
            yield from _outside_of_kernels(operation)


def host_operations_of(module: ModuleOp, kind: type[OperationT]) -> list[OperationT]:
    """Return the operations of a class in the host program, in order."""
    return [operation for operation in host_operations(module) if isinstance(operation, kind)]


def in_initializer(operation: Operation) -> bool:
    """Return whether an operation is an initializer, or in one."""
    return any(scope.name == INITIALIZER for scope in enclosing(operation))


def calls_in(operation: Operation) -> Iterator[tuple[Operation, str]]:
    """Yield the calls nested in an operation, each with the name of its callee."""
    for inner in walk(operation):
        if inner.name in CALLS:
            yield inner, root_symbol(inner, "callee")


def callee_of(call: Operation) -> Operation | None:
    """Return the symbol that a call refers to, looked up outwards.

    Returns `None` if it is not defined, and for operations that are no calls.
    """
    callee = call.get_attr_or_prop("callee") if call.name in CALLS else None
    return find_visible_symbol(call, callee) if isinstance(callee, SymbolRefAttr) else None


def call_graph(functions: Mapping[str, Operation]) -> CallGraph[str]:
    """Return the call graph of functions, which are given by name."""
    return CallGraph(
        {
            name: [callee for _, callee in calls_in(function) if callee in functions]
            for name, function in functions.items()
        }
    )


def _outside_of_kernels(operation: Operation) -> Iterator[Operation]:
    yield operation
    if operation.name == KERNEL_IN_PLACE:
        return
    for inner in inner_operations(operation):
        if inner.regions:
            yield from _outside_of_kernels(inner)
        else:
            yield inner

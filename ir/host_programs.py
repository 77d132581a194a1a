"""Host programs, of `func` or `util`: their functions and calls, and a walk without kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from .call_graph import CallGraph
from .regions import walk
from .symbols import root_symbol

FUNCTIONS = frozenset({"func.func", "util.func"})
FUNCTIONS_AND_INITIALIZERS = FUNCTIONS | {"util.initializer"}
"""Operations whose regions see nothing of what is around them."""

CALLS = frozenset({"func.call", "util.call"})
RETURNS = frozenset({"func.return", "util.return"})
GLOBAL_LOAD, GLOBAL_STORE = "util.global.load", "util.global.store"
EXECUTABLES = frozenset({"flow.executable", "hal.executable", "stream.executable"})
KERNEL_IN_PLACE = "flow.dispatch.workgroups"
DISPATCH_REGION = "flow.dispatch.region"

ABI_AFFINITY = "iree.abi.affinity"
"""On arguments and results of functions that callers see: the device that they are on."""


def host_operations(module: ModuleOp) -> Iterator[Operation]:
    """All operations of the host program, in order: those of kernels are left out."""
    for operation in module.body.block.ops:
        if operation.name not in EXECUTABLES:
            yield from _outside_of_kernels(operation)


def calls_in(operation: Operation) -> Iterator[tuple[Operation, str]]:
    """The calls inside of an operation, and the names of what they call."""
    for inner in walk(operation):
        if inner.name in CALLS:
            yield inner, root_symbol(inner, "callee")


def call_graph(functions: Mapping[str, Operation]) -> CallGraph[str]:
    """The calls between functions, which are given by their names."""
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
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield from _outside_of_kernels(inner)

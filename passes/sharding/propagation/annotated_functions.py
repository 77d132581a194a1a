"""Find the functions that exchange tensors with annotated ones, and their calls."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation
from xdsl.utils.disjoint_set import DisjointSet

from ....ir.host_programs import callee_of
from ....ir.regions import inner_operations
from ..annotations.access import SHARD

FUNCTION = "func.func"
CALL = "func.call"


class AnnotatedFunctions:
    """The functions with bodies of a module, including those of nested modules.

    `active` lists those that contain an annotation, or are connected to such a function by calls,
    in program order; with `everything` it lists all of them.
    """

    def __init__(self, module: Operation, *, everything: bool = False) -> None:
        bodies = list(_functions_in(module))
        self._bodies = set(bodies)
        self.first_calls: dict[Operation, Operation] = {}
        """The first call of each function that is called."""
        annotated = set(bodies) if everything else set[Operation]()
        connected = DisjointSet(bodies)
        for function in bodies:
            for operation in _operations_in(function):
                if operation.name == SHARD:
                    annotated.add(function)
                elif operation.name == CALL and (callee := self.callee_of(operation)) is not None:
                    connected.union(function, callee)
                    self.first_calls.setdefault(callee, operation)
        reached = set(map(connected.find, annotated))
        self.active = [function for function in bodies if connected.find(function) in reached]

    def callee_of(self, call: Operation) -> Operation | None:
        """Return the callee of a call; `None` if it has no body here."""
        found = callee_of(call)
        return found if found in self._bodies else None


def _functions_in(operation: Operation) -> Iterator[Operation]:
    """Yield the functions with bodies in a module and its nested modules, in program order."""
    for inner in inner_operations(operation):
        if inner.name != FUNCTION:
            yield from _functions_in(inner)
        elif inner.regions[0].blocks:
            yield inner


def _operations_in(function: Operation) -> Iterator[Operation]:
    """Yield a function's operations in any order, without bodies of linalg operations."""
    pending = list(function.regions)
    while pending:
        for block in pending.pop().blocks:
            for operation in block.ops:
                yield operation
                if operation.regions and not operation.name.startswith("linalg."):
                    pending += operation.regions

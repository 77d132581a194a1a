"""Which functions of a module exchange tensors with annotated ones, and who calls whom."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation
from xdsl.utils.disjoint_set import DisjointSet

from ....ir.regions import inner_blocks
from ....ir.symbols import root_symbol
from ..annotations.access import SHARD

FUNCTION = "func.func"
CALL = "func.call"


class CallGraph:
    """The functions with bodies of a module, nested modules included.

    `active` are those that hold an annotation, and those that call or are called by active ones,
    in program order; all of them with `everything`.
    """

    def __init__(self, module: Operation, *, everything: bool = False) -> None:
        bodies = list(_functions_in(module))
        self._functions: dict[str, Operation] = {}
        for function in bodies:
            self._functions.setdefault(root_symbol(function, "sym_name"), function)
        self._first_calls: dict[Operation, Operation] = {}
        annotated = set(bodies) if everything else set[Operation]()
        connected = DisjointSet(bodies)
        for function in bodies:
            for operation in _operations_in(function):
                if operation.name == SHARD:
                    annotated.add(function)
                elif operation.name == CALL and (callee := self.callee_of(operation)) is not None:
                    connected.union(function, callee)
                    self._first_calls.setdefault(callee, operation)
        reached = set(map(connected.find, annotated))
        self.active = [function for function in bodies if connected.find(function) in reached]

    def callee_of(self, call: Operation) -> Operation | None:
        """The function with a body that a call calls."""
        callee = call.properties.get("callee")
        if not isinstance(callee, SymbolRefAttr):
            return None
        return self._functions.get(callee.string_value())

    def first_call_of(self, function: Operation) -> Operation | None:
        """The first call of an active function."""
        return self._first_calls.get(function)


def _functions_in(operation: Operation) -> Iterator[Operation]:
    """The functions with bodies in a module and in modules inside of it, in program order."""
    for block in inner_blocks(operation):
        for inner in block.ops:
            if inner.name != FUNCTION:
                yield from _functions_in(inner)
            elif inner.regions[0].blocks:
                yield inner


def _operations_in(function: Operation) -> Iterator[Operation]:
    """The operations of a function, in no order that matters, but for bodies of linalg."""
    pending = list(function.regions)
    while pending:
        for block in pending.pop().blocks:
            for operation in block.ops:
                yield operation
                if operation.regions and not operation.name.startswith("linalg."):
                    pending += operation.regions

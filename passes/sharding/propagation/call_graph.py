"""Which functions of a module exchange tensors with annotated ones, and who calls whom."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Operation

from ....ir.regions import inner_blocks
from ..annotations.access import SHARD

FUNCTION = "func.func"
CALL = "func.call"


class CallGraph:
    """The functions with bodies of a module, nested modules included.

    `active` are those that hold an annotation, and those that call or are called by active ones,
    in program order; all of them with `everything`.
    """

    def __init__(self, module: Operation, *, everything: bool = False) -> None:
        self._functions: dict[str, Operation] = {}
        self._calls: dict[Operation, list[Operation]] = {}
        callers: dict[Operation, list[Operation]] = {}
        annotated: list[Operation] = []
        bodies = list(_functions_in(module))
        for function in bodies:
            name = function.properties.get("sym_name")
            if isinstance(name, StringAttr):
                self._functions.setdefault(name.data, function)
        calls_in: dict[Operation, list[Operation]] = {}
        for function in bodies:
            has_annotation = everything
            for operation in _operations_in(function):
                if operation.name == SHARD:
                    has_annotation = True
                elif operation.name == CALL and (target := self._target(operation)) is not None:
                    calls_in.setdefault(function, []).append(operation)
                    callers.setdefault(target, []).append(function)
            if has_annotation:
                annotated.append(function)
        reached, pending = set(annotated), list(annotated)
        while pending:
            function = pending.pop()
            targets = [self._target(call) for call in calls_in.get(function, ())]
            for other in (*targets, *callers.get(function, ())):
                if other is not None and other not in reached:
                    reached.add(other)
                    pending.append(other)
        self.active = [function for function in bodies if function in reached]
        for function in self.active:
            for call in calls_in.get(function, ()):
                target = self._target(call)
                if target is not None:
                    self._calls.setdefault(target, []).append(call)

    def _target(self, call: Operation) -> Operation | None:
        callee = call.properties.get("callee")
        if not isinstance(callee, SymbolRefAttr):
            return None
        return self._functions.get(callee.string_value())

    def callee_of(self, call: Operation) -> Operation | None:
        """The function with a body that a call in an active function calls."""
        return self._target(call)

    def first_call_of(self, function: Operation) -> Operation | None:
        """The first call of a function from an active one."""
        calls = self._calls.get(function)
        return calls[0] if calls else None


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

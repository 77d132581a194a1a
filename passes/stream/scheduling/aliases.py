"""Which values of a program must be resources of one lifetime, since they are one storage."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ....ir.host_programs import CALLS, FUNCTIONS, host_operations
from ....ir.symbols import symbol
from ..analysis.device_placement import carried_to
from .storage import stored_in

ALIKE = frozenset({"stream.async.slice"})
"""Operations whose result IREE wants to have the lifetime of what it is a part of."""

PASSED_ON = ALIKE | frozenset(
    {"stream.async.barrier", "stream.timepoint.await", "stream.timepoint.barrier"}
    | {"util.optimization_barrier"}
)
"""Operations whose results are their operands, one for one."""

IN_REGIONS = frozenset({"stream.async.concurrent", "stream.async.execute"})


class Classes:
    """A partition of things that starts with each alone: union and find."""

    def __init__(self) -> None:
        self._above: dict[Hashable, Hashable] = {}

    def find(self, thing: Hashable) -> Hashable:
        """The one that stands for all of a class."""
        top = thing
        while (above := self._above.get(top)) is not None:
            top = above
        while thing != top:
            above = self._above[thing]
            self._above[thing] = top
            thing = above
        return top

    def join(self, one: Hashable, other: Hashable) -> None:
        """Make two classes one."""
        one, other = self.find(one), self.find(other)
        if one != other:
            self._above[other] = one


def aliases(module: ModuleOp) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Pairs of values that are one storage; those that are no resources are among them."""
    functions: dict[str, Operation] = {}
    calls: list[Operation] = []
    for operation in host_operations(module):
        if operation.name in FUNCTIONS:
            functions[symbol(operation, "sym_name")] = operation
        elif operation.name in CALLS:
            calls.append(operation)
        else:
            yield from _aliases_of(operation)
    for call in calls:
        function = functions.get(symbol(call, "callee"))
        block = function.regions[0].blocks.first if function is not None else None
        if function is None or block is None:
            continue
        yield from zip(call.operands, block.args, strict=False)
        for last in (block.last_op for block in function.regions[0].blocks):
            if last is not None and not last.successors:
                yield from zip(call.results, last.operands, strict=False)


def _aliases_of(operation: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    for index, operand in enumerate(operation.operands):
        for value in carried_to(operation, index):
            yield operand, value
    if operation.name in PASSED_ON:
        yield from zip(operation.results, operation.operands, strict=False)
    elif operation.name == "arith.select":
        yield from ((operation.results[0], operand) for operand in operation.operands[1:])
    elif operation.name in IN_REGIONS:
        block = operation.regions[0].block
        yield from zip(block.args, operation.operands, strict=False)
        if block.last_op is not None:
            yield from zip(operation.results, block.last_op.operands, strict=False)
    elif operation.name.startswith("stream.async."):
        for index, result in enumerate(operation.results):
            if (target := stored_in(operation, index)) is not None:
                yield result, target

"""Which values of a program must be resources of one lifetime, since they are one storage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from ....ir.host_programs import CALLS, FUNCTIONS, host_operations
from ....ir.symbols import root_symbol
from ..analysis.device_placement import carried_to
from ..analysis.storage import stored_in

ALIKE = frozenset({"stream.async.slice"})
"""Operations whose result IREE wants to have the lifetime of what it is a part of."""

PASSED_ON = ALIKE | frozenset(
    {"stream.async.barrier", "stream.timepoint.await", "stream.timepoint.barrier"}
    | {"util.optimization_barrier"}
)
"""Operations whose results are their operands, one for one."""

IN_REGIONS = frozenset({"stream.async.concurrent", "stream.async.execute"})


@dataclass(frozen=True, slots=True)
class Declared:
    """What a function without a body takes or returns: it has types, but no values."""

    function: Operation
    group: str
    """`inputs` or `outputs`."""
    index: int


def declared(function: Operation) -> Iterator[tuple[Declared, Attribute]]:
    """What a function takes and returns, with its types, if it has no body."""
    if function.regions[0].blocks.first is None:
        type_ = cast(FunctionType, function.properties["function_type"])
        for group, types in (("inputs", type_.inputs), ("outputs", type_.outputs)):
            for index, each in enumerate(types):
                yield Declared(function, group, index), each


def aliases(module: ModuleOp) -> Iterator[tuple[SSAValue, SSAValue | Declared]]:
    """Pairs of values that are one storage; those that are no resources are among them."""
    functions: dict[str, Operation] = {}
    calls: list[Operation] = []
    for operation in host_operations(module):
        if operation.name in FUNCTIONS:
            functions[root_symbol(operation, "sym_name")] = operation
        elif operation.name in CALLS:
            calls.append(operation)
        else:
            yield from _aliases_of(operation)
    for call in calls:
        function = functions.get(root_symbol(call, "callee"))
        if function is None:
            continue
        block = function.regions[0].blocks.first
        if block is None:
            for slot, _ in declared(function):
                values = call.operands if slot.group == "inputs" else call.results
                yield values[slot.index], slot
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

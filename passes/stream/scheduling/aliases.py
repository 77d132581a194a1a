"""Which values of a program must be resources of one lifetime, since they are one storage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from ....ir.host_programs import CALLS, FUNCTIONS, host_operations
from ....ir.symbols import root_symbol
from ....ir.value_flow import value_flow
from ..analysis.storage import storage_flow


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
    operations = tuple(host_operations(module))
    yield from value_flow(operations)
    slots = {
        root_symbol(function, "sym_name"): [slot for slot, _ in declared(function)]
        for function in operations
        if function.name in FUNCTIONS
    }
    for operation in operations:
        yield from storage_flow(operation)
        if operation.name in CALLS:
            for slot in slots.get(root_symbol(operation, "callee"), ()):
                values = operation.operands if slot.group == "inputs" else operation.results
                yield values[slot.index], slot

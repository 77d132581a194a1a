"""Find values that share storage, so that their resources must have the same lifetime."""

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
    """An argument or result of a function without a body: it has a type, but no SSA value."""

    function: Operation
    group: str
    """`inputs` or `outputs`."""
    index: int


def declared(function: Operation) -> Iterator[tuple[Declared, Attribute]]:
    """Yield the arguments and results of a function with their types, if it has no body."""
    if function.regions[0].blocks.first is None:
        type_ = cast(FunctionType, function.properties["function_type"])
        for group, types in (("inputs", type_.inputs), ("outputs", type_.outputs)):
            for index, each in enumerate(types):
                yield Declared(function, group, index), each


def aliases(module: ModuleOp) -> Iterator[tuple[SSAValue, SSAValue | Declared]]:
    """Yield pairs of values that share storage. They include values that are not resources."""
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

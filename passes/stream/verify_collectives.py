"""Verify that all kinds of processes execute the same collectives in the same order.

`specialize-processes` gives each kind of process a copy of the host program, and later passes
change each copy for its targets. Collectives must remain the same, or processes would wait for each
other forever: the same collectives on the same row-major tensors, in the same loops and branches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Operation, OpResult, Region

from ...dialects.iree_encoding.interfaces import tensor_encoding
from ...dialects.shard.boundary import PER_PROCESS_GRID
from ...ir.diagnostics import Note, OperationError
from ...ir.host_programs import CALLS, EXECUTABLES, FUNCTIONS, GLOBAL_LOAD
from ...ir.regions import walk
from ...ir.symbols import root_symbol, symbols_in
from ..dispatch.fusion.operation_kinds import is_collective
from ..manager.module_pass import module_pass
from .kernels.exports import entry_points


@module_pass("verify-collectives")
def verify_collectives(module: ModuleOp) -> None:
    """Compare the collectives of the copies of a host program."""
    uses = CollectiveUses(module)
    for operation in module.body.block.ops:
        for inner in walk(operation):
            if inner.name == "scf.index_switch" and uses.is_choice_of_kind(inner):
                _compare(inner, uses)


@dataclass(frozen=True, slots=True)
class CollectiveUse:
    """A collective, or control flow that contains collectives."""

    signature: object
    """The part that must be equal for all kinds of processes."""
    text: str
    operation: Operation


class CollectiveUses:
    """The collectives in each part of a module."""

    def __init__(self, module: ModuleOp) -> None:
        self._functions = symbols_in(module, FUNCTIONS)
        self._executables = symbols_in(module, EXECUTABLES)
        self._kinds = {
            name
            for name, variable in symbols_in(module, ("util.global",)).items()
            if variable.properties["type"].name == "index"
            and PER_PROCESS_GRID in variable.attributes
        }
        self._of_function: dict[str, tuple[CollectiveUse, ...]] = {}
        self._of_kernel: dict[SymbolRefAttr, tuple[CollectiveUse, ...]] = {}

    def is_choice_of_kind(self, switch: Operation) -> bool:
        """Return whether a switch is on the kind of the process."""
        value = switch.operands[0]
        return (
            isinstance(value, OpResult)
            and value.op.name == GLOBAL_LOAD
            and root_symbol(value.op, "global") in self._kinds
        )

    def of_region(self, region: Region) -> Iterator[CollectiveUse]:
        """Yield all collective uses in a region, in order.

        Raises OperationError if a collective moves an encoded tensor, whose layout differs by
        process.
        """
        for block in region.blocks:
            for operation in block.ops:
                yield from self._of_operation(operation)

    def _of_operation(self, operation: Operation) -> Iterator[CollectiveUse]:
        if is_collective(operation):
            yield _use_of(operation)
        for entry in entry_points(operation):
            for use in self._in_kernel(entry):
                yield CollectiveUse(use.signature, use.text, operation)
        callee = root_symbol(operation, "callee")
        if operation.name in CALLS and callee in self._functions:
            yield from self._in_function(callee)
        inside = [tuple(self.of_region(region)) for region in operation.regions]
        if any(inside):
            signature = (
                operation.name,
                tuple(tuple(use.signature for use in region) for region in inside),
            )
            yield CollectiveUse(signature, operation.name, operation)

    def _in_function(self, name: str) -> tuple[CollectiveUse, ...]:
        if name not in self._of_function:
            self._of_function[name] = ()  # of calls of the function by itself
            self._of_function[name] = tuple(self.of_region(self._functions[name].regions[0]))
        return self._of_function[name]

    def _in_kernel(self, entry: SymbolRefAttr) -> tuple[CollectiveUse, ...]:
        if entry not in self._of_kernel:
            executable = self._executables.get(entry.root_reference.data)
            operations = () if executable is None else executable.walk()
            self._of_kernel[entry] = tuple(
                _use_of(operation) for operation in operations if is_collective(operation)
            )
        return self._of_kernel[entry]


def _use_of(operation: Operation) -> CollectiveUse:
    types = tuple(value.type for value in (*operation.operands, *operation.results))
    for type_ in types:
        if tensor_encoding(type_) is not None:
            raise OperationError(
                operation,
                f"moves {type_} between processes, which may use different layouts: decode it "
                "first",
            )
    signature = operation.name, tuple(sorted(operation.properties.items())), types
    return CollectiveUse(signature, f"{operation.name} of {operation.operands[0].type}", operation)


def _compare(switch: Operation, uses: CollectiveUses) -> None:
    # The default region comes first.
    first, *others = (tuple(uses.of_region(region)) for region in switch.regions)
    for other in others:
        for one, two in zip_longest(first, other):
            if one is None or two is None or one.signature != two.signature:
                notes = [
                    Note(f"here some are at {use.text}", use.operation)
                    for use in (one, two)
                    if use is not None
                ]
                raise OperationError(
                    switch, "makes processes of two kinds meet at different collectives", notes
                )

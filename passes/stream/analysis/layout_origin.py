"""Find layout origins: the operations that laid out the bytes of a value, and for which device.

A transfer moves bytes to another device without changing their layout. The layout is the one of the
device for which the value was encoded, so a reader must use the origin of a value, not its
affinity. Origins propagate through the whole module: through transfers, copies and ties, globals,
initializers, calls, selects and the regions of loops and conditions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.stream.affinity import AFFINITY, affinity_of
from ....ir.host_programs import CALLS, FUNCTIONS, GLOBAL_LOAD, GLOBAL_STORE, host_operations
from ....ir.structural_hash import AttributeNumbers
from ....ir.symbols import defined_name, root_symbol, visibility
from ....ir.value_flow import value_flow
from .device_placement import boundary_affinity
from .storage import is_resource, storage_flow


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was laid out. Origins with equal affinities are equal, as their layouts are."""

    number: int
    """Identifies the affinity; equal for equal affinities."""
    affinity: Attribute | None = field(compare=False)
    """The device that the layout is for; `None` if the program does not say."""
    operation: Operation = field(compare=False)
    """One of the operations that laid the value out, for use in error messages."""


Slot = SSAValue | str
"""A value, or the name of a global."""

Origins = frozenset[Origin]
NOWHERE: Origins = frozenset()

TRANSFER = "stream.async.transfer"

SAME_LAYOUT = frozenset(
    {
        TRANSFER,
        "stream.async.cast",
        "stream.async.clone",
        "stream.resource.subview",
        "stream.tensor.clone",
        "stream.tensor.fill",
        "stream.tensor.slice",
        "stream.tensor.store",
        "stream.tensor.update",
    }
)
"""Operations whose result has the layout of the first operand, which they copy or write into."""


class LayoutOrigins:
    """The origins of all resources of a module."""

    def __init__(self, module: ModuleOp, numbers: AttributeNumbers | None = None) -> None:
        self._numbers = numbers or AttributeNumbers()
        self._origins: dict[Slot, Origins] = {}
        self._arriving: dict[Slot, Origins] = {}
        """For results of transfers, the origin that is assumed if the source's is not known."""
        self._flow: dict[Slot, list[Slot]] = defaultdict(list)
        operations = tuple(host_operations(module))
        for source, target in _flow(operations):
            self._flow[source].append(target)
        received = {target for targets in self._flow.values() for target in targets}
        for operation in operations:
            if operation.name == TRANSFER:
                ends = (operation.properties.get(f"{end}_affinity") for end in ("source", "target"))
                affinity = next((end for end in ends if end is not None), affinity_of(operation))
                self._arriving[operation.results[0]] = self._origin(affinity, operation)
        for slot, affinity, operation in _from_outside(operations):
            self._add(slot, self._origin(affinity, operation))
        for operation in operations:
            for result in operation.results:
                if is_resource(result) and result not in received:
                    self._add(result, self._origin(affinity_of(operation), operation))
        for result, origin in self._arriving.items():
            if result not in self._origins:
                self._add(result, origin)

    def of(self, value: SSAValue) -> tuple[Origin, ...]:
        """Return the origins of a value in a fixed order; empty if it is not a resource."""
        origins = self._origins.get(value, NOWHERE)
        return tuple(sorted(origins, key=lambda origin: origin.number))

    def _origin(self, affinity: Attribute | None, operation: Operation) -> Origins:
        """Return the origin of a value that an operation lays out for an affinity."""
        number = -1 if affinity is None else self._numbers.number(affinity)
        return frozenset({Origin(number, affinity, operation)})

    def _add(self, slot: Slot, origins: Origins) -> None:
        """Add origins to a value, and propagate them to all values with the same layout."""
        pending = [(slot, origins)]
        while pending:
            slot, origins = pending.pop()
            if (arriving := self._arriving.get(slot)) is not None:
                known = frozenset(origin for origin in origins if origin.affinity is not None)
                origins = origins if origins == known else known | arriving
            old = self._origins.get(slot, NOWHERE)
            if not origins <= old:
                self._origins[slot] = old | origins
                pending += [(target, origins) for target in self._flow.get(slot, ())]


def _flow(operations: Sequence[Operation]) -> Iterator[tuple[Slot, Slot]]:
    """Yield pairs whose second has the layout of the first: forwarded values, copies, globals."""
    yield from value_flow(operations)
    for operation in operations:
        if operation.name == GLOBAL_STORE:
            yield operation.operands[0], root_symbol(operation, "global")
        elif operation.name == GLOBAL_LOAD:
            yield root_symbol(operation, "global"), operation.results[0]
        elif operation.name in SAME_LAYOUT:
            yield operation.operands[0], operation.results[0]
        else:
            yield from storage_flow(operation)


def _from_outside(
    operations: Sequence[Operation],
) -> Iterator[tuple[Slot, Attribute | None, Operation]]:
    """Yield initialized globals and arguments of functions that may be called from outside.

    Each comes with the affinity that it is laid out for and the operation that defines it.
    """
    called = {root_symbol(call, "callee") for call in operations if call.name in CALLS}
    for operation in operations:
        if operation.properties.get("initial_value") is not None:
            affinity = operation.attributes.get(AFFINITY) or affinity_of(operation)
            yield defined_name(operation), affinity, operation
        if operation.name not in FUNCTIONS or (block := operation.regions[0].blocks.first) is None:
            continue
        if visibility(operation) == "private" and defined_name(operation) in called:
            continue
        for index, argument in enumerate(block.args):
            if is_resource(argument):
                affinity = boundary_affinity(operation, "arg_attrs", index) or affinity_of(
                    operation
                )
                yield argument, affinity, operation

"""Partition the operations of a block into groups that devices execute, and order the groups.

Operations depend on the producers of their operands; operations that write in place also depend on
earlier readers of the resource. Host operations with side effects keep their order. So do the
groups of one device, and whatever calls and regions may do on that device. An operation that
devices execute joins the last group of its device, unless it depends on an operation that depends
on this group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ....dialects.stream.affinity import affinity_of
from ....ir.graph_orders import topological_order
from ....ir.host_programs import CALLS
from ....ir.regions import values_read
from ..analysis.storage import STREAMABLE, is_resource, stored_in


@dataclass(slots=True, eq=False)
class Group:
    """Operations that are executed together on one device, or a single host operation."""

    number: int
    place: Attribute | None
    streams: bool
    operations: list[Operation] = field(default_factory=list[Operation])
    needs: set[Group] = field(default_factory=set["Group"])
    before: int = 0
    """The groups that must be executed before this one, as a bit mask of their numbers."""


def runs_at(operation: Operation) -> Attribute | None:
    """Return the device of an operation. A transfer runs on its target if that is a device."""
    if operation.name == "stream.async.transfer":
        ends = (operation.properties.get(f"{end}_affinity") for end in ("target", "source"))
        return next((end for end in ends if end is not None), affinity_of(operation))
    return affinity_of(operation)


class DataNeeds:
    """The operations of a block that each one must follow, through data.

    These are the producers of its operands, and earlier readers of what it writes in place.
    Operations are added in program order.
    """

    def __init__(self, block: Block) -> None:
        self._block = block
        self._readers: dict[SSAValue, list[Operation]] = {}

    def add(self, operation: Operation) -> Iterator[Operation]:
        """Yield the operations that an operation must follow, given those added before."""
        for value in values_read(operation):
            maker = value.owner
            if isinstance(maker, Operation):
                within = self._block.find_ancestor_op_in_block(maker)
                if within is not None and within is not operation:
                    yield within
        if operation.name.startswith("stream.async."):
            for index in range(len(operation.results)):
                if (written := stored_in(operation, index)) is not None:
                    yield from self._readers.get(written, ())
        for value in {value for value in values_read(operation) if is_resource(value)}:
            self._readers.setdefault(value, []).append(operation)


class Partitioning:
    """The groups of a block."""

    def __init__(self, block: Block) -> None:
        self._groups: list[Group] = []
        self._group_of: dict[Operation, Group] = {}
        self._data = DataNeeds(block)
        self._last_of: dict[Attribute | None, Group] = {}
        self._last_effect: Operation | None = None
        self._last_scope: Operation | None = None
        for operation in block.ops:
            if operation is not block.last_op:
                self._add(operation)

    def ordered(self) -> Iterator[Group]:
        """Yield all groups in an order that respects dependences, otherwise in program order."""
        needs = {group: group.needs for group in self._groups}
        return topological_order(needs, lambda group: group.number)

    def _add(self, operation: Operation) -> None:
        needed = {self._group_of[each] for each in self._needs(operation)}
        streams = operation.name in STREAMABLE
        place = runs_at(operation) if streams else None
        last = self._last_of.get(place) if streams else None
        if last is not None and not any(each.before >> last.number & 1 for each in needed - {last}):
            group = last
        else:
            group = Group(len(self._groups), place, streams)
            self._groups.append(group)
            if last is not None:
                needed.add(last)
            if streams:
                self._last_of[place] = group
        group.operations.append(operation)
        self._group_of[operation] = group
        needed.discard(group)
        group.needs |= needed
        added = 0
        for other in needed:
            added |= other.before | 1 << other.number
        if added & ~group.before:
            for other in self._groups:
                if other is group or other.before >> group.number & 1:
                    other.before |= added

    def _needs(self, operation: Operation) -> Iterator[Operation]:
        """Yield the operations of the block that an operation must follow."""
        yield from self._data.add(operation)
        if operation.name in STREAMABLE and self._last_scope is not None:
            yield self._last_scope
        if operation.name not in STREAMABLE and not is_side_effect_free(operation):
            if self._last_effect is not None:
                yield self._last_effect
            self._last_effect = operation
            if operation.regions or operation.name in CALLS:
                # Code inside may use devices, and may meet other processes in collectives.
                yield from (group.operations[-1] for group in self._last_of.values())
                self._last_scope = operation

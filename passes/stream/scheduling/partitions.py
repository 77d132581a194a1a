"""Partition the operations of a block into parts that devices execute, and order these.

Operations depend on the producers of their operands; operations that write in place also depend on
earlier readers of the resource. Host operations with side effects keep their order. So do the
partitions of one device, and whatever calls and regions may do on that device. An operation that
devices execute joins the last partition of its device, unless it depends on an operation that
depends on this partition.
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
class Partition:
    """Operations that are executed together on one device, or a single host operation."""

    number: int
    affinity: Attribute | None
    is_on_device: bool
    operations: list[Operation] = field(default_factory=list[Operation])
    needs: set[Partition] = field(default_factory=set["Partition"])
    needed_by: set[Partition] = field(default_factory=set["Partition"])
    predecessors: int = 0
    """The partitions that must be executed before this one, as a bit mask of their numbers."""


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
            producer = value.owner
            if isinstance(producer, Operation):
                within = self._block.find_ancestor_op_in_block(producer)
                if within is not None and within is not operation:
                    yield within
        if operation.name.startswith("stream.async."):
            for index in range(len(operation.results)):
                if (written := stored_in(operation, index)) is not None:
                    yield from self._readers.get(written, ())
        for value in {value for value in values_read(operation) if is_resource(value)}:
            self._readers.setdefault(value, []).append(operation)


class Partitioning:
    """Partitions the operations of one block."""

    def __init__(self, block: Block) -> None:
        self._partitions: list[Partition] = []
        self._partition_of: dict[Operation, Partition] = {}
        self._data = DataNeeds(block)
        self._last_of: dict[Attribute | None, Partition] = {}
        self._last_effect: Operation | None = None
        self._last_scope: Operation | None = None
        for operation in block.ops:
            if operation is not block.last_op:
                self._add(operation)

    def ordered(self) -> Iterator[Partition]:
        """Yield the partitions in an order that respects dependences, else in program order."""
        needs = {partition: partition.needs for partition in self._partitions}
        return topological_order(needs, lambda partition: partition.number)

    def _add(self, operation: Operation) -> None:
        needed = {self._partition_of[other] for other in self._needs(operation)}
        is_on_device = operation.name in STREAMABLE
        affinity = runs_at(operation) if is_on_device else None
        last = self._last_of.get(affinity) if is_on_device else None
        others = needed - {last}
        if last is not None and not any(other.predecessors >> last.number & 1 for other in others):
            partition = last
        else:
            partition = Partition(len(self._partitions), affinity, is_on_device)
            self._partitions.append(partition)
            if last is not None:
                needed.add(last)
            if is_on_device:
                self._last_of[affinity] = partition
        partition.operations.append(operation)
        self._partition_of[operation] = partition
        needed.discard(partition)
        partition.needs |= needed
        added = 0
        for other in needed:
            other.needed_by.add(partition)
            added |= other.predecessors | 1 << other.number
        following = [partition]
        while following:
            other = following.pop()
            if added & ~other.predecessors:
                other.predecessors |= added
                following += other.needed_by

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
                yield from (partition.operations[-1] for partition in self._last_of.values())
                self._last_scope = operation

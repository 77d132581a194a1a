"""Group the tensor operations of a block into dispatches.

Any operation that computes tensors can start a group. An operation joins the group of an operand if
it keeps the group's parallel dimensions independent (`iteration_space.py`) or encodes a tensor of
the group, and if no other unit depends on the group and is needed by the operation. It makes all
elementwise groups that it reads one. Operations that cost nothing to repeat (empty and filled
tensors, splats, broadcasts) are rematerialized in each kernel that reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from xdsl.ir import Attribute, Block, Operation, OpResult

from ....dialects.iree_encoding.dialect import SetEncodingOp
from ....dialects.linalg.structured_view import structured_view
from ....ir.graph_orders import topological_order
from ....ir.regions import values_read
from ...stream.analysis.device_placement import DevicePlacement
from .computations import is_computation
from .iteration_space import SharedParallelDims
from .operation_kinds import ENCODING_OPS, has_effect, is_collective, is_rematerialized

MAX_GROUP = 24
"""The most operations in one kernel; compiling a larger one takes longer than fusion saves."""

LONGEST_SEARCH = 1000
"""The most units that are visited to find out whether an operation may join a group."""


@dataclass(eq=False)
class FusionGroup:
    """Operations that become one dispatch, in order, and their positions in the block."""

    operations: list[Operation]
    affinity: Attribute | None
    positions: list[int] = field(default_factory=list[int])
    parallel_dims: SharedParallelDims = field(default_factory=SharedParallelDims)


Unit = Operation | FusionGroup
"""What is arranged as a whole: a group, or an operation of none."""


class Grouping:
    """Groups the operations of one block and reorders the block so that groups are contiguous."""

    def __init__(
        self, block: Block, placement: DevicePlacement, rematerialized: set[Operation]
    ) -> None:
        """`rematerialized` are the broadcasts that each kernel that reads them repeats."""
        self._block = block
        self._rematerialized = rematerialized
        self._placement = placement
        self._operations = list(block.ops)
        self._positions = {operation: i for i, operation in enumerate(self._operations)}
        self._producers = {operation: self._read_by(operation) for operation in self._operations}
        self._groups: dict[Operation, FusionGroup] = {}
        self._starts = list(range(len(self._operations)))
        """Leads from each position to an earlier one if a group reaches from there to here or on;
        to itself if none does. Following it ends where the chain of overlapping groups begins.
        """
        effects = [o for o in self._operations if not is_computation(o) and has_effect(o)]
        self._effect_before = dict(zip(effects[1:], effects, strict=False))
        for operation in self._operations:
            if is_computation(operation) and not self._is_rematerialized(operation):
                self._add(operation)

    def arrange(self) -> list[FusionGroup]:
        """Reorder the block so that each group is contiguous; return the groups in order."""
        order = self._order()
        for operation in self._operations:
            operation.detach()
        arranged: list[FusionGroup] = []
        for unit in order:
            if isinstance(unit, FusionGroup):
                arranged.append(unit)
                self._block.add_ops(unit.operations)
            else:
                self._block.add_op(unit)
        return arranged

    # Assignment of operations to groups

    def _add(self, operation: Operation) -> None:
        affinity = self._placement.runs_on(operation)
        groups = dict.fromkeys(map(self._groups.get, self._sources(operation)))
        candidates = [group for group in groups if group is not None]
        if operation.name == "tensor.from_elements" and candidates:
            # A dispatch returns numbers as tensors.
            self._put(operation, candidates[0])
            return
        # Prefer the group that ends last: an operation joins behind all other groups it reads.
        for group in sorted(candidates, key=self._key, reverse=True):
            if self._may_join(operation, group, affinity):
                group.parallel_dims.join(operation, self._rematerialized)
                for other in candidates:
                    if other is not group and self._may_merge(operation, other, group):
                        self._merge(other, group)
                break
        else:
            group = FusionGroup([], affinity)
            group.parallel_dims.start(operation)
        self._put(operation, group)

    def _put(self, operation: Operation, group: FusionGroup) -> None:
        group.operations.append(operation)
        group.positions.append(self._positions[operation])
        self._groups[operation] = group
        self._cover(group)

    def _merge(self, other: FusionGroup, group: FusionGroup) -> None:
        """Add the operations of another group to a group."""
        operations = sorted((*other.operations, *group.operations), key=self._positions.__getitem__)
        group.operations[:] = operations
        group.positions[:] = [self._positions[each] for each in operations]
        self._groups.update(dict.fromkeys(other.operations, group))
        self._cover(group)

    def _is_rematerialized(self, operation: Operation) -> bool:
        return operation in self._rematerialized or is_rematerialized(operation)

    def _read_by(self, operation: Operation) -> list[Operation]:
        """Return the other operations of the block whose results an operation reads."""
        owners = {each.op: None for each in values_read(operation) if isinstance(each, OpResult)}
        found = dict.fromkeys(map(self._block.find_ancestor_op_in_block, owners))
        return [each for each in found if each is not None and each is not operation]

    def _sources(self, operation: Operation) -> list[Operation]:
        """Return the operations that one depends on, looking through repeated broadcasts."""
        seen: dict[Operation, None] = {}
        stack = list(self._producers[operation])
        while stack:
            producer = stack.pop()
            if producer in seen:
                continue
            seen[producer] = None
            if producer in self._rematerialized:
                stack += self._producers[producer]
        return [each for each in seen if each not in self._rematerialized]

    def _may_join(
        self, operation: Operation, group: FusionGroup, affinity: Attribute | None
    ) -> bool:
        if group.affinity != affinity or len(group.operations) >= MAX_GROUP:
            return False
        if is_collective(group.operations[0]):
            return False
        if operation.name in ENCODING_OPS:
            if not any(structured_view(member) is not None for member in group.operations):
                return False
        else:
            is_encoded = any(member.name == SetEncodingOp.name for member in group.operations)
            if is_encoded or not group.parallel_dims.may_join(operation, self._rematerialized):
                return False
        others = set(map(self._unit, self._sources(operation))) - {group}
        return not self._depends(others, group)

    def _may_merge(self, operation: Operation, other: FusionGroup, group: FusionGroup) -> bool:
        """Return whether another group that an operation reads can be one with its group.

        %0 = arith.mulf %a, %b    # one group
        %1 = arith.mulf %c, %d    # another one
        %2 = arith.addf %0, %1    # makes them one
        """
        if len(other.operations) + len(group.operations) >= MAX_GROUP:
            return False
        if not self._may_join(operation, other, group.affinity):
            return False
        if self._depends(self._needs(other, self._sources), group):
            return False
        return group.parallel_dims.merge(other.parallel_dims, operation, self._rematerialized)

    def _unit(self, operation: Operation) -> Unit:
        """Return the group of an operation, or itself if it has none."""
        return self._groups.get(operation, operation)

    def _depends(self, units: Iterable[Unit], group: FusionGroup) -> bool:
        """Return whether any of some units may depend on what a group computes.

        The search stops before units that cannot depend on the group, and answers yes if it gets
        long.
        """
        first = self._earliest(group)
        seen: set[Unit] = set()
        stack = list(units)
        while stack:
            unit = stack.pop()
            if unit is group or len(seen) > LONGEST_SEARCH:
                return True
            if unit in seen or self._key(unit) < first:
                continue
            seen.add(unit)
            stack += self._needs(unit, self._producers.__getitem__)
        return False

    def _needs(self, unit: Unit, read: Callable[[Operation], Iterable[Operation]]) -> set[Unit]:
        """Return what must precede a unit: the producers of what it reads, and earlier effects."""
        members = unit.operations if isinstance(unit, FusionGroup) else (unit,)
        needs = {self._unit(producer) for member in members for producer in read(member)}
        needs.discard(unit)
        if not isinstance(unit, FusionGroup) and unit in self._effect_before:
            needs.add(self._effect_before[unit])
        return needs

    def _earliest(self, group: FusionGroup) -> int:
        """Return a position such that units that end before it cannot depend on the group."""
        return self._start(group.positions[0])

    def _start(self, position: int) -> int:
        """Return where the chain of overlapping groups around a position begins."""
        starts = self._starts
        while starts[position] != position:
            starts[position] = starts[starts[position]]
            position = starts[position]
        return position

    def _cover(self, group: FusionGroup) -> None:
        """Lead from each position of a group that is not its first to an earlier one."""
        position = self._start(group.positions[-1])
        while position > group.positions[0]:
            self._starts[position] = position - 1
            position = self._start(position)

    # Order of units

    def _order(self) -> list[Unit]:
        """Sort units by dependence, otherwise in the original order. Effects keep their order."""
        units = dict.fromkeys(map(self._unit, self._operations))
        needs: dict[Unit, set[Unit]] = {}
        for unit in units:
            is_group = isinstance(unit, FusionGroup)
            needs[unit] = self._needs(
                unit, self._sources if is_group else self._producers.__getitem__
            )
            if not is_group and unit is self._operations[-1]:
                needs[unit] |= units.keys() - {unit}
        return list(topological_order(needs, self._key))

    def _key(self, unit: Unit) -> int:
        return unit.positions[-1] if isinstance(unit, FusionGroup) else self._positions[unit]

"""Group the operations that work on the same memory: a dispatch cannot pass memrefs.

    %m = bufferization.to_buffer %x : tensor<9xf32> to memref<9xf32>
    affine.for %i = 0 to 9 { ... affine.store %y, %m[%i] ... }
    %r = bufferization.to_tensor %m : memref<9xf32> to tensor<9xf32>

become one kernel, with everything between them that both reads from it and is read by it. Memory
that comes from outside of the block, as an argument, is left as it is, and so is what is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from xdsl.dialects.builtin import MemRefType, TensorType, UnrankedMemRefType
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator

from ....ir.attribute_access import symbol
from ....ir.graph_orders import postorder
from ....ir.regions import captured, values_read

StoreNumber = Callable[[OpResult], Operation]
"""Stores a number in a tensor that the host reads; returns the operation that makes the tensor."""

_Unit = frozenset[Operation]
"""Operations of a block that stay together."""

Memory = SSAValue | str
"""A memref, or the name of a global."""


def group_buffers(
    blocks: Sequence[Block], given: Sequence[Sequence[Operation]], store: StoreNumber
) -> list[list[Operation]]:
    """Make the operations on each memory of each block contiguous, and return them.

    Outer blocks come first. Numbers that others read become tensors by `store`. Operations of the
    groups `given` stay in these.
    """
    grouped = set(chain.from_iterable(given))
    found: list[list[Operation]] = []
    for block in blocks:
        parent = block.parent_op()
        while parent is not None and parent not in grouped:
            parent = parent.parent_op()
        if parent is not None:
            continue
        for members in _BufferGroups(block).arrange():
            if not grouped.isdisjoint(members):
                continue
            for result in tuple(_read_outside(members, block)):
                if not isinstance(result.type, TensorType):
                    members.append(store(result))
            if any(True for _ in _read_outside(members, block)):
                found.append(members)
                grouped.update(members)
    return found


def _read_outside(members: Sequence[Operation], block: Block) -> Iterator[OpResult]:
    inside = set(members)
    for operation in members:
        for result in operation.results:
            if any(
                block.find_ancestor_op_in_block(use.operation) not in inside for use in result.uses
            ):
                yield result


@dataclass(frozen=True, slots=True)
class _Group:
    """Memories, and the operations that share them."""

    memories: set[Memory]
    members: set[Operation]

    def size(self) -> int:
        return len(self.memories)


class _BufferGroups:
    """The operations of a block in units: those on the same memory together, others alone."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._groups = self._on_same_memory()
        self._units = {operation: group for group in self._groups for operation in group}
        if self._groups:
            for operation in block.ops:
                self._units.setdefault(operation, frozenset((operation,)))

    def arrange(self) -> Iterator[list[Operation]]:
        """Make each group contiguous and yield its operations in order."""
        if self._groups:
            shared = set(self._groups)
            needs = self._needs()
            for cycle in _cycles(needs):
                if not shared.isdisjoint(cycle):
                    yield self._gather(set(cycle), needs)

    def _needs(self) -> dict[_Unit, list[_Unit]]:
        """Return the units that each unit reads from."""
        needs: dict[_Unit, list[_Unit]] = {}
        for unit in self._units.values():
            if unit not in needs:
                found = dict.fromkeys(chain.from_iterable(map(self._producers, unit)))
                needs[unit] = [each for each in found if each is not unit]
        return needs

    def _on_same_memory(self) -> list[frozenset[Operation]]:
        groups: list[_Group] = []
        for operation in self._block.ops:
            memories = _memories(operation)
            if not memories:
                continue
            joined, apart = _Group(set(), set()), list[_Group]()
            for each in groups:
                if each.memories.isdisjoint(memories):
                    apart.append(each)
                    continue
                small, joined = sorted((joined, each), key=_Group.size)
                joined.memories.update(small.memories)
                joined.members.update(small.members)
            joined.memories.update(memories)
            joined.members.add(operation)
            groups = [*apart, joined]
        return [frozenset(each.members) for each in groups if self._is_local(each)]

    def _is_local(self, group: _Group) -> bool:
        """Return whether all memory is made in the block and none leaves it."""
        for memory in group.memories:
            if isinstance(memory, SSAValue):
                owner = memory.owner
                maker = owner.parent_op() if isinstance(owner, Block) else owner
                if maker is None or self._block.find_ancestor_op_in_block(maker) is None:
                    return False
        return not any(
            member.has_trait(IsTerminator, value_if_unregistered=False) for member in group.members
        )

    def _producers(self, operation: Operation) -> Iterator[_Unit]:
        for value in values_read(operation):
            if not isinstance(value.owner, Block):
                producer = self._block.find_ancestor_op_in_block(value.owner)
                if producer is not None:
                    yield self._units[producer]

    def _gather(self, group: set[_Unit], needs: dict[_Unit, list[_Unit]]) -> list[Operation]:
        """Move what is between the operations of a group before or after it."""
        operations = list(self._block.ops)
        positions = [i for i, each in enumerate(operations) if self._units[each] in group]
        first, last = operations[positions[0]], operations[positions[-1]]
        after = set(group)
        for operation in operations[positions[0] : positions[-1]]:
            unit = self._units[operation]
            if unit in group:
                continue
            operation.detach()
            if after.isdisjoint(needs[unit]):
                self._block.insert_op_before(operation, first)
            else:
                after.add(unit)
                self._block.insert_op_after(operation, last)
                last = operation
        return [operations[index] for index in positions]


def _cycles(needs: dict[_Unit, list[_Unit]]) -> Iterator[list[_Unit]]:
    """Yield the units that depend on each other mutually; others are alone."""
    readers: dict[_Unit, list[_Unit]] = {unit: [] for unit in needs}
    for unit, producers in needs.items():
        for producer in producers:
            readers[producer].append(unit)
    found: set[_Unit] = set()
    for unit in reversed(postorder(needs, readers.__getitem__)):
        if unit not in found:
            cycle = postorder(
                [unit], lambda each: [other for other in needs[each] if other not in found]
            )
            found.update(cycle)
            yield cycle


def _memories(operation: Operation) -> set[Memory]:
    """Return the memrefs that an operation makes, or uses and does not make inside of itself."""
    found: set[Memory] = {value for value in operation.results if _is_memory(value)}
    found.update(value for value in captured(operation) if _is_memory(value))
    found.update(value for value in operation.operands if _is_memory(value))
    if operation.name == "memref.get_global":
        found.add(symbol(operation, "name"))
    return found


def _is_memory(value: SSAValue) -> bool:
    return isinstance(value.type, MemRefType | UnrankedMemRefType)

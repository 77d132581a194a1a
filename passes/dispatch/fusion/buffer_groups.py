"""Group the operations that work on the same memory: a dispatch cannot pass memrefs.

    %m = bufferization.to_buffer %x : tensor<9xf32> to memref<9xf32>
    affine.for %i = 0 to 9 { ... affine.store %y, %m[%i] ... }
    %r = bufferization.to_tensor %m : memref<9xf32> to tensor<9xf32>

become one kernel, with everything between them that both reads from it and is read by it. Memory
that comes from outside of the block, as an argument, is left as it is, and so is what is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from xdsl.dialects.builtin import MemRefType, TensorType, UnrankedMemRefType
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator

from ....ir.attribute_access import symbol
from ....ir.regions import captured, values_read

StoreNumber = Callable[[OpResult], Operation]
"""Stores a number in a tensor that the host reads; returns the operation that makes the tensor."""

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


class _BufferGroups:
    """The operations of a block in units: those on the same memory together, others alone."""

    def __init__(self, block: Block) -> None:
        self._block = block
        self._units: dict[Operation, frozenset[Operation]] = {}
        groups = self._on_same_memory()
        for operation in block.ops:
            group = next((each for each in groups if operation in each), {operation})
            self._units[operation] = frozenset(group)
        self._groups = {
            unit: None for unit in self._units.values() if unit in map(frozenset, groups)
        }

    def arrange(self) -> Iterator[list[Operation]]:
        """Make each group contiguous and yield its operations in order."""
        left = list(self._groups)
        while left:
            readers = self._reachable(left[0], self._readers)
            cycle = readers & self._reachable(left[0], self._producers)
            group = left[0].union(*cycle)
            left = [each for each in left if not each & group]
            after = frozenset[Operation]().union(*readers) - group
            yield self._gather(group, after)

    def _on_same_memory(self) -> list[set[Operation]]:
        groups: list[tuple[set[Memory], set[Operation]]] = []
        for operation in self._block.ops:
            memories, members = _memories(operation), {operation}
            for other in [each for each in groups if each[0] & memories]:
                groups.remove(other)
                memories |= other[0]
                members |= other[1]
            if memories:
                groups.append((memories, members))
        return [members for memories, members in groups if self._is_local(memories, members)]

    def _is_local(self, memories: set[Memory], members: set[Operation]) -> bool:
        """Return whether all memory is made in the block and none leaves it."""
        for memory in memories:
            if isinstance(memory, SSAValue):
                owner = memory.owner
                maker = owner.parent_op() if isinstance(owner, Block) else owner
                if maker is None or self._block.find_ancestor_op_in_block(maker) is None:
                    return False
        return not any(
            member.has_trait(IsTerminator, value_if_unregistered=False) for member in members
        )

    def _reachable(
        self,
        start: frozenset[Operation],
        step: Callable[[Operation], Iterator[Operation | None]],
    ) -> set[frozenset[Operation]]:
        found: set[frozenset[Operation]] = set()
        stack = [start]
        while stack:
            for operation in stack.pop():
                for other in step(operation):
                    unit = None if other is None else self._units.get(other)
                    if unit is not None and unit not in found and unit is not start:
                        found.add(unit)
                        stack.append(unit)
        return found

    def _readers(self, operation: Operation) -> Iterator[Operation | None]:
        for result in operation.results:
            for use in result.uses:
                yield self._block.find_ancestor_op_in_block(use.operation)

    def _producers(self, operation: Operation) -> Iterator[Operation | None]:
        for value in values_read(operation):
            if not isinstance(value.owner, Block):
                yield self._block.find_ancestor_op_in_block(value.owner)

    def _gather(self, group: frozenset[Operation], after: frozenset[Operation]) -> list[Operation]:
        """Move what is between the operations of a group before or after it."""
        operations = list(self._block.ops)
        positions = [index for index, each in enumerate(operations) if each in group]
        first, last = operations[positions[0]], operations[positions[-1]]
        for operation in operations[positions[0] : positions[-1]]:
            if operation in group:
                continue
            operation.detach()
            if operation in after:
                self._block.insert_op_after(operation, last)
                last = operation
            else:
                self._block.insert_op_before(operation, first)
        return [operations[index] for index in positions]


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

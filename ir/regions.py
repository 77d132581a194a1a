"""What operations and their regions read, and the ways through the blocks of a region."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Block, Operation, Region, SSAValue

from .call_graph import postorder


def walk(operation: Operation) -> Iterator[Operation]:
    """An operation and all in it, in the order of the text, as `Operation.walk` does.

    One generator for each operation with regions, where that makes three for each operation: a
    third of the time. What is at hand may be erased or moved.
    """
    yield operation
    for region in operation.regions:
        block = region.first_block
        while block is not None:
            inner = block.first_op
            while inner is not None:
                following = inner.next_op
                if inner.regions:
                    yield from walk(inner)
                else:
                    yield inner
                inner = following
            block = block.next_block


def inner_blocks(operation: Operation) -> Iterator[Block]:
    """The blocks right in the regions of an operation."""
    for region in operation.regions:
        yield from region.blocks


def enclosing(operation: Operation | None) -> Iterator[Operation]:
    """An operation and those around it, from the inside out."""
    while operation is not None:
        yield operation
        operation = operation.parent_op()


def values_read(operation: Operation) -> Iterator[SSAValue]:
    """The values that an operation needs; those made inside of its regions may be among them."""
    for inner in walk(operation):
        yield from inner.operands


def captured(scope: Operation | Region) -> list[SSAValue]:
    """The values from outside that a region, or those of an operation, read, each once."""
    read: dict[SSAValue, None] = {}
    inside: set[SSAValue] = set()

    def enter(regions: Sequence[Region]) -> list[Operation]:
        """The operations right in some regions, the first one last."""
        blocks = [block for region in regions for block in region.blocks]
        for block in blocks:
            inside.update(block.args)
        return [operation for block in blocks for operation in block.ops][::-1]

    # Without recursion, which would cost each operation the depth that it is at.
    pending = enter(scope.regions if isinstance(scope, Operation) else (scope,))
    while pending:
        operation = pending.pop()
        read.update(dict.fromkeys(operation.operands))
        inside.update(operation.results)
        if operation.regions:
            pending += enter(operation.regions)
    return [value for value in read if value not in inside]


def successors(block: Block) -> tuple[Block, ...]:
    """The blocks that control may go to from the end of a block."""
    last = block.last_op
    return tuple(last.successors) if last is not None else ()


def reachable_blocks(region: Region) -> list[Block]:
    """The blocks that control can reach, each behind those that dominate it: reverse postorder."""
    entry = region.first_block
    return postorder(() if entry is None else (entry,), successors)[::-1]

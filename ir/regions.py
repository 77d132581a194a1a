"""What operations and their regions read, and the ways through the blocks of a region."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation, Region, SSAValue

from .call_graph import postorder


def values_read(operation: Operation) -> Iterator[SSAValue]:
    """The values that an operation needs; those made inside of its regions may be among them."""
    for inner in operation.walk():
        yield from inner.operands


def captured(scope: Operation | Region) -> list[SSAValue]:
    """The values from outside that a region, or those of an operation, read, each once."""
    found: dict[SSAValue, None] = {}
    for region in scope.regions if isinstance(scope, Operation) else (scope,):
        for operation in region.walk():
            for operand in operation.operands:
                if not scope.is_ancestor(operand.owner) or operand.owner is scope:
                    found[operand] = None
    return list(found)


def successors(block: Block) -> tuple[Block, ...]:
    """The blocks that control may go to from the end of a block."""
    last = block.last_op
    return tuple(last.successors) if last is not None else ()


def reachable_blocks(region: Region) -> list[Block]:
    """The blocks that control can reach, each behind those that dominate it: reverse postorder."""
    entry = region.first_block
    return postorder(() if entry is None else (entry,), successors)[::-1]

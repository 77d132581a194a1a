"""Walks over nested operations, values captured by regions, and the control flow graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from .graph_orders import postorder


def point_after(value: SSAValue) -> InsertPoint:
    """Return the insertion point right after the definition of a value."""
    owner = value.owner
    return InsertPoint.after(owner) if isinstance(owner, Operation) else InsertPoint.at_start(owner)


def replace_other_uses(value: SSAValue, new: SSAValue) -> None:
    """Replace all uses of a value except for those by the operation that makes `new` from it."""
    value.replace_uses_with_if(new, lambda use: use.operation is not new.owner)


def walk(operation: Operation) -> Iterator[Operation]:
    """Yield an operation and all nested operations in textual order, as `Operation.walk` does.

    This creates one generator per operation with regions, where xDSL creates three per operation,
    and takes a third of the time. The yielded operation may be erased or moved.
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
    """Yield the blocks directly in the regions of an operation."""
    for region in operation.regions:
        yield from region.blocks


def inner_operations(operation: Operation) -> Iterator[Operation]:
    """Yield the operations directly in the regions of an operation."""
    for block in inner_blocks(operation):
        yield from block.ops


def operations_between(first: Operation, last: Operation) -> Iterator[Operation]:
    """Yield the operations of a block behind `first` and in front of `last`, which comes later."""
    operation = first.next_op
    while operation is not None and operation is not last:
        yield operation
        operation = operation.next_op


def detach_regions(operation: Operation) -> list[Region]:
    """Take all regions away from an operation, to give them to another one."""
    return [operation.detach_region(region) for region in operation.regions]


def enclosing(operation: Operation | None) -> Iterator[Operation]:
    """Yield an operation and its ancestors, innermost first."""
    while operation is not None:
        yield operation
        operation = operation.parent_op()


def outermost(operation: Operation) -> Operation:
    """Return the outermost ancestor of an operation, which may be itself."""
    *_, root = enclosing(operation)
    return root


def values_read(operation: Operation) -> Iterator[SSAValue]:
    """Yield the operands of an operation and of all operations nested in it.

    Values defined inside its regions are included.
    """
    for inner in walk(operation):
        yield from inner.operands


def captured(scope: Operation | Region) -> list[SSAValue]:
    """Return the distinct values that a region, or an operation's regions, use from outside."""
    regions_of_scope = scope.regions if isinstance(scope, Operation) else (scope,)
    if not regions_of_scope:
        return []
    read: dict[SSAValue, None] = {}
    inside: set[SSAValue] = set()

    def enter(regions: Sequence[Region]) -> list[Operation]:
        """Return the ops directly in some regions in reverse; record block arguments."""
        blocks = [block for region in regions for block in region.blocks]
        for block in blocks:
            inside.update(block.args)
        return [operation for block in blocks for operation in block.ops][::-1]

    # Iterative: with nested generators each operation would cost time proportional to its depth.
    pending = enter(regions_of_scope)
    while pending:
        operation = pending.pop()
        read.update(dict.fromkeys(operation.operands))
        inside.update(operation.results)
        if operation.regions:
            pending += enter(operation.regions)
    return [value for value in read if value not in inside]


def copy_region(
    region: Region, values: dict[SSAValue, SSAValue], blocks: dict[Block, Block]
) -> Region:
    """Return a copy of a region with the operands and successors that `values` and `blocks` give.

    The values and blocks of the copy are added to these. In a single block, values are defined
    before they are used: copying needs one walk, where xDSL's `clone_into` makes three.
    """
    copy = Region()
    old = region.first_block
    if old is None or old is not region.last_block:
        region.clone_into(copy, None, values, blocks)
        return copy
    new = blocks[old] = Block(arg_types=[argument.type for argument in old.args])
    copy.add_block(new)
    for argument, copied in zip(old.args, new.args, strict=True):
        values[argument] = copied
        copied.name_hint, copied.location = argument.name_hint, argument.location
    for operation in old.ops:
        made = operation.create(
            operands=[values.get(operand, operand) for operand in operation.operands],
            result_types=operation.result_types,
            properties=operation.properties,
            attributes=operation.attributes,
            location=operation.location,
            successors=[blocks.get(block, block) for block in operation.successors],
            regions=[copy_region(each, values, blocks) for each in operation.regions],
        )
        new.add_op(made)
        for result, copied in zip(operation.results, made.results, strict=True):
            values[result] = copied
            copied.name_hint = result.name_hint
    return copy


def successors(block: Block) -> tuple[Block, ...]:
    """Return the successors of a block."""
    last = block.last_op
    return tuple(last.successors) if last is not None else ()


def reachable_blocks(region: Region) -> list[Block]:
    """Return the blocks reachable from the entry in reverse postorder: dominators come first."""
    entry = region.first_block
    return postorder(() if entry is None else (entry,), successors)[::-1]

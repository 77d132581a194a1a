"""Source locations of ops, and related helpers to build and find ops.

A new op gets the location of the op that it replaces, so that an error in a later pass or at run
time still points to a line of the source program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    NameLoc,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from .regions import walk


def file_positions(location: Attribute) -> Iterator[FileLineColLoc]:
    """Yield the file positions in a location; a callee's come before its caller's."""
    match location:
        case FileLineColLoc():
            yield location
        case NameLoc():
            yield from file_positions(location.location)
        case CallSiteLoc():
            yield from file_positions(location.callee)
            yield from file_positions(location.caller)
        case FusedLoc():
            for part in cast("ArrayAttr[Attribute]", location.locations):
                yield from file_positions(part)
        case _:
            pass


def locate(made: Operation, origin: Operation) -> None:
    """Give an operation and its nested ones the location of `origin` if theirs is unknown."""
    for operation in walk(made):
        if operation.location is UNKNOWN_LOC:
            operation.location = origin.location


def located_builder(point: InsertPoint, origin: Operation) -> Builder:
    """Return a builder at `point` whose operations get the location of `origin`."""
    return Builder(point, operation_insertion_handler=[lambda made: locate(made, origin)])


def maker_of(value: SSAValue) -> Operation:
    """Return the op that defines a value, or the parent op of a block argument's block.

    Raises ValueError if a block argument's block has no parent operation.
    """
    owner = value.owner
    operation = owner.parent_op() if isinstance(owner, Block) else owner
    if operation is None:
        raise ValueError(f"{value} is in a block without an operation")
    return operation


def block_with(value: SSAValue) -> Block | None:
    """Return the block that defines a value; `None` if the defining operation is in no block."""
    return value.owner if isinstance(value.owner, Block) else value.owner.parent


def made_by(value: SSAValue, *names: str) -> Operation | None:
    """Return the operation that defines a value if it has one of these names, otherwise `None`."""
    owner = value.owner
    return owner if isinstance(owner, Operation) and owner.name in names else None


def source_behind(value: SSAValue, *names: str) -> SSAValue:
    """Return the value to which operations with these names are applied, one after the other."""
    while (maker := made_by(value, *names)) is not None:
        value = maker.operands[0]
    return value


def builder_before(origin: Operation) -> Builder:
    """Return a builder before `origin` whose operations get its location."""
    return located_builder(InsertPoint.before(origin), origin)


def rebuilt(
    operation: Operation,
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute],
    *,
    properties: Mapping[str, Attribute] | None = None,
    regions: Sequence[Region] | None = None,
) -> Operation:
    """Create a copy of an operation with other operands and result types.

    Regions are cloned unless others are given.
    """
    return type(operation).create(
        operands=operands,
        result_types=result_types,
        properties=operation.properties if properties is None else properties,
        attributes=operation.attributes,
        successors=operation.successors,
        regions=[each.clone() for each in operation.regions] if regions is None else regions,
        location=operation.location,
    )


def erase_if_unused(*operations: Operation) -> None:
    """Erase each operation whose results nobody reads, in the order given."""
    for operation in operations:
        if not any(result.first_use for result in operation.results):
            Rewriter.erase_op(operation)


def replace_by(operation: Operation, made: Operation) -> None:
    """Replace an operation by another one with the same number of results, and set its location."""
    locate(made, operation)
    Rewriter.replace_op(operation, made)

"""Operations that a pass makes are where what they are made from is in the source.

So an error in a later pass, or when the program runs, still points at a line that somebody wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.builder import Builder
from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from .regions import walk


def locate(made: Operation, origin: Operation) -> None:
    """Give an operation, and those inside, the location of `origin` where they have none."""
    for operation in walk(made):
        if operation.location is UNKNOWN_LOC:
            operation.location = origin.location


def located_builder(point: InsertPoint, origin: Operation) -> Builder:
    """A builder at `point` of operations that are made from `origin`."""
    return Builder(point, operation_insertion_handler=[lambda made: locate(made, origin)])


def maker_of(value: SSAValue) -> Operation:
    """The operation that makes a value, or that has it as an argument of a block."""
    owner = value.owner
    operation = owner.parent_op() if isinstance(owner, Block) else owner
    if operation is None:
        raise ValueError(f"{value} is in a block without an operation")
    return operation


def block_with(value: SSAValue) -> Block | None:
    """The block that a value is made in; `None` if what makes it stands in none."""
    return value.owner if isinstance(value.owner, Block) else value.owner.parent


def made_by(value: SSAValue, *names: str) -> Operation | None:
    """The operation that makes a value, if it is one of these names."""
    owner = value.owner
    return owner if isinstance(owner, Operation) and owner.name in names else None


def builder_before(origin: Operation) -> Builder:
    """A builder of operations that are made from `origin`, in front of it."""
    return located_builder(InsertPoint.before(origin), origin)


def rebuilt(
    operation: Operation,
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute],
    *,
    properties: Mapping[str, Attribute] | None = None,
    regions: Sequence[Region] | None = None,
) -> Operation:
    """The same operation on other operands; its regions are copied unless others are given.

    It takes its location where it is inserted.
    """
    return type(operation).create(
        operands=operands,
        result_types=result_types,
        properties=operation.properties if properties is None else properties,
        attributes=operation.attributes,
        successors=operation.successors,
        regions=[each.clone() for each in operation.regions] if regions is None else regions,
    )


def replace_by(operation: Operation, made: Operation) -> None:
    """Put one operation, with as many results, in the place of another."""
    locate(made, operation)
    Rewriter.replace_op(operation, made)

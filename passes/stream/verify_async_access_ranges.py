"""Verify that what asynchronous operations read and write is inside of their resources.

    stream.async.slice %r[%c8 to %c24] : !stream.resource<*>{%c16} -> ...

reads behind the end. Only numbers that are constants are compared. As in iree-opt the first
operation at fault is the end, with all that is wrong about it. Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.stream.async_ops import (
    AsyncCopyOp,
    AsyncDispatchOp,
    AsyncFillOp,
    AsyncSliceOp,
    AsyncUpdateOp,
)
from ...ir.diagnostics import OperationError, raise_all
from ...ir.host_programs import FUNCTIONS_AND_INITIALIZERS, host_operations
from ...ir.syntax.assembly_format import values
from ...ir.syntax.resource_directives import ties_of

READ, WRITE, BOTH = "Read", "Write", "Read|Write"


@dataclass(frozen=True, slots=True)
class Access:
    """What an operation does to the bytes from `start` to `end`, which are `length`."""

    kind: str
    resource: SSAValue
    size: SSAValue
    start: SSAValue
    end: SSAValue
    length: SSAValue

    def problem(self) -> str | None:
        """What is wrong, if anything is known to be."""
        size, start = constant_of(self.size), constant_of(self.start)
        end, length = constant_of(self.end), constant_of(self.length)
        if _exceeds(start, end):
            return "start > end"
        if _exceeds(length, end):
            return "length > end"
        if start is not None and end is not None and length not in (None, end - start):
            return "start + length != end"
        for name, number in (("start", start), ("length", length), ("end", end)):
            if _exceeds(number, size):
                return f"{name} > resource size"
        return None

    def __str__(self) -> str:
        numbers = (_number(each) for each in (self.start, self.end, self.length))
        start, end, length = numbers
        return (
            f"{self.kind} access range [{start} to {end} for {length}] of resource "
            f"{_name(self.resource)} with size {_number(self.size)}"
        )


@dataclass(frozen=True)
class VerifyAsyncAccessRangesPass(ModulePass):
    """Verify that what asynchronous operations read and write is inside of their resources."""

    name = "iree-stream-verify-async-access-ranges"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        del ctx
        for operation in host_operations(op):
            found = [(each, each.problem()) for each in accesses(operation)]
            raise_all(
                [
                    OperationError(operation, f"has invalid {access}; {problem}")
                    for access, problem in found
                    if problem is not None
                ]
            )


def accesses(operation: Operation) -> Iterator[Access]:
    """What an operation reads and writes of resources, by ranges."""

    def operand(name: str) -> SSAValue:
        return values(operation, name)[0]

    def written(length: SSAValue) -> Iterator[Access]:
        size, *ends = (operand(f"target_{name}") for name in ("size", "offset", "end"))
        for resource in (operand("target"), operation.results[0]):
            yield Access(WRITE, resource, size, ends[0], ends[1], length)

    if isinstance(operation, AsyncSliceOp | AsyncCopyOp):
        ends = (operand("source_offset"), operand("source_end"))
        length = operand("result_size" if isinstance(operation, AsyncSliceOp) else "length")
        yield Access(READ, operand("source"), operand("source_size"), *ends, length)
    if isinstance(operation, AsyncCopyOp):
        yield from written(operand("length"))
    elif isinstance(operation, AsyncFillOp):
        yield from written(operand("target_length"))
    elif isinstance(operation, AsyncUpdateOp):
        yield from written(operand("update_size"))
    elif isinstance(operation, AsyncDispatchOp) or operation.name == "stream.async.call":
        yield from _of_call(operation)


def _of_call(operation: Operation) -> Iterator[Access]:
    """Ranges belong to those operands that are resources, in order."""
    operands = values(operation, "resource_operands")
    ranges = iter(
        zip(
            *(
                values(operation, f"resource_operand_{name}")
                for name in ("sizes", "offsets", "ends", "lengths")
            ),
            strict=True,
        )
    )
    ties = ties_of(operation, len(operation.results))
    for index, resource in enumerate(operands):
        if resource.type.name != "stream.resource":
            continue
        size, start, end, length = next(ranges)
        tied = [result for result, tie in zip(operation.results, ties, strict=True) if tie == index]
        kind = BOTH if tied else READ
        for value in (resource, *tied):
            yield Access(kind, value, size, start, end, length)


def constant_of(value: SSAValue) -> int | None:
    """The number that a value is, if it is a constant."""
    owner = value.owner
    if not isinstance(owner, Operation) or owner.name != "arith.constant":
        return None
    constant = owner.properties.get("value")
    return constant.value.data if isinstance(constant, IntegerAttr) else None


def _exceeds(number: int | None, limit: int | None) -> bool:
    return number is not None and limit is not None and number > limit


def _number(value: SSAValue) -> str:
    number = constant_of(value)
    return "?" if number is None else str(number)


def _name(value: SSAValue) -> str:
    """How a value is called: as it was read, else by its place among those without a name."""
    if value.name_hint is not None:
        return f"%{value.name_hint}"
    scope = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    while scope is not None and scope.name not in FUNCTIONS_AND_INITIALIZERS:
        scope = scope.parent_op()
    unnamed = 0
    for block in () if scope is None else scope.walk_blocks():
        for each in _values_of(block):
            if each is value:
                return f"%{unnamed}"
            unnamed += each.name_hint is None
    return "%?"


def _values_of(block: Block) -> Iterator[SSAValue]:
    yield from block.args
    for operation in block.ops:
        yield from operation.results

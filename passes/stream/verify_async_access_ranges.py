"""Verify that asynchronous operations access only ranges inside of their resources.

    stream.async.slice %r[%c8 to %c24] : !stream.resource<*>{%c16} -> ...

reads past the end. Only constants are compared. As in iree-opt, only the first operation with an
error is reported, with all its errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects.stream.async_ops import (
    AsyncCopyOp,
    AsyncDispatchOp,
    AsyncFillOp,
    AsyncSliceOp,
    AsyncUpdateOp,
)
from ...ir.attribute_access import constant_integer
from ...ir.diagnostics import OperationError, raise_all
from ...ir.host_programs import FUNCTIONS_AND_INITIALIZERS, host_operations
from ...ir.locations import maker_of
from ...ir.regions import enclosing
from ...ir.syntax.assembly_format import values
from ...ir.syntax.resource_directives import ties_of
from ..manager.module_pass import module_pass
from .analysis.storage import is_resource

READ, WRITE, BOTH = "Read", "Write", "Read|Write"


@dataclass(frozen=True, slots=True)
class Access:
    """An access of an operation to the bytes from `start` to `end` of a resource."""

    kind: str
    resource: SSAValue
    size: SSAValue
    start: SSAValue
    end: SSAValue
    length: SSAValue

    def problem(self) -> str | None:
        """Return a description of the error in the access; `None` if no error is known."""
        size, start = constant_integer(self.size), constant_integer(self.start)
        end, length = constant_integer(self.end), constant_integer(self.length)
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


@module_pass("iree-stream-verify-async-access-ranges")
def verify_async_access_ranges(module: ModuleOp) -> None:
    """Verify that asynchronous operations access only ranges inside of their resources."""
    for operation in host_operations(module):
        found = [(each, each.problem()) for each in accesses(operation)]
        raise_all(
            [
                OperationError(operation, f"has invalid {access}; {problem}")
                for access, problem in found
                if problem is not None
            ]
        )


def accesses(operation: Operation) -> Iterator[Access]:
    """Yield the ranges of resources that an operation reads and writes."""

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
    """Yield the accesses of a call or dispatch; ranges belong to resource operands, in order."""
    operands = values(operation, "resource_operands")
    columns = ("sizes", "offsets", "ends", "lengths")
    ranges = zip(*(values(operation, f"resource_operand_{each}") for each in columns), strict=True)
    ties = ties_of(operation, len(operation.results))
    for index, resource in enumerate(operands):
        if not is_resource(resource):
            continue
        size, start, end, length = next(ranges)
        tied = [result for result, tie in zip(operation.results, ties, strict=True) if tie == index]
        kind = BOTH if tied else READ
        for value in (resource, *tied):
            yield Access(kind, value, size, start, end, length)


def _exceeds(number: int | None, limit: int | None) -> bool:
    return number is not None and limit is not None and number > limit


def _number(value: SSAValue) -> str:
    number = constant_integer(value)
    return "?" if number is None else str(number)


def _name(value: SSAValue) -> str:
    """Return the name of a value as it is printed: its own, or its number among unnamed values."""
    if value.name_hint is not None:
        return f"%{value.name_hint}"
    around = enclosing(maker_of(value))
    scope = next((each for each in around if each.name in FUNCTIONS_AND_INITIALIZERS), None)
    unnamed = 0
    for block in () if scope is None else scope.walk_blocks():
        for each in (*block.args, *(result for inner in block.ops for result in inner.results)):
            if each is value:
                return f"%{unnamed}"
            unnamed += each.name_hint is None
    return "%?"

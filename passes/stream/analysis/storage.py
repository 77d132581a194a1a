"""What asynchronous operations read, where they store what they give, and how large that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Operation, SSAValue

from ....ir.syntax.assembly_format import values
from ....ir.syntax.resource_directives import RESOURCE, UNTIED, ties_of
from .encoded_globals import operand_index

IN_PLACE = frozenset({f"stream.async.{name}" for name in ("collective", "copy", "fill", "update")})
"""What devices write to a range of a resource, which gives the same resource."""

STORED_IN = {
    **dict.fromkeys(IN_PLACE | {"stream.async.store"}, "target"),
    **dict.fromkeys([f"stream.async.parameter.{name}" for name in ("gather", "read")], "target"),
    **dict.fromkeys([f"stream.async.parameter.{name}" for name in ("scatter", "write")], "source"),
}
"""Operations that give the resource that one of their operands is, and the name of that."""

FRESH = frozenset(
    {
        "stream.async.alloca",
        "stream.async.call",
        "stream.async.clone",
        "stream.async.dispatch",
        "stream.async.slice",
        "stream.async.splat",
        "stream.async.transfer",
    }
)
"""Operations whose results are in storage of their own, if they are not tied to operands."""

PASSED_ON = frozenset(
    {
        "stream.async.barrier",
        "stream.async.slice",
        "stream.timepoint.await",
        "stream.timepoint.barrier",
    }
)
"""Operations whose results are their operands, or parts of them, one for one."""

TIED_TO = ("mixed_operands", "resource_operands", "arguments")
"""Operands that results may be tied to: the first of these that an operation has."""

STREAMABLE = FRESH | IN_PLACE | {"stream.async.constant"}
"""What devices do by themselves; the rest is done by the host."""


def is_resource(value: SSAValue) -> bool:
    """Whether a value is a resource."""
    return value.type.name == RESOURCE


def storage_operand(operation: Operation, index: int) -> int | None:
    """Which operand has the storage that a result is in, `None` if it has storage of its own."""
    if (given := STORED_IN.get(operation.name)) is not None:
        return operand_index(operation, given) if index == 0 else None
    ties = ties_of(operation, len(operation.results))
    if index >= len(ties) or ties[index] == UNTIED:
        return None
    firsts = (operand_index(operation, name) for name in TIED_TO if hasattr(operation, name))
    return next(first + ties[index] for first in firsts)


def stored_in(operation: Operation, index: int) -> SSAValue | None:
    """The operand whose storage a result is in, if it has none of its own."""
    number = storage_operand(operation, index)
    return None if number is None else operation.operands[number]


def storage_flow(operation: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    """The results of an operation that are in the storage of operands, behind these."""
    if operation.name in PASSED_ON:
        yield from zip(operation.operands, operation.results, strict=False)
        return
    for index, result in enumerate(operation.results):
        if (given := stored_in(operation, index)) is not None:
            yield given, result


def resources_in(operation: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    """The resources that an operation is given, and the bytes of each."""
    sizes = values(operation, "resource_operand_sizes")
    resources = [each for each in values(operation, "resource_operands") if is_resource(each)]
    yield from zip(resources, sizes, strict=True)
    for name in ("target", "source", "update", "resource"):
        for resource in values(operation, name):
            if is_resource(resource):
                yield resource, values(operation, f"{name}_size")[0]


def result_sizes(operation: Operation) -> Sequence[SSAValue]:
    """The bytes of each result that is a resource."""
    for name in ("result_sizes", "result_size", "storage_size", "target_size"):
        if sizes := values(operation, name):
            return sizes
    return ()

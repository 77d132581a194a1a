"""Find what asynchronous operations read, where they store their results, and the sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Operation, SSAValue, Use

from ....ir.syntax.assembly_format import operand_index, values
from ....ir.syntax.resource_directives import RESOURCE, UNTIED, ties_of

IN_PLACE = frozenset({f"stream.async.{name}" for name in ("collective", "copy", "fill", "update")})
"""Operations of devices that write to a range of a resource and return that resource."""

STORED_IN = {
    **dict.fromkeys(IN_PLACE | {"stream.async.store"}, "target"),
    **dict.fromkeys([f"stream.async.parameter.{name}" for name in ("gather", "read")], "target"),
    **dict.fromkeys([f"stream.async.parameter.{name}" for name in ("scatter", "write")], "source"),
}
"""Operations that return one of their operands' resources, and the name of that operand."""

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
"""Operations whose results have storage of their own unless they are tied to operands."""

VIEW_LIKE = frozenset(
    {
        "stream.async.barrier",
        "stream.async.slice",
        "stream.resource.subview",
        "stream.timepoint.await",
        "stream.timepoint.barrier",
    }
)
"""Operations whose results are views of their first operands, one for one."""

TIED_TO = ("mixed_operands", "resource_operands", "arguments")
"""Names of operands that results may be tied to; the first that an operation has counts.

Results of operations without them may be tied to any operand.
"""

STREAMABLE = FRESH | IN_PLACE | {"stream.async.constant"}
"""Operations that devices execute; others are executed by the host."""

READERS = STREAMABLE | {"stream.async.load"}
"""Operations that use a resource only while they run."""


def is_resource(value: SSAValue) -> bool:
    """Return whether a value is a resource."""
    return value.type.name == RESOURCE


def storage_operand(operation: Operation, index: int) -> int | None:
    """Return the index of the operand whose storage a result has; `None` if it has its own."""
    if (name := STORED_IN.get(operation.name)) is not None:
        return operand_index(operation, name) if index == 0 else None
    ties = ties_of(operation, len(operation.results))
    if index >= len(ties) or ties[index] == UNTIED:
        return None
    firsts = (operand_index(operation, name) for name in TIED_TO if hasattr(operation, name))
    return next(firsts, 0) + ties[index]


def stored_in(operation: Operation, index: int) -> SSAValue | None:
    """Return the operand whose storage a result has; `None` if it has its own."""
    number = storage_operand(operation, index)
    return None if number is None else operation.operands[number]


def storage_flow(operation: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Yield pairs of an operand and a result that is in its storage."""
    if operation.name in VIEW_LIKE:
        yield from zip(operation.operands, operation.results, strict=False)
        return
    for index, result in enumerate(operation.results):
        if (target := stored_in(operation, index)) is not None:
            yield target, result


def views_of(value: SSAValue) -> Iterator[SSAValue]:
    """Yield the results of a value's users that are in its storage."""
    for user in dict.fromkeys(use.operation for use in value.uses):
        yield from (result for source, result in storage_flow(user) if source is value)


def is_read(use: Use) -> bool:
    """Return whether a use only reads a resource, and not after its operation."""
    user = use.operation
    written = (storage_operand(user, index) for index in range(len(user.results)))
    return user.name in READERS and use.index not in written


def resources_in(operation: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Yield the resource operands of an operation with their sizes in bytes."""
    sizes = values(operation, "resource_operand_sizes")
    resources = [each for each in values(operation, "resource_operands") if is_resource(each)]
    yield from zip(resources, sizes, strict=True)
    for name in ("target", "source", "update", "resource"):
        for resource in values(operation, name):
            if is_resource(resource):
                yield resource, values(operation, f"{name}_size")[0]


def result_sizes(operation: Operation) -> Sequence[SSAValue]:
    """Return the sizes in bytes of the results that are resources."""
    for name in ("result_sizes", "result_size", "storage_size", "target_size"):
        if sizes := values(operation, name):
            return sizes
    return ()

"""Reading operations without their classes: attributes, operand groups, symbols.

Operations are recognised by name, so another compiler's class of the same operation, or an
unregistered one in generic form, is read as well as xDSL's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntElementsAttr,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    UnregisteredOp,
)
from xdsl.ir import Attribute, Operation

from ..dialects.diagnostics import OperationError
from ..dialects.reading import attribute
from .values import Value

DYNAMIC = -(1 << 63)
"""MLIR's mark for a number that an operand gives (`ShapedType::kDynamic`)."""


def operation_name(op: Operation) -> str:
    """The name of an operation, also of one whose dialect is not registered."""
    if isinstance(op, UnregisteredOp):
        return op.op_name.data
    return op.name


def required(op: Operation, name: str) -> Attribute:
    """An attribute that must be there."""
    found = attribute(op, name)
    if found is None:
        raise OperationError(op, f"needs the attribute '{name}'")
    return found


def flag(op: Operation, name: str) -> bool:
    """Whether a unit or boolean attribute is set."""
    found = attribute(op, name)
    if isinstance(found, IntegerAttr):
        return bool(found.value.data)
    return found is not None


def integer(op: Operation, name: str, default: int | None = None) -> int:
    """An integer attribute."""
    found = attribute(op, name)
    if found is None and default is not None:
        return default
    if not isinstance(found, IntegerAttr):
        raise OperationError(op, f"needs an integer attribute '{name}', got {found}")
    return found.value.data


def text(op: Operation, name: str, default: str = "") -> str:
    """A string attribute, or the case name of an enumeration attribute."""
    found = attribute(op, name)
    if found is None:
        return default
    data = getattr(found, "data", None)
    return str(data) if data is not None else str(found)


def integer_list(value: Attribute | None) -> tuple[int, ...]:
    """The integers of `array<i64: ...>`, `dense<...>` or `[1 : i64, ...]`; none if absent."""
    if value is None:
        return ()
    if isinstance(value, DenseArrayBase):
        return tuple(int(number) for number in cast(Any, value).get_values())
    if isinstance(value, DenseIntOrFPElementsAttr):
        return tuple(int(number) for number in cast(DenseIntElementsAttr, value).get_values())
    if isinstance(value, ArrayAttr):
        entries = cast("ArrayAttr[Attribute]", value).data
        return tuple(entry.value.data for entry in entries if isinstance(entry, IntegerAttr))
    raise ValueError(f"{value} is not a list of integers")


def integers(op: Operation, name: str) -> tuple[int, ...]:
    """The integers of a list attribute of any form; none if it is absent."""
    try:
        return integer_list(attribute(op, name))
    except ValueError as error:
        raise OperationError(op, f"attribute '{name}': {error}") from error


def integer_lists(op: Operation, name: str) -> tuple[tuple[int, ...], ...]:
    """The integers of a list of lists, such as a reassociation; `#shard<axisarray...>` too."""
    found = attribute(op, name)
    if found is None:
        return ()
    nested: object = getattr(found, "axes", found)
    if isinstance(nested, ArrayAttr):
        nested = cast("ArrayAttr[Attribute]", nested).data
    if not isinstance(nested, Sequence):
        raise OperationError(op, f"attribute '{name}' is not a list of lists: {found}")
    lists: list[tuple[int, ...]] = []
    for entry in cast(Sequence[object], nested):
        if isinstance(entry, Attribute):
            lists.append(integer_list(entry))
        else:
            lists.append(tuple(int(number) for number in cast(Sequence[int], entry)))
    return tuple(lists)


def operand_groups(op: Operation, operands: Sequence[Value]) -> list[Sequence[Value]]:
    """The operands cut by `operandSegmentSizes`; one group if there is no such attribute."""
    sizes = integers(op, "operandSegmentSizes")
    if not sizes:
        return [operands]
    groups: list[Sequence[Value]] = []
    start = 0
    for size in sizes:
        groups.append(operands[start : start + size])
        start += size
    return groups


def mixed(op: Operation, name: str, dynamic: Sequence[Value]) -> tuple[int, ...]:
    """A list like `[1, %v, 3]`: the static numbers with the operands' in the holes."""
    rest = iter(dynamic)
    numbers: list[int] = []
    for number in integers(op, name):
        if number != DYNAMIC:
            numbers.append(number)
            continue
        value = next(rest, None)
        if value is None:
            raise OperationError(op, f"has more holes in '{name}' than operands to fill them")
        numbers.append(int(value))
    return tuple(numbers)


def symbol(op: Operation, name: str) -> str:
    """The symbol that an attribute refers to; nested references are joined by `::`."""
    found = attribute(op, name)
    if isinstance(found, SymbolRefAttr):
        nested = [part.data for part in found.nested_references.data]
        return "::".join([found.root_reference.data, *nested])
    if isinstance(found, StringAttr):
        return found.data
    raise OperationError(op, f"needs a symbol '{name}', got {found}")

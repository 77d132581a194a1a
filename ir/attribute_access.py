"""Access attributes and operand groups of ops without relying on their Python classes.

Ops are identified by name, so the ops of other packages work as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnrankedMemRefType,
    UnrankedTensorType,
    UnregisteredOp,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from .diagnostics import OperationError
from .index_lists import mixed_list

T = TypeVar("T")

_SHAPED = (TensorType, UnrankedTensorType, VectorType, MemRefType, UnrankedMemRefType)


def element_type(value_type: Attribute) -> Attribute:
    """Return the element type of a tensor, vector or memref type; any other type is returned as is.

    A complex type counts as a scalar here, although xDSL's class for it is a container type.
    """
    if _is_shaped(type(value_type)):
        return cast("TensorType[Attribute]", value_type).element_type
    return value_type


@cache
def _is_shaped(kind: type[Attribute]) -> bool:
    """Return whether a class of types has elements. Remembered: `isinstance` of five takes 2 us."""
    return issubclass(kind, _SHAPED)


def with_element(value_type: Attribute, element: Attribute) -> Attribute:
    """Return `value_type` with another element type; `element` unless a tensor or vector."""
    if isinstance(value_type, TensorType):
        return TensorType(element, value_type.get_shape(), value_type.encoding)
    if isinstance(value_type, VectorType):
        return VectorType(element, value_type.shape, value_type.scalable_dims)
    if isinstance(value_type, UnrankedTensorType):
        return UnrankedTensorType(element)
    return element


def attribute(operation: Operation, name: str) -> Attribute | None:
    """Return the property of that name, else the discardable attribute, else `None`.

    Some sources do not distinguish the two.
    """
    return operation.get_attr_or_prop(name)


def block_of(operation: Operation) -> Block:
    """Return the block that contains an operation. Raises ValueError if it is in none."""
    if operation.parent is None:
        raise ValueError(f"'{operation.name}' is not in a block")
    return operation.parent


def symbol_name(operation: Operation) -> str | None:
    """Return the name of the symbol that an operation defines; `None` if it defines none."""
    name = attribute(operation, "sym_name")
    return name.data if isinstance(name, StringAttr) else None


def boundary_attributes(function: Operation, group: str, index: int) -> Mapping[str, Attribute]:
    """Return the attributes of a function's argument or result number `index`.

    `group` is `arg_attrs` or `res_attrs`. The mapping is empty if the function has none.
    """
    found = attribute(function, group)
    entries = cast("ArrayAttr[DictionaryAttr]", found).data if isinstance(found, ArrayAttr) else ()
    return entries[index].data if index < len(entries) else {}


BOUNDARY_GROUPS = ("arg_attrs", "res_attrs")


def boundary_entries(function: Operation, group: str) -> list[Mapping[str, Attribute]]:
    """Return the attributes of all arguments or results; the list is empty if none has any."""
    found = attribute(function, group)
    entries = cast("ArrayAttr[Attribute]", found).data if isinstance(found, ArrayAttr) else ()
    return [entry.data if isinstance(entry, DictionaryAttr) else {} for entry in entries]


def number_list(value: Attribute | None) -> tuple[int, ...]:
    """Return the integers of `array<i64: ...>`, `dense<...>` or `[1 : i64, ...]`; else `()`."""
    if isinstance(value, DenseArrayBase | DenseIntOrFPElementsAttr):
        return tuple(map(int, value.get_values()))
    if isinstance(value, ArrayAttr):
        entries = cast("ArrayAttr[Attribute]", value).data
        return tuple(entry.value.data for entry in entries if isinstance(entry, IntegerAttr))
    return ()


def is_number_list(value: Attribute | None) -> bool:
    """Return whether `number_list` reads an attribute of this form."""
    return isinstance(value, DenseArrayBase | DenseIntOrFPElementsAttr | ArrayAttr)


def is_splat(constant: DenseIntOrFPElementsAttr[Any]) -> bool:
    """Return whether all elements of a constant are bitwise equal.

    xDSL's `is_splat` unpacks every element, treats -0.0 as equal to 0.0 and every NaN as different.
    """
    data = constant.data.data
    size: int = constant.get_element_type().compile_time_size
    # Every element equals the next one. This neither copies nor looks at single bytes.
    return len(data) > 0 and data.startswith(memoryview(data)[: len(data) - size], size)


def operation_name(op: Operation) -> str:
    """Return the name of an operation, also if it is unregistered."""
    if isinstance(op, UnregisteredOp):
        return op.op_name.data
    return op.name


def required(op: Operation, name: str) -> Attribute:
    """Return an attribute or property. Raises OperationError if it is absent."""
    found = attribute(op, name)
    if found is None:
        raise OperationError(op, f"needs the attribute '{name}'")
    return found


def flag(op: Operation, name: str) -> bool:
    """Return whether a unit or boolean attribute is set."""
    found = attribute(op, name)
    if isinstance(found, IntegerAttr):
        return bool(found.value.data)
    return found is not None


def constant_integer(value: SSAValue) -> int | None:
    """Return the integer that an `arith.constant` defines; `None` for any other value."""
    if isinstance(value, OpResult) and value.op.name == "arith.constant":
        number = attribute(value.op, "value")
        if isinstance(number, IntegerAttr):
            return number.value.data
    return None


def integer(op: Operation, name: str, default: int | None = None) -> int:
    """Return the value of an integer attribute, or `default` if the attribute is absent.

    Raises OperationError if it is not an integer, or absent without a default.
    """
    found = attribute(op, name)
    if found is None and default is not None:
        return default
    if not isinstance(found, IntegerAttr):
        raise OperationError(op, f"needs an integer attribute '{name}', got {found}")
    return found.value.data


def optional_integer(op: Operation, name: str) -> int | None:
    """The value of an integer attribute, `None` without one."""
    found = attribute(op, name)
    return found.value.data if isinstance(found, IntegerAttr) else None


def optional_integers(op: Operation, name: str) -> tuple[int, ...] | None:
    """The values of a dense integer array attribute, `None` without one."""
    found = attribute(op, name)
    is_dense = isinstance(found, DenseArrayBase)
    return number_list(cast(Attribute, found)) if is_dense else None


def text(op: Operation, name: str, default: str = "") -> str:
    """Return a string attribute, or the case name of an enum attribute, or `default`."""
    found = attribute(op, name)
    if found is None:
        return default
    data = getattr(found, "data", None)
    return str(data) if data is not None else str(found)


def integers(op: Operation, name: str) -> tuple[int, ...]:
    """Return the integers of a list attribute of any form; `()` if it is absent.

    Raises OperationError if the attribute is not a list of integers.
    """
    return _integers(op, name, attribute(op, name))


def _integers(op: Operation, name: str, value: Attribute | None) -> tuple[int, ...]:
    if value is not None and not is_number_list(value):
        raise OperationError(op, f"attribute '{name}': {value} is not a list of integers")
    return number_list(value)


def integer_lists(op: Operation, name: str) -> tuple[tuple[int, ...], ...]:
    """Return the integers of a nested list, such as a reassociation or `#shard<axisarray...>`.

    Returns `()` if the attribute is absent. Raises OperationError if it is not a list of lists.
    """
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
            lists.append(_integers(op, name, entry))
        else:
            lists.append(tuple(int(number) for number in cast(Sequence[int], entry)))
    return tuple(lists)


def operand_groups(op: Operation, operands: Sequence[T]) -> list[Sequence[T]]:
    """Split the operands by `operandSegmentSizes`; return one group if there is no such attribute.

    Raises OperationError if `operandSegmentSizes` is not a list of integers.
    """
    sizes = integers(op, "operandSegmentSizes")
    if not sizes:
        return [operands]
    groups: list[Sequence[T]] = []
    start = 0
    for size in sizes:
        groups.append(operands[start : start + size])
        start += size
    return groups


def mixed(op: Operation, name: str, dynamic: Sequence[Any]) -> tuple[int, ...]:
    """Return the static list `name` with the values of `dynamic` in place of dynamic entries.

    Example: `[1, %v, 3]`.

    Raises OperationError if there are more dynamic entries than values, or no list of integers.
    """
    numbers = integers(op, name)
    if numbers.count(DYNAMIC_INDEX) > len(dynamic):
        raise OperationError(op, f"has more dynamic entries in '{name}' than operands")
    return mixed_list(numbers, map(int, dynamic))


def symbol(op: Operation, name: str) -> str:
    """Return the symbol that an attribute refers to; nested references are joined by `::`.

    Raises OperationError if the attribute is absent or not a symbol.
    """
    found = attribute(op, name)
    if isinstance(found, SymbolRefAttr):
        return symbol_text(found)
    if isinstance(found, StringAttr):
        return found.data
    raise OperationError(op, f"needs a symbol '{name}', got {found}")


def symbol_text(reference: SymbolRefAttr) -> str:
    """Return `a::b` for the reference `@a::@b`."""
    return "::".join(each.data for each in (reference.root_reference, *reference.nested_references))


def kept_dimensions(sizes: Sequence[int], slice_shape: Sequence[int]) -> tuple[int, ...] | None:
    """Return the source dimension of each dimension of a rank-reduced slice.

    `sizes` is the slice's size per source dimension, `slice_shape` the shape of its type.
    Dimensions of size 1 may be dropped, trailing ones first where there is a choice, as in MLIR's
    `computeRankReductionMask`. Dynamic sizes are negative in both lists. Returns `None` if no such
    slice has this shape.
    """
    kept: list[int] = []
    for dimension, size in enumerate(sizes):
        wanted = slice_shape[len(kept)] if len(kept) < len(slice_shape) else None
        if wanted is not None and (size == wanted or (size < 0 and wanted < 0)):
            kept.append(dimension)
        elif size != 1:
            return None
    return tuple(kept) if len(kept) == len(slice_shape) else None

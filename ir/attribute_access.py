"""Access to attributes and operand groups of operations whose classes may be anybody's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from xdsl.ir import Attribute, Block, Operation, OpResult, ParametrizedAttribute, SSAValue

from .diagnostics import OperationError
from .index_lists import mixed_list

T = TypeVar("T")

_SHAPED = (TensorType, UnrankedTensorType, VectorType, MemRefType, UnrankedMemRefType)


def element_type(value_type: Attribute) -> Attribute:
    """The type of a tensor's, vector's or memref's elements; any other type itself.

    A complex number is a scalar here, though xDSL's class for its type has elements.
    """
    if isinstance(value_type, _SHAPED):
        return cast("TensorType[Attribute]", value_type).element_type
    return value_type


def with_element(value_type: Attribute, element: Attribute) -> Attribute:
    """`element`, or a tensor or vector of it with the shape of `value_type`."""
    if isinstance(value_type, TensorType):
        return TensorType(element, value_type.get_shape(), value_type.encoding)
    if isinstance(value_type, VectorType):
        return VectorType(element, value_type.shape, value_type.scalable_dims)
    if isinstance(value_type, UnrankedTensorType):
        return UnrankedTensorType(element)
    return element


def attribute(operation: Operation, name: str) -> Attribute | None:
    """A property or, from sources that do not tell them apart, a discardable attribute."""
    return operation.get_attr_or_prop(name)


def block_of(operation: Operation) -> Block:
    """The block that an operation stands in. Raises ValueError for one that stands in none."""
    if operation.parent is None:
        raise ValueError(f"'{operation.name}' stands in no block")
    return operation.parent


def symbol_name(operation: Operation) -> str | None:
    """The name of the symbol that an operation defines, if it defines one."""
    name = attribute(operation, "sym_name")
    return name.data if isinstance(name, StringAttr) else None


def boundary_attributes(function: Operation, group: str, index: int) -> Mapping[str, Attribute]:
    """What a function says of an argument (`arg_attrs`) or a result (`res_attrs`)."""
    found = attribute(function, group)
    entries = cast("ArrayAttr[DictionaryAttr]", found).data if isinstance(found, ArrayAttr) else ()
    return entries[index].data if index < len(entries) else {}


def number_list(value: Attribute | None) -> tuple[int, ...]:
    """The numbers of `array<i64: ...>`, `dense<...>` or `[1 : i64, ...]`; else empty."""
    if isinstance(value, DenseArrayBase | DenseIntOrFPElementsAttr):
        return tuple(map(int, value.get_values()))
    if isinstance(value, ArrayAttr):
        entries = cast("ArrayAttr[Attribute]", value).data
        return tuple(entry.value.data for entry in entries if isinstance(entry, IntegerAttr))
    return ()


def is_number_list(value: Attribute | None) -> bool:
    """Whether an attribute is of a form that `number_list` reads."""
    return isinstance(value, DenseArrayBase | DenseIntOrFPElementsAttr | ArrayAttr)


def is_splat(constant: DenseIntOrFPElementsAttr[Any]) -> bool:
    """Whether all elements of a constant are the same, bit by bit.

    xDSL's own method unpacks every element, takes -0.0 for 0.0, and no NaN for another.
    """
    data = memoryview(constant.data.data)
    size: int = constant.get_element_type().compile_time_size
    return len(data) > 0 and data[size:] == data[: len(data) - size]


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


def constant_integer(value: SSAValue) -> int | None:
    """The number that a value is by an `arith.constant`, else `None`."""
    if isinstance(value, OpResult) and value.op.name == "arith.constant":
        number = attribute(value.op, "value")
        if isinstance(number, IntegerAttr):
            return number.value.data
    return None


def integer(op: Operation, name: str, default: int | None = None) -> int:
    """An integer attribute."""
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
    """A string attribute, or the case name of an enumeration attribute."""
    found = attribute(op, name)
    if found is None:
        return default
    data = getattr(found, "data", None)
    return str(data) if data is not None else str(found)


def integers(op: Operation, name: str) -> tuple[int, ...]:
    """The integers of a list attribute of any form; none if it is absent."""
    return _integers(op, name, attribute(op, name))


def _integers(op: Operation, name: str, value: Attribute | None) -> tuple[int, ...]:
    if value is not None and not is_number_list(value):
        raise OperationError(op, f"attribute '{name}': {value} is not a list of integers")
    return number_list(value)


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
            lists.append(_integers(op, name, entry))
        else:
            lists.append(tuple(int(number) for number in cast(Sequence[int], entry)))
    return tuple(lists)


def operand_groups(op: Operation, operands: Sequence[T]) -> list[Sequence[T]]:
    """The operands cut by `operandSegmentSizes`; one group if there is no such attribute."""
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
    """A list like `[1, %v, 3]`: the static numbers with the operands' in the holes."""
    numbers = integers(op, name)
    if numbers.count(DYNAMIC_INDEX) > len(dynamic):
        raise OperationError(op, f"has more holes in '{name}' than operands to fill them")
    return mixed_list(numbers, map(int, dynamic))


def symbol(op: Operation, name: str) -> str:
    """The symbol that an attribute refers to; nested references are joined by `::`."""
    found = attribute(op, name)
    if isinstance(found, SymbolRefAttr):
        nested = [part.data for part in found.nested_references.data]
        return "::".join([found.root_reference.data, *nested])
    if isinstance(found, StringAttr):
        return found.data
    raise OperationError(op, f"needs a symbol '{name}', got {found}")


def kept_dimensions(sizes: Sequence[int], slice_shape: Sequence[int]) -> tuple[int, ...] | None:
    """For each dimension of a slice's type, the dimension of the tensor that it is a part of.

    Dimensions of size 1 may be dropped, the last ones first where several could be, as in MLIR's
    `computeRankReductionMask`. Sizes known at run time are negative on both sides. `None` where
    the shape is not that of such a slice.
    """
    kept: list[int] = []
    for dimension, size in enumerate(sizes):
        wanted = slice_shape[len(kept)] if len(kept) < len(slice_shape) else None
        if wanted is not None and (size == wanted or (size < 0 and wanted < 0)):
            kept.append(dimension)
        elif size != 1:
            return None
    return tuple(kept) if len(kept) == len(slice_shape) else None


def parts_of(attribute: Attribute) -> Iterable[Attribute]:
    """The attributes and types that one directly consists of."""
    if isinstance(attribute, ArrayAttr):
        return cast("ArrayAttr[Attribute]", attribute).data
    if isinstance(attribute, DictionaryAttr):
        return attribute.data.values()
    return attribute.parameters if isinstance(attribute, ParametrizedAttribute) else ()


def nested_attributes(attribute: Attribute, seen: set[int]) -> Iterator[Attribute]:
    """An attribute and all inside it but those in `seen`, which grows: each object once, by its
    `id`. Most are the very same, and comparing them in substance is dear.
    """
    stack = [attribute]
    while stack:
        one = stack.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        stack += parts_of(one)

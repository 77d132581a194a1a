"""Small questions to operations, attributes and types whose classes may be anybody's."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    MemRefType,
    StringAttr,
    TensorType,
    UnrankedMemRefType,
    UnrankedTensorType,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation

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


def integers(value: Attribute | None) -> tuple[int, ...]:
    """The numbers in `array<i64: ...>` or `dense<...>`; empty for anything else."""
    if isinstance(value, DenseArrayBase | DenseIntOrFPElementsAttr):
        return tuple(int(number) for number in value.get_values())
    return ()


def is_splat(constant: DenseIntOrFPElementsAttr[Any]) -> bool:
    """Whether all elements of a constant are the same, bit by bit.

    xDSL's own method unpacks every element, takes -0.0 for 0.0, and no NaN for another.
    """
    data = memoryview(constant.data.data)
    size: int = constant.get_element_type().compile_time_size
    return len(data) > 0 and data[size:] == data[: len(data) - size]

"""Small questions to operations, attributes and types whose classes may be anybody's."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    TensorType,
    UnrankedTensorType,
    VectorType,
)
from xdsl.ir import Attribute, Operation


def element_type(value_type: Attribute) -> Attribute:
    """The type of a tensor's or memref's elements, or the type itself for a scalar."""
    found = getattr(value_type, "element_type", None)
    return found if isinstance(found, Attribute) else value_type


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


def integers(value: Attribute | None) -> tuple[int, ...]:
    """The numbers in `array<i64: ...>` or `dense<...>`; empty for anything else."""
    if isinstance(value, DenseArrayBase | DenseIntOrFPElementsAttr):
        return tuple(int(number) for number in value.get_values())
    return ()

"""Tensor types in the terms of the tiling algebra, which knows no IR."""

from __future__ import annotations

from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ComplexType,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute

from ..tiling.element_types import ElementType, element_type

Shape = tuple[int | None, ...]


def shape_of(tensor: TensorType[Attribute]) -> Shape:
    """The sizes of a tensor's dimensions, `None` where dynamic."""
    return tuple(None if size == DYNAMIC_INDEX else size for size in tensor.get_shape())


@lru_cache(maxsize=256)
def element_named(type_: Attribute) -> ElementType:
    """A scalar type as the algebra names it. Raises `ValueError` for other types."""
    if isinstance(type_, ComplexType):
        return element_type(f"complex<{element_named(type_.parameters[0])}>")
    if isinstance(type_, IntegerType):
        return element_type(str(cast(Attribute, type_)))
    return element_type(type_.name)


def element_of(tensor: TensorType[Attribute]) -> ElementType:
    """The element type of a tensor. Raises `ValueError` if it has no known size."""
    return element_named(tensor.element_type)


def tensor_of(element: Attribute, shape: Shape) -> TensorType[Attribute]:
    """A tensor type of a shape whose dynamic sizes are `None`."""
    return TensorType(element, [DYNAMIC_INDEX if size is None else size for size in shape])

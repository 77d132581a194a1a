"""Tensor types as the sharding and tiling algebras see them, and checks of shapes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ComplexType,
    FixedBitwidthType,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..sharding.cost import known_extents
from ..tiling.element_types import ElementType, element_type
from .diagnostics import OperationError

Shape = tuple[int | None, ...]


def ranked(value: SSAValue) -> TensorType[Attribute] | None:
    """The type of a ranked tensor, `None` for a value of another type."""
    value_type = value.type
    return cast("TensorType[Attribute]", value_type) if isinstance(value_type, TensorType) else None


def require_ranked(operation: Operation, type_: Attribute) -> TensorType[Attribute]:
    """A ranked tensor type. Raises `OperationError` at the operation for another type."""
    if not isinstance(type_, TensorType):
        raise OperationError(operation, f"needs a ranked tensor, found {type_}")
    return cast("TensorType[Attribute]", type_)


def shape_of(tensor: TensorType[Attribute]) -> Shape:
    """The sizes of a tensor's dimensions, `None` where dynamic."""
    return tuple(None if size == DYNAMIC_INDEX else size for size in tensor.get_shape())


def tensor_shape(value: SSAValue) -> Shape | None:
    """The sizes of a ranked tensor's dimensions, `None` for a value of another type."""
    tensor = ranked(value)
    return None if tensor is None else shape_of(tensor)


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


def element_bytes(value: SSAValue) -> int:
    """Bytes per element of a tensor in memory; of a type without a width, those of an index."""
    tensor = ranked(value)
    element = None if tensor is None else tensor.element_type
    return element.size if isinstance(element, FixedBitwidthType) else 8


def tensor_bytes(value: SSAValue) -> int:
    """The size of a whole tensor, with a stand-in for dynamic dimensions."""
    return element_bytes(value) * prod(known_extents(tensor_shape(value) or ()))


def integer_width(scalar: Attribute) -> int:
    """The bits of an integer type; those of an index for other types."""
    return scalar.bitwidth if isinstance(scalar, IntegerType) else 64


StaticShape = tuple[int, ...]


def ranked_type(value: SSAValue) -> TensorType[Attribute]:
    """The type of a ranked tensor. Raises `VerifyException` for a value of another type."""
    value_type = value.type
    if not isinstance(value_type, TensorType):
        raise VerifyException(f"expected a ranked tensor, but got '{value_type}'")
    return cast("TensorType[Attribute]", value_type)


def static_shape(value: SSAValue) -> StaticShape:
    """The sizes of a ranked tensor. Raises `VerifyException` for a value of another type."""
    return tuple(ranked_type(value).get_shape())


def static_shape_or_none(value: SSAValue) -> StaticShape | None:
    """The sizes of a ranked tensor, `None` if one is dynamic, or for another value."""
    shape = tensor_shape(value)
    return None if shape is None or None in shape else static_shape(value)


def sizes_agree(left: int, right: int) -> bool:
    """Whether two sizes may be one: an open one agrees with all."""
    return left == right or left < 0 or right < 0


def shapes_agree(left: Sequence[int], right: Sequence[int]) -> bool:
    """Whether two shapes may be one."""
    return len(left) == len(right) and all(map(sizes_agree, left, right))


def shape_text(shape: Sequence[int], separator: str = ", ") -> str:
    """`4, ?`."""
    return separator.join("?" if size < 0 else str(size) for size in shape)

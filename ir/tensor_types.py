"""Tensor types as plain values for the sharding and tiling code, and checks of shapes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Self, cast

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


class VerifiableTensorEncoding(ABC):
    """An encoding that not every tensor can have; the parser verifies it, as in MLIR."""

    @abstractmethod
    def verify_encoding(self, tensor: TensorType[Attribute]) -> None:
        """Check the shape and the elements of a tensor. Raises VerifyException."""


def ranked(value: SSAValue) -> TensorType[Attribute] | None:
    """Return the type of a ranked tensor; `None` for a value of another type."""
    value_type = value.type
    return cast("TensorType[Attribute]", value_type) if isinstance(value_type, TensorType) else None


def require_ranked(operation: Operation, type_: Attribute) -> TensorType[Attribute]:
    """Return `type_` as a ranked tensor type. Raises OperationError for another type."""
    if not isinstance(type_, TensorType):
        raise OperationError(operation, f"needs a ranked tensor, found {type_}")
    return cast("TensorType[Attribute]", type_)


def shape_of(tensor: TensorType[Attribute]) -> Shape:
    """Return the dimension sizes of a tensor; `None` for dynamic ones."""
    return tuple(None if size == DYNAMIC_INDEX else size for size in tensor.get_shape())


def tensor_shape(value: SSAValue) -> Shape | None:
    """Return the dimension sizes of a ranked tensor; `None` for a value of another type."""
    tensor = ranked(value)
    return None if tensor is None else shape_of(tensor)


@lru_cache(maxsize=256)
def element_named(type_: Attribute) -> ElementType:
    """Convert a scalar type to an `ElementType`. Raises ValueError for other types."""
    if isinstance(type_, ComplexType):
        return element_type(f"complex<{element_named(type_.parameters[0])}>")
    if isinstance(type_, IntegerType):
        return element_type(str(cast(Attribute, type_)))
    return element_type(type_.name)


def element_of(tensor: TensorType[Attribute]) -> ElementType:
    """Return the element type of a tensor. Raises ValueError if its size is not known."""
    return element_named(tensor.element_type)


def element_bytes(value: SSAValue) -> int:
    """Return the bytes per element of a tensor; 8, as for index, for types without a width."""
    tensor = ranked(value)
    element = None if tensor is None else tensor.element_type
    return element.size if isinstance(element, FixedBitwidthType) else 8


def tensor_bytes(value: SSAValue) -> int:
    """Return the bytes of a whole tensor, with a default size for dynamic dimensions."""
    return element_bytes(value) * prod(known_extents(tensor_shape(value) or ()))


def integer_width(scalar: Attribute) -> int:
    """The bits of an integer type; those of an index for other types."""
    return scalar.bitwidth if isinstance(scalar, IntegerType) else 64


StaticShape = tuple[int, ...]


def verify_ranked_tensor(value: SSAValue) -> TensorType[Attribute]:
    """Return the type of a ranked tensor. Raises VerifyException for a value of another type."""
    value_type = value.type
    if not isinstance(value_type, TensorType):
        raise VerifyException(f"expected a ranked tensor, but got '{value_type}'")
    return cast("TensorType[Attribute]", value_type)


def static_shape(value: SSAValue) -> StaticShape:
    """Return the dimension sizes of a ranked tensor; dynamic ones are negative.

    Raises VerifyException for a value of another type.
    """
    return tuple(verify_ranked_tensor(value).get_shape())


def static_shape_or_none(value: SSAValue) -> StaticShape | None:
    """The sizes of a ranked tensor, `None` if one is dynamic, or for another value."""
    shape = tensor_shape(value)
    return None if shape is None or None in shape else static_shape(value)


def part_at(parts: Sequence[SSAValue], dimension: int, index: int) -> tuple[SSAValue, int] | None:
    """Return which of several joined tensors an index along a dimension is in, and the index there.

    Return `None` if it is in none of them, or behind one of dynamic size.
    """
    for part in parts:
        size = static_shape(part)[dimension]
        if size < 0:
            return None
        if index < size:
            return part, index
        index -= size
    return None


class BoundedSize(int):
    """A dynamic size that is at most `bound`."""

    bound: int

    def __new__(cls, bound: int) -> Self:
        """Return a negative number, as for each dynamic size."""
        size = super().__new__(cls, DYNAMIC_INDEX)
        size.bound = bound
        return size


def map_size(size: int, compute: Callable[[int], int]) -> int:
    """Compute a size from another one, or the bound of a dynamic one from its bound."""
    if isinstance(size, BoundedSize):
        return BoundedSize(compute(size.bound))
    return DYNAMIC_INDEX if size < 0 else compute(size)


def sizes_agree(left: int, right: int) -> bool:
    """Return whether sizes can be equal; a dynamic (negative) one is any number up to its bound."""
    if left >= 0 and right >= 0:
        return left == right
    dynamic, other = (left, right) if left < 0 else (right, left)
    return not isinstance(dynamic, BoundedSize) or other <= dynamic.bound


def shapes_agree(left: Sequence[int], right: Sequence[int]) -> bool:
    """Return whether two shapes are compatible."""
    return len(left) == len(right) and all(map(sizes_agree, left, right))


def element_count(shape: Sequence[int]) -> int:
    """Return the number of elements of a shape; -1 if a size is dynamic (negative)."""
    return -1 if min(shape, default=0) < 0 else prod(shape)


def shape_text(shape: Sequence[int], separator: str = ", ") -> str:
    """Return a shape as text, such as `4, ?`."""
    return separator.join("?" if size < 0 else str(size) for size in shape)

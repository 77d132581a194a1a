"""Types of one device's shards."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, SSAValue

from ...sharding.local_shape import local_shape
from ...sharding.sharding import Sharding

Shape = tuple[int | None, ...]


def ranked(value: SSAValue) -> TensorType[Attribute] | None:
    """The type of a ranked tensor, `None` for a value of another type."""
    value_type = value.type
    return value_type if isinstance(value_type, TensorType) else None  # pyright: ignore[reportUnknownVariableType]


def shape_of_type(tensor_type: TensorType[Attribute]) -> Shape:
    """The shape, `None` for dimensions known only at run time."""
    return tuple(None if n == DYNAMIC_INDEX else n for n in tensor_type.get_shape())


def with_shape(
    tensor_type: TensorType[Attribute], shape: Sequence[int | None]
) -> TensorType[Attribute]:
    """The type with another shape."""
    extents = [DYNAMIC_INDEX if size is None else size for size in shape]
    return TensorType(tensor_type.element_type, extents, tensor_type.encoding)


@lru_cache(maxsize=4096)
def local_type(
    tensor_type: TensorType[Attribute], sharding: Sharding | None
) -> TensorType[Attribute]:
    """The type of every shard; dimensions whose shards differ in size are dynamic.

    `None` stands for a tensor that each process holds whole.
    """
    if sharding is None:
        return tensor_type
    return with_shape(tensor_type, local_shape(shape_of_type(tensor_type), sharding))

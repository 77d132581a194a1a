"""Compute the types of shards."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, SSAValue

from ....ir.tensor_types import ranked, shape_of
from ....sharding.local_shape import local_shape
from ....sharding.sharding import Sharding


def tensor_type_of(value: SSAValue) -> TensorType[Attribute]:
    """Return the type of a ranked tensor.

    Raises TypeError for other values, which a faulty rule may have given dimensions.
    """
    found = ranked(value)
    if found is None:
        raise TypeError(f"expected a ranked tensor, found {value.type}")
    return found


def with_shape(
    tensor_type: TensorType[Attribute], shape: Sequence[int | None]
) -> TensorType[Attribute]:
    """Return the tensor type with another shape; `None` is a dynamic size."""
    extents = [DYNAMIC_INDEX if size is None else size for size in shape]
    return TensorType(tensor_type.element_type, extents, tensor_type.encoding)


def local_type_of(whole: Attribute, sharding: Sharding | None) -> Attribute:
    """Return the local type of a tensor; other types do not change."""
    if not isinstance(whole, TensorType):
        return whole
    return local_type(cast("TensorType[Attribute]", whole), sharding)


@lru_cache(maxsize=4096)
def local_type(
    tensor_type: TensorType[Attribute], sharding: Sharding | None
) -> TensorType[Attribute]:
    """Return the type of every shard; dimensions with shards of different sizes are dynamic.

    With `None` as sharding, the tensor is replicated.
    """
    if sharding is None:
        return tensor_type
    return with_shape(tensor_type, local_shape(shape_of(tensor_type), sharding))

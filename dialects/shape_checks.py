"""Shapes as types state them, for verifiers. A size that a type leaves open is negative.

`tensor_shapes.py` has shapes as passes want them, with `None` for such a size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

Shape = tuple[int, ...]


def ranked_type(value: SSAValue) -> TensorType[Attribute]:
    """The type of a ranked tensor. Raises `VerifyException` for a value of another type."""
    value_type = value.type
    if not isinstance(value_type, TensorType):
        raise VerifyException(f"expected a ranked tensor, but got '{value_type}'")
    return cast("TensorType[Attribute]", value_type)


def shape_of(value: SSAValue) -> Shape:
    """The sizes of a ranked tensor. Raises `VerifyException` for a value of another type."""
    return tuple(ranked_type(value).get_shape())


def sizes_agree(left: int, right: int) -> bool:
    """Whether two sizes may be one: an open one agrees with all."""
    return left == right or left < 0 or right < 0


def shapes_agree(left: Sequence[int], right: Sequence[int]) -> bool:
    """Whether two shapes may be one."""
    return len(left) == len(right) and all(map(sizes_agree, left, right))


def shape_text(shape: Sequence[int], separator: str = ", ") -> str:
    """`4, ?`."""
    return separator.join("?" if size < 0 else str(size) for size in shape)

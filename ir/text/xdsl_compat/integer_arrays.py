"""Short arrays of integers, of which a program has many but few different ones: segment sizes.

xDSL converts, packs and verifies each one that it makes, and unpacks each one that it reads. Other
passes look for xDSL's `DenseArrayBase`, so the class is kept, and its methods are replaced. Equal
short arrays become one object, which later steps recognize by its identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, Signedness
from xdsl.ir import Attribute

SHORT_BYTES = 128
"""The size of the longest arrays that are kept."""

_class: Any = DenseArrayBase
_make = _class.from_list
_read = _class.get_values
_kept: Any = lru_cache(maxsize=4096)(_make)


def _from_list(data_type: Attribute, data: Sequence[Any]) -> Any:
    if isinstance(data_type, IntegerType) and len(data) <= SHORT_BYTES // 8:
        return _kept(data_type, tuple(data))
    return _make(data_type, data)


def _get_values(array: Any) -> tuple[Any, ...]:
    type_: Attribute = array.elt_type
    data: bytes = array.data.data
    if not isinstance(type_, IntegerType) or len(data) > SHORT_BYTES:
        return _read(array)
    element = cast(IntegerType[int], type_)
    return _unpacked(element.bitwidth, element.signedness.data is Signedness.UNSIGNED, data)


@lru_cache(maxsize=4096)
def _unpacked(width: int, is_unsigned: bool, data: bytes) -> tuple[int, ...]:
    element = IntegerType(width, Signedness.UNSIGNED if is_unsigned else Signedness.SIGNLESS)
    return element.unpack(data, len(data) // element.size)


def share_integer_arrays() -> None:
    """Let `DenseArrayBase` make and read equal short arrays of integers once."""
    _class.from_list = staticmethod(_from_list)
    _class.get_values = _get_values

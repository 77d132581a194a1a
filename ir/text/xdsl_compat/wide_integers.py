"""Dense constants of integers above 64 bits, whose elements xDSL cannot pack into bytes.

xDSL packs elements with `struct`, which has no such integers. Other passes look for xDSL's
`IntegerType`, so the class is kept, and its methods are replaced. They take whole bytes for each
element, the lowest first, as MLIR does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import IntegerType, Signedness

STRUCT_BITS = 64
"""The widest integers that `struct` packs."""


def _size(integer: IntegerType) -> int:
    return (integer.bitwidth + 7) // 8


def _is_signed(integer: IntegerType) -> bool:
    return integer.signedness.data != Signedness.UNSIGNED


def _iter_unpack(integer: IntegerType, buffer: Any) -> Iterator[int]:
    size, data = _size(integer), bytes(buffer)
    if len(data) % size:
        raise ValueError(f"{len(data)} bytes are not whole elements of {size} bytes")
    for start in range(0, len(data), size):
        yield int.from_bytes(data[start : start + size], "little", signed=_is_signed(integer))


def _unpack(integer: IntegerType, buffer: Any, num: int) -> tuple[int, ...]:
    found = tuple(_iter_unpack(integer, buffer))
    if len(found) != num:
        raise ValueError(f"found {len(found)} elements, expected {num}")
    return found


def _pack(integer: IntegerType, values: Sequence[int]) -> bytes:
    """Return integers as bytes. Raises OverflowError if one does not fit."""
    size, signed = _size(integer), _is_signed(integer)
    return b"".join(value.to_bytes(size, "little", signed=signed) for value in values)


def _pack_into(integer: IntegerType, buffer: Any, offset: int, value: int) -> None:
    buffer[offset : offset + _size(integer)] = _pack(integer, [value])


def pack_wide_integers() -> None:
    """Let `IntegerType` pack integers above 64 bits, too."""
    for wide in (_iter_unpack, _unpack, _pack, _pack_into):
        name = wide.__name__.removeprefix("_")
        setattr(IntegerType, name, _chosen_by_width(getattr(IntegerType, name), wide))
    narrow_size: Any = IntegerType.compile_time_size
    size = _chosen_by_width(narrow_size.fget, _size)
    setattr(IntegerType, "compile_time_size", property(size))  # noqa: B010


def _chosen_by_width(narrow: Any, wide: Any) -> Any:
    def chosen(integer: IntegerType, *arguments: Any) -> Any:
        return (wide if integer.bitwidth > STRUCT_BITS else narrow)(integer, *arguments)

    return chosen

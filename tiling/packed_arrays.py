"""Convert NumPy arrays to packed arrays and to bytes.

This is the only module that permutes elements according to a `PackedLayout`: the interpreter reads
and writes buffers with it, and constants are packed with it at compile time. Unlike the rest of
this folder it needs NumPy, so import it only where there is data.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from .element_types import ElementKind, ElementType
from .packed_layouts import PackedLayout
from .storage_sizes import static_tiles

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]


def pack(array: Array, layout: PackedLayout, padding: Any = 0) -> Array:
    """Pack a tensor: outer dimensions first, then tiles, then swizzle factors in memory order.

    `padding` fills the elements of edge tiles that lie beyond the tensor.
    """
    layout = static_tiles(layout)
    full, split, outer_axes, tile_axes = _split_shape(array.shape, layout)
    if tuple(full) != array.shape:
        padded: Array = np.full(full, padding, array.dtype)
        padded[tuple(slice(extent) for extent in array.shape)] = array
        array = padded
    packed = array.reshape(split).transpose([*outer_axes, *tile_axes])
    if layout.swizzle is None:
        return packed
    outer = packed.shape[: len(outer_axes)]
    order = [len(outer) + position for position in layout.swizzle.permutation]
    return packed.reshape(*outer, *layout.swizzle.sizes()).transpose([*range(len(outer)), *order])


def unpack(packed: Array, layout: PackedLayout, shape: Sequence[int]) -> Array:
    """Return the tensor of `shape` that `pack` packed. Raises ValueError if the sizes disagree."""
    layout = static_tiles(layout)
    full, split, outer_axes, tile_axes = _split_shape(tuple(shape), layout)
    rank = len(outer_axes)
    if layout.swizzle is not None:
        inverse = np.argsort(layout.swizzle.permutation)
        packed = packed.transpose([*range(rank), *(rank + int(i) for i in inverse)])
    order = [*outer_axes, *tile_axes]
    if packed.size != prod(split):
        raise ValueError(
            f"the packed array has {packed.size} elements, but shape {tuple(shape)} "
            f"needs {prod(split)}"
        )
    tiles = packed.reshape([split[axis] for axis in order])
    whole = tiles.transpose([int(axis) for axis in np.argsort(order)]).reshape(full)
    return whole[tuple(slice(extent) for extent in shape)]


def packed_extents(shape: Sequence[int], layout: PackedLayout) -> tuple[int, ...]:
    """Return the shape of the array that `pack` returns for a tensor of a shape."""
    layout = static_tiles(layout)
    _, split, outer_axes, tile_axes = _split_shape(tuple(shape), layout)
    outer = [split[axis] for axis in outer_axes]
    if layout.swizzle is None:
        return (*outer, *(split[axis] for axis in tile_axes))
    return (*outer, *layout.swizzle.memory_sizes())


def _split_shape(
    shape: Sequence[int], layout: PackedLayout
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Return (padded shape, shape with tiled dimensions split, outer axes, tile axes)."""
    full: list[int] = []
    split: list[int] = []
    positions: list[int] = []
    tile_positions: dict[int, int] = {}
    for dimension, extent in enumerate(shape):
        positions.append(len(split))
        if dimension not in layout.inner_positions:
            full.append(extent)
            split.append(extent)
            continue
        tile = layout.inner_tiles[layout.inner_positions.index(dimension)]
        tile_positions[dimension] = len(split) + 1
        count = -(-extent // tile)
        full.append(count * tile)
        split += [count, tile]
    missing = [p for p in layout.inner_positions if p not in tile_positions]
    if missing:
        raise ValueError(f"the layout tiles dimension {missing[0]} of a shape of rank {len(shape)}")
    outer = [positions[dimension] for dimension in layout.outer_permutation or range(len(shape))]
    return full, split, outer, [tile_positions[position] for position in layout.inner_positions]


# --------------------------------------------------------------------------------------------
# Elements as bytes


def to_bytes(array: Array, element: ElementType, storage_bits: int | None = None) -> Bytes:
    """Return the stored bytes of an array, row-major and little-endian.

    The last byte may have unused bits. `array` has the interpreter's dtypes: an integer is held in
    the smallest native dtype. `storage_bits` defaults to `element.storage_bits`; only elements that
    are packed bit by bit need another value.
    """
    bits = element.storage_bits if storage_bits is None else storage_bits
    flat = np.ascontiguousarray(array).reshape(-1)
    if bits < 8:
        raw = flat.view(np.uint8) if flat.dtype.itemsize == 1 else flat.astype(np.uint8)
        per_byte = 8 // bits
        fields = np.zeros((-(-raw.size // per_byte), per_byte), np.uint8)
        fields.reshape(-1)[: raw.size] = raw & np.uint8((1 << bits) - 1)
        shifts = (np.arange(per_byte) * bits).astype(np.uint8)
        return np.bitwise_or.reduce(fields << shifts, axis=1)
    if flat.dtype.itemsize * 8 != bits:
        # A boolean, or an integer whose container is not as wide as its storage.
        flat = flat.astype(np.dtype(f"i{bits // 8}"))
    return flat.view(np.uint8)


def from_bytes(
    data: Bytes,
    element: ElementType,
    dtype: np.dtype[Any],
    count: int,
    storage_bits: int | None = None,
) -> Array:
    """Return `count` elements from the bytes of `to_bytes` as a flat array of `dtype`.

    Signless and signed integers are sign-extended from the element's width, unsigned ones, booleans
    and floats are zero-extended. Raises ValueError if there are too few bytes.
    """
    bits = element.storage_bits if storage_bits is None else storage_bits
    if -(-count * bits // 8) > data.size:
        raise ValueError(f"{count} elements of {bits} bits do not fit into {data.size} bytes")
    if bits < 8:
        per_byte = 8 // bits
        shifts = (np.arange(per_byte) * bits).astype(np.uint8)
        fields = (data[: -(-count // per_byte), None] >> shifts) & np.uint8((1 << bits) - 1)
        raw = fields.reshape(-1)[:count]
        if element.is_float:
            return raw.view(dtype)
        return _integers(raw, element, dtype)
    raw_bytes = np.ascontiguousarray(data[: count * bits // 8])
    if element.bits < 8 and element.is_float:
        return (raw_bytes & np.uint8((1 << element.bits) - 1)).view(dtype)
    if element.kind in (ElementKind.FLOAT, ElementKind.COMPLEX, ElementKind.INDEX):
        return raw_bytes.view(dtype)
    return _integers(raw_bytes.view(np.dtype(f"u{bits // 8}")), element, dtype)


def _integers(raw: Array, element: ElementType, dtype: np.dtype[Any]) -> Array:
    """Extend integers from the element's width, ignoring the bits above it."""
    if element.bits == 1:
        return (raw & raw.dtype.type(1)).astype(dtype)
    native = raw.dtype.itemsize * 8
    if element.bits == native:
        return raw.view(np.dtype(f"i{native // 8}")).astype(dtype, copy=False)
    low = raw & raw.dtype.type((1 << element.bits) - 1)
    if element.kind is ElementKind.UNSIGNED:
        return low.astype(dtype)
    wide = low.astype(np.int64)
    sign = np.int64(1 << (element.bits - 1))
    return ((wide ^ sign) - sign).astype(dtype)

"""Tensors as arrays, packed arrays and bytes: what a layout does to actual numbers.

This is the only place that moves elements by a `PackedLayout`: the interpreter reads and writes
buffers with it, and constants are packed with it when a program is compiled. It needs NumPy, and
is imported by whoever has numbers in hand.
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
    """A tensor in a layout: outer dimensions, then tiles, then swizzled factors in their order.

    `padding` fills the tiles that reach beyond the tensor.
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
    factors = [factor.size for group in layout.swizzle.expand_shape for factor in group]
    order = [len(outer) + position for position in layout.swizzle.permutation]
    return packed.reshape(*outer, *factors).transpose([*range(len(outer)), *order])


def unpack(packed: Array, layout: PackedLayout, shape: Sequence[int]) -> Array:
    """The tensor of a shape that `pack` was given. Raises ValueError if it does not fit."""
    layout = static_tiles(layout)
    full, split, outer_axes, tile_axes = _split_shape(tuple(shape), layout)
    rank = len(outer_axes)
    if layout.swizzle is not None:
        inverse = np.argsort(layout.swizzle.permutation)
        packed = packed.transpose([*range(rank), *(rank + int(i) for i in inverse)])
    order = [*outer_axes, *tile_axes]
    if packed.size != prod(split):
        raise ValueError(f"{packed.size} elements are packed, but {tuple(shape)} has {prod(split)}")
    tiles = packed.reshape([split[axis] for axis in order])
    whole = tiles.transpose([int(axis) for axis in np.argsort(order)]).reshape(full)
    return whole[tuple(slice(extent) for extent in shape)]


def packed_extents(shape: Sequence[int], layout: PackedLayout) -> tuple[int, ...]:
    """The shape of what `pack` makes of a tensor of a shape."""
    layout = static_tiles(layout)
    _, split, outer_axes, tile_axes = _split_shape(tuple(shape), layout)
    outer = [split[axis] for axis in outer_axes]
    if layout.swizzle is None:
        return (*outer, *(split[axis] for axis in tile_axes))
    factors = [factor.size for group in layout.swizzle.expand_shape for factor in group]
    return (*outer, *(factors[position] for position in layout.swizzle.permutation))


def _split_shape(
    shape: Sequence[int], layout: PackedLayout
) -> tuple[list[int], list[int], list[int], list[int]]:
    """The padded shape, the same with tiled dimensions cut in two, and where the parts are."""
    full: list[int] = []
    split: list[int] = []
    place: list[int] = []
    tile_place: dict[int, int] = {}
    for dimension, extent in enumerate(shape):
        place.append(len(split))
        if dimension not in layout.inner_positions:
            full.append(extent)
            split.append(extent)
            continue
        tile = layout.inner_tiles[layout.inner_positions.index(dimension)]
        tile_place[dimension] = len(split) + 1
        count = -(-extent // tile)
        full.append(count * tile)
        split += [count, tile]
    missing = [p for p in layout.inner_positions if p not in tile_place]
    if missing:
        raise ValueError(f"the layout tiles dimension {missing[0]} of a shape of {len(shape)}")
    outer = [place[dimension] for dimension in layout.outer_permutation or range(len(shape))]
    return full, split, outer, [tile_place[position] for position in layout.inner_positions]


# --------------------------------------------------------------------------------------------
# Elements as bytes


def to_bytes(array: Array, element: ElementType, storage_bits: int | None = None) -> Bytes:
    """The bytes of a row-major array as it is stored, little-endian; the last one may have gaps.

    `array` has the interpreter's element types: an integer is held in the smallest native one.
    `storage_bits` are `element.storage_bits` but for elements that are packed bit by bit.
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
    """`count` elements out of the bytes that `to_bytes` makes, as a flat array of `dtype`.

    Integers are sign-extended from the element's width, unsigned ones and booleans are not.
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
    if element.kind in (ElementKind.FLOAT, ElementKind.COMPLEX, ElementKind.INDEX):
        return raw_bytes.view(dtype)
    return _integers(raw_bytes.view(np.dtype(f"u{bits // 8}")), element, dtype)


def _integers(raw: Array, element: ElementType, dtype: np.dtype[Any]) -> Array:
    """Bits as numbers of an element's width, whatever is in the bits above it."""
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

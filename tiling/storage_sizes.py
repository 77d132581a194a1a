"""How many bytes a tensor takes, as one formula for host and device, static and dynamic shapes.

A formula is data: the host evaluates it where sizes are known and walks it to emit arithmetic
where they are not, so the two cannot disagree. It is exact: IREE 3.13 computes too few bytes
for i1 and odd widths in packed layouts and too many for packed sub-byte elements in identity
layouts (compare `EXCEPTIONS` in `tests/unit/tiling/test_storage_sizes.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from .element_types import ElementType
from .packed_layouts import DYNAMIC_TILE, LARGEST_DYNAMIC_TILE, PackedLayout

LARGEST_SIZE = (1 << 63) - 1
"""Sizes are `index` values; a larger one is refused."""

LARGEST_VECTOR_SCALE = 16
"""AArch64 SVE vectors have at most 2048 bits, sixteen times 128: what a buffer must provide for."""


class StorageSizeError(ValueError):
    """A tensor has no storage size: it overflows, or its shape and layout disagree."""


@dataclass(frozen=True, slots=True)
class Extent:
    """One dimension in memory: `size` elements, plus `padding`, rounded up to `multiple`.

    `size` is `None` if it is known at run time only. `scalable` multiplies `multiple` by the
    machine's vector scale.
    """

    size: int | None
    padding: int = 0
    multiple: int = 1
    scalable: bool = False

    def stored(self, size: int, vector_scale: int) -> int:
        """The elements stored along this dimension if it has `size` of them."""
        multiple = self.multiple * (vector_scale if self.scalable else 1)
        return -(-(size + self.padding) // multiple) * multiple


@dataclass(frozen=True, slots=True)
class StorageFormula:
    """ceil(product of stored extents × `element_bits` / 8) bytes."""

    extents: tuple[Extent, ...]
    element_bits: int

    @property
    def is_static(self) -> bool:
        return all(extent.size is not None for extent in self.extents)

    def evaluate(
        self, dynamic_sizes: Sequence[int] = (), vector_scale: int = LARGEST_VECTOR_SCALE
    ) -> int:
        """Bytes, given the sizes of the dynamic dimensions in order.

        Raises `StorageSizeError` if there are too few or too many sizes or the result does not
        fit a signed 64-bit integer.
        """
        dynamic = sum(extent.size is None for extent in self.extents)
        if dynamic != len(dynamic_sizes):
            raise StorageSizeError(f"expected {dynamic} dynamic sizes, found {len(dynamic_sizes)}")
        rest = iter(dynamic_sizes)
        count = prod(
            extent.stored(next(rest) if extent.size is None else extent.size, vector_scale)
            for extent in self.extents
        )
        size = -(-count * self.element_bits // 8)
        if size > LARGEST_SIZE:
            raise StorageSizeError(f"a tensor of {size} bytes exceeds {LARGEST_SIZE}")
        return size


def storage_formula(
    shape: Sequence[int | None], element: ElementType, layout: PackedLayout
) -> StorageFormula:
    """What a tensor of `shape` (`None` where dynamic) takes in a packed layout.

    Tiled dimensions are rounded up to their tile; a tile known at run time only counts as the
    largest that the VMVX microkernels choose. Raises `StorageSizeError` if the layout tiles a
    dimension that the tensor has not.
    """
    extents = [Extent(size) for size in shape]
    for position, tile, scalable in zip(
        layout.inner_positions, layout.inner_tiles, layout.scalable_flags, strict=True
    ):
        if position >= len(extents):
            raise StorageSizeError(
                f"layout tiles dimension {position} of a tensor of rank {len(extents)}"
            )
        multiple = LARGEST_DYNAMIC_TILE if tile == DYNAMIC_TILE else tile
        extents[position] = Extent(shape[position], 0, multiple, scalable)
    return StorageFormula(tuple(extents), element.storage_bits)


def padded_formula(
    shape: Sequence[int | None], element: ElementType, padding: Sequence[int | None]
) -> StorageFormula:
    """What a tensor takes with `padding[i]` extra elements along dimension `i`.

    A dynamic padding (`None`) is still to be chosen and counts as none.
    """
    if len(padding) != len(shape):
        raise StorageSizeError(f"{len(padding)} paddings for a tensor of rank {len(shape)}")
    extents = tuple(Extent(size, pad or 0) for size, pad in zip(shape, padding, strict=True))
    return StorageFormula(extents, element.storage_bits)


def dense_formula(shape: Sequence[int | None], element: ElementType) -> StorageFormula:
    """What a tensor takes without any layout."""
    return StorageFormula(tuple(Extent(size) for size in shape), element.storage_bits)


def bit_packed_formula(shape: Sequence[int | None], element: ElementType) -> StorageFormula:
    """What a tensor takes if its elements, booleans too, are packed bit by bit."""
    return StorageFormula(tuple(Extent(size) for size in shape), element.bits)


def static_tiles(layout: PackedLayout) -> PackedLayout:
    """A layout with every tile a number: the largest that the machine may choose at run time.

    Buffers are sized for these, so whoever packs and whoever unpacks agree.
    """
    tiles = tuple(
        (LARGEST_DYNAMIC_TILE if tile == DYNAMIC_TILE else tile)
        * (LARGEST_VECTOR_SCALE if scalable else 1)
        for tile, scalable in zip(layout.inner_tiles, layout.scalable_flags, strict=True)
    )
    return replace(layout, inner_tiles=tiles, scalable=())

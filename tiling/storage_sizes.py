"""Storage sizes of tensors in bytes, as one formula for host and device, static and dynamic shapes.

A formula is data: it is evaluated where sizes are known and emitted as arithmetic where they are
not, so that both agree. It is exact: IREE 3.13 computes too few bytes for i1 and odd widths in
packed layouts and too many for packed sub-byte elements in identity layouts (compare `EXCEPTIONS`
in `tests/unit/tiling/test_storage_sizes.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod

from .element_types import ElementType
from .packed_layouts import DYNAMIC_TILE, MAX_DYNAMIC_TILE, PackedLayout

MAX_SIZE = (1 << 63) - 1
"""The largest storage size in bytes: sizes are `index` values."""

MAX_VECTOR_SCALE = 16
"""The largest vector scale of AArch64 SVE (2048 bits / 128 bits), which buffers must have room for.
"""


class StorageSizeError(ValueError):
    """A tensor has no storage size: the size overflows, or shape and layout disagree."""


@dataclass(frozen=True, slots=True)
class Extent:
    """One dimension in memory: `size` elements plus `padding`, rounded up to `multiple`.

    `size` is `None` if dynamic. `scalable` multiplies `multiple` by the machine's vector scale.
    """

    size: int | None
    padding: int = 0
    multiple: int = 1
    scalable: bool = False

    def stored(self, size: int, vector_scale: int) -> int:
        """Return the number of elements stored along this dimension for a given `size`."""
        multiple = self.multiple * (vector_scale if self.scalable else 1)
        return -(-(size + self.padding) // multiple) * multiple


@dataclass(frozen=True, slots=True)
class StorageFormula:
    """The storage size in bytes: ceil(product of stored extents × `element_bits` / 8)."""

    extents: tuple[Extent, ...]
    element_bits: int
    rounding_order: tuple[int, ...] = field(default=(), compare=False)
    """The order in which code rounds dimensions up, if not the order of dimensions."""
    is_constant_last: bool = field(default=False, compare=False)
    """Whether code multiplies by static factors last, not after the first dynamic size."""

    @property
    def is_static(self) -> bool:
        return all(extent.size is not None for extent in self.extents)

    def evaluate(
        self, dynamic_sizes: Sequence[int] = (), vector_scale: int = MAX_VECTOR_SCALE
    ) -> int:
        """Return the bytes, given the sizes of the dynamic dimensions in order.

        Raises `StorageSizeError` if there are too few or too many sizes, or if the result does not
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
        if size > MAX_SIZE:
            raise StorageSizeError(f"a tensor of {size} bytes exceeds {MAX_SIZE}")
        return size


def storage_formula(
    shape: Sequence[int | None], element: ElementType, layout: PackedLayout
) -> StorageFormula:
    """Return the storage formula of a tensor of `shape` (`None` where dynamic) in a packed layout.

    Tiled dimensions are rounded up to their tile. A tile chosen at run time counts as the largest
    that the VMVX microkernels choose. Raises `StorageSizeError` if the layout tiles a dimension
    that the tensor does not have.
    """
    extents = [Extent(size) for size in shape]
    for position, tile, scalable in zip(
        layout.inner_positions, layout.inner_tiles, layout.scalable_flags, strict=True
    ):
        if position >= len(extents):
            raise StorageSizeError(
                f"layout tiles dimension {position} of a tensor of rank {len(extents)}"
            )
        multiple = MAX_DYNAMIC_TILE if tile == DYNAMIC_TILE else tile
        extents[position] = Extent(shape[position], 0, multiple, scalable)
    return StorageFormula(tuple(extents), element.storage_bits, layout.inner_positions)


def padded_formula(
    shape: Sequence[int | None], element: ElementType, padding: Sequence[int | None]
) -> StorageFormula:
    """Return the storage formula of a tensor with `padding[i]` extra elements along dimension `i`.

    A dynamic padding (`None`) is not chosen yet and counts as zero. Raises `StorageSizeError` if
    the padding has another rank than the shape.
    """
    if len(padding) != len(shape):
        raise StorageSizeError(f"{len(padding)} paddings for a tensor of rank {len(shape)}")
    extents = tuple(Extent(size, pad or 0) for size, pad in zip(shape, padding, strict=True))
    return StorageFormula(extents, element.storage_bits, is_constant_last=True)


def dense_formula(shape: Sequence[int | None], element: ElementType) -> StorageFormula:
    """Return the storage formula of a tensor without a layout."""
    return StorageFormula(tuple(Extent(size) for size in shape), element.storage_bits)


def bit_packed_formula(shape: Sequence[int | None], element: ElementType) -> StorageFormula:
    """Return the storage formula of a tensor with elements (also booleans) packed bit by bit."""
    return StorageFormula(tuple(Extent(size) for size in shape), element.bits)


def static_tiles(layout: PackedLayout) -> PackedLayout:
    """Replace tiles that are chosen at run time, or scalable, by their largest sizes.

    Buffers are sized for these tiles, so pack and unpack agree on them.
    """
    tiles = tuple(
        (MAX_DYNAMIC_TILE if tile == DYNAMIC_TILE else tile) * (MAX_VECTOR_SCALE if scalable else 1)
        for tile, scalable in zip(layout.inner_tiles, layout.scalable_flags, strict=True)
    )
    return replace(layout, inner_tiles=tiles, scalable=())

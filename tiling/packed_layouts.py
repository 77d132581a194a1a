"""Packed layouts: which dimensions are tiled, and the order of tiles and elements in memory.

A tensor `(m, k)` packed with positions `(0, 1)`, tiles `(16, 1)` and outer order `(0, 1)` is stored
as `(ceil(m / 16), ceil(k / 1), 16, 1)`, as `linalg.pack` produces it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import Self

DYNAMIC_TILE = -(1 << 63)
"""A tile size known at run time only (MLIR's `ShapedType::kDynamic`)."""

MAX_DYNAMIC_TILE = 16
"""The largest tile that VMVX microkernels choose at run time."""


class LayoutError(ValueError):
    """The parameters of a packed layout contradict each other."""


@dataclass(frozen=True, slots=True)
class SwizzleDimension:
    """One factor of an inner tile: its kind, size and distribution symbol.

    As `TileSwizzle::Dim` in IREE: `CrossThread` factors are spread over lanes, `CrossIntrinsic`
    factors over instructions, and `Internal` factors are the elements that one lane holds.
    """

    kind: str
    size: int
    symbol: int | str | None = None

    @classmethod
    def internal(cls, size: int) -> Self:
        """Return a factor of adjacent elements that one lane holds."""
        return cls("Internal", size, "One")

    @classmethod
    def cross_thread(cls, size: int, symbol: int = 1) -> Self:
        """Return a factor of lanes."""
        return cls("CrossThread", size, symbol)

    @classmethod
    def cross_intrinsic(cls, size: int) -> Self:
        """Return a factor of instructions that one lane issues one after another."""
        return cls("CrossIntrinsic", size)


@dataclass(frozen=True, slots=True)
class Swizzle:
    """An element order inside tiles: tile dimensions are split into factors, which are permuted."""

    expand_shape: tuple[tuple[SwizzleDimension, ...], ...]
    permutation: tuple[int, ...]

    def sizes(self) -> list[int]:
        """Return the sizes of the factors in the order of the tile's dimensions."""
        return [factor.size for group in self.expand_shape for factor in group]

    def memory_sizes(self) -> list[int]:
        """Return the sizes of the factors in memory order."""
        sizes = self.sizes()
        return [sizes[index] for index in self.permutation]

    def widened(self, group: int, factor: SwizzleDimension) -> Swizzle:
        """Return the swizzle with one more factor: outermost in its dimension and in memory."""
        groups = list(self.expand_shape)
        new = sum(map(len, groups[:group]))
        groups[group] = (factor, *groups[group])
        shifted = (index + (index >= new) for index in self.permutation)
        return Swizzle(tuple(groups), (new, *shifted))

    def restricted(self, kept: Sequence[bool]) -> Swizzle:
        """Return the swizzle of the kept dimensions; a tensor is broadcast along the others."""
        groups = self.expand_shape
        is_kept = [keep for keep, group in zip(kept, groups, strict=True) for _ in group]
        new_indices = list(accumulate(is_kept, initial=0))
        return Swizzle(
            tuple(group for keep, group in zip(kept, groups, strict=True) if keep),
            tuple(new_indices[index] for index in self.permutation if is_kept[index]),
        )


@dataclass(frozen=True, slots=True)
class PackedLayout:
    """The parameters of `linalg.pack`. If all are empty, it is the identity layout.

    `outer_permutation[i]` is the tensor dimension that becomes outer dimension `i`; empty means
    that the order is kept. `scalable[i]` says that tile `i` is multiplied by the machine's vector
    scale; empty means that none is. `queried_operand` distinguishes tiles chosen at run time, while
    a kernel is lowered: it is the index of the contraction operand that the tiles belong to.

    Raises LayoutError, a ValueError, for lists that contradict each other.
    """

    inner_positions: tuple[int, ...] = ()
    inner_tiles: tuple[int, ...] = ()
    outer_permutation: tuple[int, ...] = ()
    scalable: tuple[bool, ...] = ()
    swizzle: Swizzle | None = None
    queried_operand: int | None = None

    def __post_init__(self) -> None:
        if len(self.inner_positions) != len(self.inner_tiles):
            raise LayoutError(
                f"{len(self.inner_positions)} inner positions but "
                f"{len(self.inner_tiles)} inner tiles"
            )
        if len(set(self.inner_positions)) != len(self.inner_positions):
            raise LayoutError(f"inner positions {list(self.inner_positions)} are not unique")
        if any(position < 0 for position in self.inner_positions):
            raise LayoutError(
                f"inner positions {list(self.inner_positions)} include a negative one"
            )
        if any(tile < 1 and tile != DYNAMIC_TILE for tile in self.inner_tiles):
            raise LayoutError(f"inner tiles {list(self.inner_tiles)} are not all positive")
        rank = len(self.outer_permutation)
        if sorted(self.outer_permutation) != list(range(rank)):
            raise LayoutError(f"{list(self.outer_permutation)} is not a permutation")
        if rank and any(position >= rank for position in self.inner_positions):
            raise LayoutError(
                f"inner positions {list(self.inner_positions)} exceed the rank {rank}"
            )
        if self.scalable and len(self.scalable) != len(self.inner_tiles):
            raise LayoutError(
                f"{len(self.scalable)} scalable flags for {len(self.inner_tiles)} inner tiles"
            )
        if self.swizzle is not None:
            self._check_swizzle(self.swizzle)

    def _check_swizzle(self, swizzle: Swizzle) -> None:
        if len(swizzle.expand_shape) != len(self.inner_tiles):
            raise LayoutError(
                f"{len(swizzle.expand_shape)} swizzle groups for "
                f"{len(self.inner_tiles)} inner tiles"
            )
        for group, tile in zip(swizzle.expand_shape, self.inner_tiles, strict=True):
            product = prod(factor.size for factor in group)
            if product != tile:
                raise LayoutError(f"swizzle factors have product {product}, the tile is {tile}")
        factors = sum(map(len, swizzle.expand_shape))
        if sorted(swizzle.permutation) != list(range(factors)):
            raise LayoutError(
                f"{list(swizzle.permutation)} does not permute {factors} swizzle factors"
            )

    @property
    def is_identity(self) -> bool:
        """Whether a tensor in this layout is stored as if it had none."""
        return (
            not self.inner_tiles
            and self.swizzle is None
            and self.outer_permutation == tuple(range(len(self.outer_permutation)))
        )

    @property
    def has_dynamic_tiles(self) -> bool:
        """Whether a tile size is known at run time only."""
        return DYNAMIC_TILE in self.inner_tiles

    @property
    def scalable_flags(self) -> tuple[bool, ...]:
        """One flag per tile, also if `scalable` is empty."""
        return self.scalable or (False,) * len(self.inner_tiles)

    def packed_shape(self, shape: Sequence[int | None]) -> tuple[int | None, ...]:
        """Return the shape of the packed tensor: outer dimensions, then tiles; `None` is dynamic.

        Tiles keep their shape: a swizzle does not split them into factors here.
        """
        outer = list(shape)
        tiles: list[int | None] = []
        for position, tile, scalable in zip(
            self.inner_positions, self.inner_tiles, self.scalable_flags, strict=True
        ):
            fixed = tile != DYNAMIC_TILE and not scalable
            size = outer[position]
            outer[position] = -(-size // tile) if fixed and size is not None else None
            tiles.append(tile if fixed else None)
        order = self.outer_permutation or range(len(outer))
        return (*(outer[dimension] for dimension in order), *tiles)


IDENTITY = PackedLayout()
"""The layout without tiles: for ops that the target has no tile for, and if the target is unknown.
"""

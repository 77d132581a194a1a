"""Packed layouts: which dimensions are cut into tiles, and where tiles and elements go.

A tensor `(m, k)` packed with positions `(0, 1)`, tiles `(16, 1)` and outer order `(0, 1)` is stored
as `(ceil(m / 16), ceil(k / 1), 16, 1)`: what `linalg.pack` produces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod

DYNAMIC_TILE = -(1 << 63)
"""A tile that is known at run time only (MLIR's `ShapedType::kDynamic`)."""

LARGEST_DYNAMIC_TILE = 16
"""The largest tile that VMVX microkernels choose at run time."""


class LayoutError(ValueError):
    """A packed layout contradicts itself."""


@dataclass(frozen=True, slots=True)
class SwizzleDimension:
    """One factor of an inner tile: who walks it, how far, and how it is spread."""

    kind: str
    size: int
    symbol: int | str | None = None


@dataclass(frozen=True, slots=True)
class Swizzle:
    """An order inside tiles: each tile is cut into factors, and all factors are permuted."""

    expand_shape: tuple[tuple[SwizzleDimension, ...], ...]
    permutation: tuple[int, ...]

    def sizes(self) -> list[int]:
        """The factors that tiles are cut into, in the order of the tile's dimensions."""
        return [factor.size for group in self.expand_shape for factor in group]

    def memory_sizes(self) -> list[int]:
        """The same in the order of memory."""
        sizes = self.sizes()
        return [sizes[index] for index in self.permutation]

    def widened(self, group: int, factor: SwizzleDimension) -> Swizzle:
        """The same with a dimension of one more factor: the slowest of its own, and of memory."""
        groups = list(self.expand_shape)
        place = sum(map(len, groups[:group]))
        groups[group] = (factor, *groups[group])
        moved = (index + (index >= place) for index in self.permutation)
        return Swizzle(tuple(groups), (place, *moved))

    def restricted(self, kept: Sequence[bool]) -> Swizzle:
        """The order of some dimensions: what is broadcast along the others has no factors."""
        groups = self.expand_shape
        stays = [keep for keep, group in zip(kept, groups, strict=True) for _ in group]
        places = list(accumulate(stays, initial=0))
        return Swizzle(
            tuple(group for keep, group in zip(kept, groups, strict=True) if keep),
            tuple(places[index] for index in self.permutation if stays[index]),
        )


@dataclass(frozen=True, slots=True)
class PackedLayout:
    """`linalg.pack`'s parameters. All empty: the identity, elements stay where they are.

    `outer_permutation[i]` is the tensor dimension that is outer dimension `i` when packed; empty
    means the order is kept. `scalable[i]` says that tile `i` is multiplied by the machine's
    vector scale; empty means that none is. `asked_of` tells tiles that are known at run time only
    apart: it is the operand of the contraction that they are of, while a kernel is lowered.

    Raises LayoutError, a ValueError, for lists that contradict each other.
    """

    inner_positions: tuple[int, ...] = ()
    inner_tiles: tuple[int, ...] = ()
    outer_permutation: tuple[int, ...] = ()
    scalable: tuple[bool, ...] = ()
    swizzle: Swizzle | None = None
    asked_of: int | None = None

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
        """Whether a tensor in this layout is stored as one without any."""
        return (
            not self.inner_tiles
            and self.swizzle is None
            and self.outer_permutation == tuple(range(len(self.outer_permutation)))
        )

    @property
    def has_dynamic_tiles(self) -> bool:
        """Whether a tile is known at run time only."""
        return DYNAMIC_TILE in self.inner_tiles

    @property
    def scalable_flags(self) -> tuple[bool, ...]:
        """One flag a tile, also where none was given."""
        return self.scalable or (False,) * len(self.inner_tiles)

    def packed_shape(self, shape: Sequence[int | None]) -> tuple[int | None, ...]:
        """The shape of the packed tensor: outer dimensions, then tiles. `None` is dynamic.

        Swizzled factors are not split: their tiles keep their sizes.
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
"""No tiles: where a target has none for an operation, and where no target is known."""

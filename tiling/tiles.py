"""Tiles of matrix multiplications, and the choice of a tile for given sizes.

The rules are those of IREE's CPU and VMVX encodings (`CPUEncodingExternalModels`), which
`docs/encodings.md` describes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from .contractions import ContractionOperand, Role
from .element_types import next_power_of_two


@dataclass(frozen=True, slots=True)
class Tile:
    """A register tile: `m`×`n` accumulators, each the sum of `k` products.

    The side named by `scalable` is multiplied by the machine's vector scale.
    """

    m: int
    n: int
    k: int
    scalable: Role | None = None
    block: int = 1
    """The elements of a factor that share a scale; `k` counts blocks."""

    @property
    def volume(self) -> int:
        return self.m * self.n * self.k

    def size(self, role: Role) -> int:
        return {Role.M: self.m, Role.N: self.n, Role.K: self.k, Role.BLOCK: self.block}[role]


def halving_family(tile: Tile) -> tuple[Tile, ...]:
    """Return the tile, then copies with `m` reduced to each smaller power of two, down to 1."""
    sizes = [tile.m]
    power = next_power_of_two(tile.m) // 2
    while power >= 1:
        sizes.append(power)
        power //= 2
    return tuple(replace(tile, m=m) for m in sizes)


_TRANSPOSED = {Role.M: Role.N, Role.N: Role.M}


@dataclass(frozen=True, slots=True)
class Narrow:
    """The shorter side of a result, and its size rounded up to a power of two."""

    side: Literal[Role.M, Role.N]
    size: int


def narrow_side(operand: ContractionOperand, roles: dict[int, Role]) -> Narrow | None:
    """Return the shorter side of the result.

    A static side counts as shorter than a dynamic one. `None` if both sizes are equal or dynamic,
    or if the operand has no iteration sizes.
    """
    if not operand.iteration_sizes:
        return None
    m, n = operand.size(Role.M, roles), operand.size(Role.N, roles)
    if m == n:
        return None
    if m is None or (n is not None and n < m):
        return Narrow(Role.N, next_power_of_two(max(n or 1, 1)))
    return Narrow(Role.M, next_power_of_two(max(m, 1)))


def choose_tile(family: Sequence[Tile], narrow: Narrow | None) -> Tile | None:
    """Return the tile with the least padding along the narrow side, then with the greatest volume.

    A narrow N is solved as a narrow M of the transposed product: M and N of the tile are exchanged.
    `None` for an empty family.
    """
    if not family:
        return None
    size = narrow.size if narrow is not None else None

    def preference(tile: Tile) -> tuple[int, int]:
        padding = max(tile.m - size, 0) if size is not None else 0
        return padding, -tile.volume

    best = min(family, key=preference)
    if narrow is not None and narrow.side is Role.N:
        scalable = _TRANSPOSED.get(best.scalable) if best.scalable is not None else None
        return replace(best, m=best.n, n=best.m, scalable=scalable)
    return best


def fitting_tile(
    family: Sequence[Tile], m: int | None, n: int | None, k: int | None
) -> Tile | None:
    """Return the largest tile of a family, with each side limited to the size of the shape.

    Sizes are rounded up to powers of two; `None` is a dynamic size and limits nothing. IREE limits
    only the shorter of M and N. `None` for an empty family.
    """
    if not family:
        return None
    limits = [None if size is None else next_power_of_two(max(size, 1)) for size in (m, n, k)]
    largest = max(family, key=lambda tile: tile.volume)

    def cut(tile: int, limit: int | None) -> int:
        return tile if limit is None else min(tile, limit)

    return replace(
        largest,
        m=cut(largest.m, limits[0]),
        n=cut(largest.n, limits[1]),
        k=cut(largest.k, limits[2]),
    )

"""Tiles of matrix multiplications, and which one of a family fits a shape.

The rules are those of IREE's CPU and VMVX encodings (`CPUEncodingExternalModels`), told in
`docs/encodings.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from .contractions import ContractionOperand, Role
from .element_types import next_power_of_two


@dataclass(frozen=True, slots=True)
class Tile:
    """A register tile: `m`×`n` results, `k` products each.

    The side named by `scalable` is to be multiplied by the machine's vector scale.
    """

    m: int
    n: int
    k: int
    scalable: Role | None = None

    @property
    def volume(self) -> int:
        return self.m * self.n * self.k

    def size(self, role: Role) -> int:
        return {Role.M: self.m, Role.N: self.n, Role.K: self.k}[role]


def halving_family(tile: Tile) -> tuple[Tile, ...]:
    """The tile, then the same with `m` cut to each smaller power of two, down to one."""
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
    """Which side of the result is shorter, if that is known.

    A static side is taken for shorter than a dynamic one. `None` if both are equal or dynamic, or
    if nothing is known.
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
    """The tile of least padding along the narrow side, then of greatest volume.

    A narrow N is solved as a narrow M of the transposed product: the tile's sides change places.
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
    """The largest tile of a family cut to each side of a shape, rounded up to a power of two.

    Sides may be `None`, for dynamic. IREE cuts only the shorter of M and N.
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

"""Packed layouts for GPUs: from their matrix instructions, or from a table by architecture.

A target that lists its instructions gets IREE's tiles for them (`gpu_intrinsics.py`). Otherwise the
architecture is looked up in a table of tiles observed in IREE 3.13 for `gfx942` and `gfx1100`: a
large tile for a 1024-cubed product, and a small one for thin or uneven ones. Where IREE switches
between them is not known: here the large tile is used if it pads neither M nor N. Tiles from the
table are row-major.
"""

from __future__ import annotations

from dataclasses import dataclass

from .contractions import ContractionOperand, Role
from .gpu_intrinsics import TiledGpuInstruction, Workgroup, tiled_gpu_instruction
from .gpu_scaled_intrinsics import SCALED_SIDES, TiledScaledInstruction, tiled_scaled_instruction
from .packed_layouts import IDENTITY, PackedLayout
from .targets import GpuTarget
from .tiled_layouts import SIDES, instruction_layout, tiled_layout
from .tiles import Tile


@dataclass(frozen=True, slots=True)
class GpuTiles:
    """The large and the small tile of one architecture and input type."""

    large: Tile
    small: Tile


def _tiles(k: int) -> GpuTiles:
    return GpuTiles(Tile(32, 64, k), Tile(16, 16, k))


GPU_TILES: dict[str, dict[str, GpuTiles]] = {
    "gfx942": {
        "f32": _tiles(16),
        "f16": _tiles(32),
        "bf16": _tiles(32),
        "i8": _tiles(64),
        "f8E4M3FNUZ": _tiles(64),
    },
    "gfx1100": {"f16": _tiles(16), "bf16": _tiles(16), "i8": _tiles(16)},
}
"""Tiles by architecture, then by the type of both inputs; other combinations have no tiles."""


def gpu_layout(
    target: GpuTarget, operand: ContractionOperand, roles: dict[int, Role]
) -> PackedLayout:
    """Return the layout of one tensor of a contraction on a GPU."""
    if target.workgroup is not None:
        tiled = instruction_for(target.workgroup, operand, roles)
        sides = SCALED_SIDES if operand.is_scaled else SIDES
        return IDENTITY if tiled is None else instruction_layout(tiled, operand, roles, sides)
    if operand.is_scaled:
        return IDENTITY
    left, right, _ = operand.element_types
    tiles = GPU_TILES.get(target.architecture, {}).get(left.name)
    if tiles is None or left != right:
        return IDENTITY

    def fits(role: Role, tile: int) -> bool:
        size = operand.size(role, roles)
        return size is None or size % tile == 0

    large = fits(Role.M, tiles.large.m) and fits(Role.N, tiles.large.n)
    tile = tiles.large if large else tiles.small
    return tiled_layout(operand, roles, tile, swap_result=False)


def instruction_for(
    workgroup: Workgroup, operand: ContractionOperand, roles: dict[int, Role]
) -> TiledGpuInstruction | TiledScaledInstruction | None:
    """Return the instruction tile of a contraction; `None` if it lacks M, N or K, or none fits."""
    needed = {Role.M, Role.N, Role.K, *([Role.BLOCK] if operand.is_scaled else [])}
    if not needed <= set(roles.values()):
        return None
    tiled = tiled_scaled_instruction if operand.is_scaled else tiled_gpu_instruction
    sizes = (operand.size(role, roles) for role in (Role.M, Role.N))
    return tiled(workgroup, operand.element_types, *sizes)


@dataclass(frozen=True, slots=True)
class Cache:
    """The first-level cache of a GPU."""

    line_bytes: int
    sets: int


WITH_KNOWN_CACHES = frozenset({"gfx90a", "gfx940", "gfx941", "gfx942", "gfx950"})


def cache_of(target: GpuTarget) -> Cache | None:
    """Return the cache of an architecture; `None` if it is unknown."""
    return Cache(128, 4) if target.architecture in WITH_KNOWN_CACHES else None


def row_padding(cache: Cache, length: int, bits: int) -> int:
    """Return the number of elements to leave free behind each row of a tensor.

    `length` is the row's elements, `bits` the width of one. Rows begin at cache lines. If the
    padded length is a multiple of `sets` lines, successive rows would map to the same few sets and
    evict each other, so such rows get one more line. The padding is 0 for rows shorter than `sets`
    lines, and for elements that are not whole bytes.
    """
    if bits < 8 or bits % 8:
        return 0
    line = cache.line_bytes * 8 // bits
    if length < cache.sets * line:
        return 0
    padded = -(-length // line) * line
    if padded % (cache.sets * line) == 0:
        padded += line
    return padded - length

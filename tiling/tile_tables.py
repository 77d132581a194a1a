"""The largest tile for each target and element types, as tables: the first match wins.

Sources: IREE's `CPUEncodingExternalModels.cpp` (enumerateMatmulTile*), and sizes measured with IREE
3.13 (`tests/data/encoding_sizes.csv`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .contractions import Role
from .element_types import ElementType
from .packed_layouts import DYNAMIC_TILE
from .targets import Architecture, CpuTarget, GpuTarget, Target, VmvxTarget
from .tiles import Tile, halving_family

ElementTypes = tuple[ElementType, ElementType, ElementType]
"""Left, right and result."""

_FLOAT_RESULTS = frozenset({"f32", "f16", "bf16"})


def _any_float(types: ElementTypes) -> bool:
    left, right, result = types
    return left.is_float and right.is_float and result.name in _FLOAT_RESULTS


def _named(left: str, right: str, *results: str) -> Callable[[ElementTypes], bool]:
    def matches(types: ElementTypes) -> bool:
        return types[0].name == left and types[1].name == right and types[2].name in results

    return matches


_bf16 = _named("bf16", "bf16", *_FLOAT_RESULTS)
_i8 = _named("i8", "i8", "i32")
_i16 = _named("i16", "i16", "i32")


def _i8_or_i16(types: ElementTypes) -> bool:
    return _i8(types) or _i16(types)


@dataclass(frozen=True, slots=True)
class TileRow:
    """A table row: the tile for matching types if the target has all features.

    `halved` adds the tiles with M halved repeatedly.
    """

    types: Callable[[ElementTypes], bool]
    features: tuple[str, ...]
    tile: Tile
    halved: bool = True

    def family(self) -> tuple[Tile, ...]:
        return halving_family(self.tile) if self.halved else (self.tile,)


X86_64_TILES = (
    TileRow(_bf16, ("avx512bf16",), Tile(16, 16, 2)),
    TileRow(_any_float, ("avx512f",), Tile(16, 16, 1)),
    TileRow(_any_float, ("avx",), Tile(8, 8, 1)),
    TileRow(_any_float, (), Tile(8, 4, 1)),
    TileRow(_i8_or_i16, ("avx512vnni",), Tile(16, 16, 2)),
    TileRow(_i8_or_i16, ("avx512bw",), Tile(16, 16, 2)),
    TileRow(_i8_or_i16, ("avx2",), Tile(8, 8, 2)),
    TileRow(_i8_or_i16, (), Tile(8, 4, 2)),
    TileRow(_named("i16", "ui4", "i32"), ("avx512vnni",), Tile(1, 32, 8)),
)

AARCH64_TILES = (
    TileRow(_bf16, ("bf16",), Tile(8, 8, 4)),
    TileRow(_any_float, (), Tile(8, 8, 1)),
    TileRow(_i8, ("i8mm",), Tile(8, 8, 8)),
    TileRow(_i8, ("dotprod",), Tile(8, 8, 4)),
    TileRow(_named("i8", "i4", "i32"), ("i8mm",), Tile(4, 8, 16)),
    TileRow(_named("i8", "i4", "i32"), ("dotprod",), Tile(8, 8, 8)),
    TileRow(_named("i8", "i4", "i32"), (), Tile(4, 16, 2)),
)

RISCV32_UKERNEL_TILES = (TileRow(lambda types: True, (), Tile(8, 8, 4)),)

VMVX_TILE = Tile(8, 8, 4)
VMVX_DYNAMIC_TILE = Tile(DYNAMIC_TILE, DYNAMIC_TILE, DYNAMIC_TILE)

_IME_TILES = {256: (Tile(12, 16, 8), 4), 1024: (Tile(24, 32, 16), 8), 4096: (Tile(48, 64, 32), 16)}
"""Tiles of the RISC-V matrix extension (XSMTVDot) by vector length: the largest, and the unit of M.
"""


def _riscv64_family(target: CpuTarget, types: ElementTypes) -> tuple[Tile, ...]:
    """Return the tiles of RISC-V: N is VLEN / 8, a group of four registers of 32-bit elements."""
    if not target.has("v"):
        return ()
    n = target.vector_length // 8
    if _i8(types) and target.has("xsmtvdot") and target.vector_length in _IME_TILES:
        largest, unit = _IME_TILES[target.vector_length]
        return tuple(Tile(m, largest.n, largest.k) for m in (3 * unit, 2 * unit, unit))
    if _i8(types) or _named("f32", "f32", "f32")(types):
        return halving_family(Tile(7, n, 1))
    # IREE looks at the operands alone.
    if types[0].name == types[1].name == "f16" and types[2].is_float:
        if target.has("zvfh"):
            return halving_family(Tile(7, n, 1))
        if target.has("zvfhmin"):
            return halving_family(Tile(6, n, 1))
    if _named("bf16", "bf16", "f32")(types) and target.has("zvfbfwma"):
        return halving_family(Tile(7, n, 1))
    return ()


def _first_match(
    rows: tuple[TileRow, ...], target: CpuTarget, types: ElementTypes
) -> tuple[Tile, ...]:
    for row in rows:
        if row.types(types) and target.has(*row.features):
            return row.family()
    return ()


def _scaled(family: tuple[Tile, ...]) -> tuple[Tile, ...]:
    return tuple(Tile(tile.m, tile.n, tile.k, Role.N) for tile in family)


def _cpu_family(target: CpuTarget, types: ElementTypes) -> tuple[Tile, ...]:
    match target.architecture:
        case Architecture.X86_64:
            return _first_match(X86_64_TILES, target, types)
        case Architecture.AARCH64:
            family = _first_match(AARCH64_TILES, target, types)
            scalable = target.scalable and (target.has("sve") or target.has("sve2"))
            return _scaled(family) if scalable else family
        case Architecture.RISCV64:
            return _riscv64_family(target, types)
        case Architecture.RISCV32:
            rows = RISCV32_UKERNEL_TILES if target.ukernels else ()
            return _first_match(rows, target, types)
        case Architecture.X86_32 | Architecture.OTHER:
            return ()


def tile_family(target: Target, types: ElementTypes, *, tile_at_run_time: bool) -> tuple[Tile, ...]:
    """Return the tiles to choose from; empty if the target has none for these types.

    `tile_at_run_time` allows VMVX microkernels to choose the tile at run time. They do so only for
    results that are not narrow and have no batch dimension.
    """
    match target:
        case CpuTarget():
            return _cpu_family(target, types)
        case VmvxTarget(ukernels=ukernels):
            if ukernels and tile_at_run_time:
                return (VMVX_DYNAMIC_TILE,)
            return halving_family(VMVX_TILE)
        case GpuTarget():
            return ()

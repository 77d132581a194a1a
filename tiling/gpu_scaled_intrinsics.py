"""Matrix instructions of AMD GPUs for block-scaled factors, and the tiles built from them.

`MFMA_SCALE_F32_16x16x128_B32` multiplies 16x128 by 128x16 in `f32`. Along K, blocks of 32 elements
of a factor share a scale. Factors are tensors (rows, blocks, 32), their scales (rows, blocks).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .attribute_text import entries_text, larger_counts, parse_count, parse_entries
from .contractions import LHS, RHS, Role
from .element_types import ElementType, element_type
from .gpu_intrinsics import (
    TILE_COUNTS,
    GpuInstruction,
    ScaledName,
    TiledGpuInstruction,
    Workgroup,
    tile_of_instructions,
)
from .packed_layouts import Swizzle, SwizzleDimension
from .tiles import Tile

BLOCK = 32
"""The number of elements that share a scale."""

INTERLEAVED = 4
"""The number of instructions along K: their scales fill one register of a lane."""

LHS_SCALES, RHS_SCALES, SCALED_RESULT = 2, 3, 4

_SHAPES = {"MFMA_SCALE_F32_16x16x128_B32": (16, 4), "MFMA_SCALE_F32_32x32x64_B32": (32, 2)}
"""Rows and blocks of a factor, by instruction."""
_FACTORS = frozenset({"f8E4M3FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN"})
_TYPES = ("lhs_elem_type", "rhs_elem_type", "acc_elem_type")
_SCALE, _RESULT = "f8E8M0FNU", "f32"
_KEPT = "operands_interleaving_intrinsics_k = [2, 3]"
"""Of instructions along K, scales are interleaved: those of one lane are adjacent."""


@dataclass(frozen=True, slots=True)
class ScaledGpuInstruction:
    """An instruction for two types of factors."""

    name: ScaledName
    side: int
    blocks: int
    types: tuple[ElementType, ...]
    """The types of the factors, of their scales and of the result."""

    def lane_bits(self, operand: int) -> int:
        """Return the bits of a tensor that one lane holds."""
        if operand == SCALED_RESULT:
            return self.side * self.side // 64 * self.types[operand].bits
        elements = BLOCK if operand in (LHS, RHS) else 1
        return self.side * self.blocks // 64 * elements * self.types[operand].bits


def scaled_instruction(name: ScaledName) -> ScaledGpuInstruction | None:
    """Return the instruction of a name and its types; `None` if it is unknown."""
    intrinsic, left, right, result = name
    if intrinsic not in _SHAPES or not {left, right} <= _FACTORS or result != _RESULT:
        return None
    types = map(element_type, (left, right, _SCALE, _SCALE, result))
    return ScaledGpuInstruction(name, *_SHAPES[intrinsic], tuple(types))


@dataclass(frozen=True, slots=True)
class TiledScaledInstruction:
    """A tile of several such instructions."""

    instruction: ScaledGpuInstruction
    counts: TiledGpuInstruction
    """The counts, on an instruction without scales whose lanes hold results alike."""

    def __str__(self) -> str:
        """Return the text in `#iree_gpu.data_tiled_scaled_mma_layout`."""
        names = zip(("intrinsic", *_TYPES), self.instruction.name, strict=True)
        return f"{entries_text([*names, *larger_counts(self.counts, TILE_COUNTS)])}, {_KEPT}"

    @staticmethod
    def parse(text: str) -> TiledScaledInstruction | None:
        """Parse such a text; return `None` if it is malformed or the instruction is unknown."""
        entries = parse_entries(text.replace(_KEPT, "").rstrip(", "))
        intrinsic, left, right, result = (entries.pop(key, "") for key in ("intrinsic", *_TYPES))
        instruction = scaled_instruction((intrinsic, left, right, result))
        counts = {name: parse_count(entries.pop(name, "1")) for name in TILE_COUNTS}
        known = {name: count for name, count in counts.items() if count}
        if instruction is None or entries or len(known) < len(counts) or _KEPT not in text:
            return None
        return _tiled(instruction, **known)

    @property
    def tile(self) -> Tile:
        """The sides of the tile; `k` counts blocks."""
        unscaled = self.counts.tile
        return Tile(unscaled.m, unscaled.n, unscaled.k, block=BLOCK)

    def swizzle(self, operand: int) -> Swizzle:
        """Return the element order of a tensor's tile in memory."""
        if operand == SCALED_RESULT:
            return self.counts.swizzle(2)
        # Scales have the order of a factor of which each lane holds one element for an instruction.
        swizzle = self.counts.swizzle(LHS if operand in (LHS, LHS_SCALES) else RHS)
        if operand in (LHS_SCALES, RHS_SCALES):
            return swizzle
        return _in_blocks(swizzle)


def _in_blocks(swizzle: Swizzle) -> Swizzle:
    """Return the order of a factor from that of its scales.

    A block is adjacent. Instructions along K are not interleaved: theirs are outside of the lanes.
    """
    rows, columns = swizzle.expand_shape
    unrolled, lanes = len(rows), len(rows) + len(columns) - 1
    order = list(swizzle.permutation)
    if unrolled != lanes:
        order.remove(unrolled)
        order.insert(order.index(lanes), unrolled)
    block = (SwizzleDimension.internal(BLOCK),)
    return Swizzle((rows, columns, block), (*order, len(rows) + len(columns)))


def _tiled(instruction: ScaledGpuInstruction, **counts: int) -> TiledScaledInstruction:
    """Return a tile, whose counts are those of an instruction with one element for each block."""
    left, right, *_, result = instruction.types
    plain = GpuInstruction(
        "", "MFMA", instruction.side, instruction.side, instruction.blocks, (left, right, result)
    )
    return TiledScaledInstruction(instruction, TiledGpuInstruction(plain, **counts))


def tiled_scaled_instruction(
    workgroup: Workgroup, types: Sequence[ElementType], m: int | None, n: int | None
) -> TiledScaledInstruction | None:
    """Return the tile for products of given types and sizes; `None` if no instruction fits.

    Among several instructions the first one is chosen. Sizes are `None` if unknown.
    """
    known = map(scaled_instruction, workgroup.scaled_instructions)
    chosen = next(
        (one for one in known if one is not None and list(one.types) == list(types)), None
    )
    if chosen is None:
        return None
    scale = chosen.lane_bits(LHS_SCALES)
    left, right = (INTERLEAVED * (chosen.lane_bits(side) + scale) for side in (LHS, RHS))
    bits = left, right, chosen.lane_bits(SCALED_RESULT)
    own_m, own_n, subgroups_m, subgroups_n = tile_of_instructions(
        workgroup, (chosen.side, chosen.side), bits, m, n
    )
    return _tiled(
        chosen,
        intrinsics_m=own_m,
        intrinsics_n=own_n,
        intrinsics_k=INTERLEAVED,
        subgroups_m=subgroups_m,
        subgroups_n=subgroups_n,
    )


SCALED_SIDES = {
    LHS: (Role.M, Role.K, Role.BLOCK),
    RHS: (Role.N, Role.K, Role.BLOCK),
    LHS_SCALES: (Role.M, Role.K),
    RHS_SCALES: (Role.N, Role.K),
    SCALED_RESULT: (Role.M, Role.N),
}
"""The roles of a tile's dimensions, by operand."""

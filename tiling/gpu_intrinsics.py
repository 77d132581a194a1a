"""Matrix instructions of AMD GPUs, and the tiles and swizzles built from them (IREE's `#iree_gpu`).

The name identifies the instruction: `MFMA_F32_16x16x4_F32` multiplies 16x4 by 4x16 in `f32`. The
lanes of a subgroup hold its operands in a fixed order. A tile combines as many instructions along
M, N and K as the registers have room for. Its elements are stored in the order in which the lanes
load them, which is the swizzle of the layout.

Instructions whose lanes compute several products at once (`4x4x4x16B`), and those of other vendors,
have no layout here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from .attribute_text import entries_text, larger_counts, parse_count, parse_entries
from .contractions import LHS, RESULT
from .element_types import ElementType, element_type
from .packed_layouts import Swizzle, SwizzleDimension
from .tiles import Tile

_NAME = re.compile(r"(MFMA|WMMAR3|WMMAR4|WMMA)_(\w+?)_(\d+)x(\d+)x(\d+)_([^_]+)(?:_([^_]+))?")

_ELEMENT = re.compile(r"(BF|F|I)(\d+)(.*)")


_inside = SwizzleDimension.internal
_lanes = SwizzleDimension.cross_thread
_unrolled = SwizzleDimension.cross_intrinsic


@dataclass(frozen=True, slots=True)
class GpuInstruction:
    """A matrix instruction: its family, its M×N×K shape and the types of its three matrices."""

    name: str
    family: str
    m: int
    n: int
    k: int
    types: tuple[ElementType, ElementType, ElementType]

    def swizzle(self, operand: int) -> Swizzle:
        """Return how the lanes hold a matrix: (rows, K), or (rows, columns) of the result."""
        return self._result_swizzle() if operand == RESULT else self._factor_swizzle()

    def _factor_swizzle(self) -> Swizzle:
        if self.family == "WMMAR3":
            # Both halves of the subgroup hold the same elements.
            columns = (_lanes(1, 2), _inside(self.k))
        else:
            lanes = 64 // self.m if self.family == "MFMA" else 2
            inside = self.k // lanes
            columns = (_lanes(lanes), *([_inside(inside)] if inside > 1 else []))
        order = (1, 0, 2) if len(columns) > 1 else (1, 0)
        return Swizzle(((_lanes(self.m),), columns), order)

    def _result_swizzle(self) -> Swizzle:
        if self.family == "WMMAR3":
            rows, order = (_inside(8), _lanes(2)), (0, 1, 2)
        elif self.family != "MFMA":
            rows, order = (_lanes(2), _inside(8)), (0, 2, 1)
        elif self.m == 32:
            rows, order = (_inside(4), _lanes(2), _inside(4)), (0, 1, 3, 2)
        elif self.types[RESULT].bits == 64:
            rows, order = (_inside(4), _lanes(4)), (0, 1, 2)
        else:
            rows, order = (_lanes(4), _inside(4)), (0, 2, 1)
        return Swizzle((rows, (_lanes(self.n),)), order)

    def lane_bits(self, operand: int) -> int:
        """Return the bits of a matrix that one lane holds."""
        factors = (factor for group in self.swizzle(operand).expand_shape for factor in group)
        elements = prod(factor.size for factor in factors if factor.kind == "Internal")
        return elements * self.types[operand].bits


@lru_cache
def gpu_instruction(name: str) -> GpuInstruction | None:
    """Return the instruction of a name; `None` if its lane layout is unknown."""
    if (found := _NAME.fullmatch(name)) is None:
        return None
    family, result, m, n, k, left, right = found.groups()
    types = [_element(word) for word in (left, right or left, result)]
    shape = int(m), int(n), int(k)
    fits = shape[:2] in ((16, 16), (32, 32) if family == "MFMA" else (16, 16))
    if not fits or not 0 < shape[2] <= 128 or shape[2] & (shape[2] - 1):
        return None
    first, second, third = types
    if first is None or second is None or third is None:
        return None
    return GpuInstruction(name, family, *shape, (first, second, third))


def _element(word: str) -> ElementType | None:
    """Return the element type of a name part such as `F16`, `BF16`, `I8` or `F8E4M3FNUZ`."""
    if (found := _ELEMENT.fullmatch(word)) is None:
        return None
    return element_type(found[1].lower() + found[2] + found[3])


ScaledName = tuple[str, str, str, str]
"""An instruction for block-scaled factors, and the types of its factors and its result."""


@dataclass(frozen=True, slots=True)
class Workgroup:
    """The instructions and limits of a GPU's workgroup processors."""

    instructions: tuple[str, ...]
    load_bits: int
    """The widest load of a lane, in bits."""
    register_bits: int
    """The registers of a lane, in bits."""
    subgroups: int
    """The number of subgroups of a workgroup that run at once."""
    shared_bytes: int
    """The shared memory of a workgroup, in bytes."""
    processors: int
    """The number of workgroups that run at once."""
    scaled_instructions: tuple[ScaledName, ...] = ()


TILE_COUNTS = ("intrinsics_m", "subgroups_m", "intrinsics_n", "subgroups_n", "intrinsics_k")
_INTERLEAVED = "operands_interleaving_intrinsics_k = [0, 1]"
"""Instructions along K are interleaved: a lane's input elements for all of them are adjacent."""


@dataclass(frozen=True, slots=True)
class TiledGpuInstruction:
    """A tile of several instructions: how many each lane issues, on how many subgroups."""

    instruction: GpuInstruction
    intrinsics_m: int
    intrinsics_n: int
    intrinsics_k: int
    subgroups_m: int
    subgroups_n: int

    def __str__(self) -> str:
        """Return the text in `#iree_gpu.data_tiled_mma_layout`; counts of 1 are omitted."""
        entries = [("intrinsic", self.instruction.name), *larger_counts(self, TILE_COUNTS)]
        return f"{entries_text(entries)}, {_INTERLEAVED}"

    @staticmethod
    def parse(text: str) -> TiledGpuInstruction | None:
        """Parse such a text; return `None` if it is malformed or the instruction is unknown."""
        entries = parse_entries(text.replace(_INTERLEAVED, "").rstrip(", "))
        instruction = gpu_instruction(entries.pop("intrinsic", ""))
        counts = {name: parse_count(entries.pop(name, "1")) for name in TILE_COUNTS}
        known = {name: count for name, count in counts.items() if count}
        is_interleaved = _INTERLEAVED in text or counts["intrinsics_k"] == 1
        if instruction is None or entries or len(known) < len(counts) or not is_interleaved:
            return None
        return TiledGpuInstruction(instruction, **known)

    @property
    def tile(self) -> Tile:
        instruction = self.instruction
        return Tile(
            instruction.m * self.intrinsics_m * self.subgroups_m,
            instruction.n * self.intrinsics_n * self.subgroups_n,
            instruction.k * self.intrinsics_k,
        )

    def swizzle(self, operand: int) -> Swizzle:
        """Return the element order of one matrix's tile in memory.

        Instructions along K are interleaved: a lane's elements for all of them are adjacent.
        """
        swizzle = self.instruction.swizzle(operand)
        if operand == RESULT:
            wider = (
                (1, _unrolled(self.intrinsics_n)),
                (0, _unrolled(self.intrinsics_m)),
                (1, _lanes(self.subgroups_n)),
                (0, _lanes(self.subgroups_m)),
            )
        else:
            if self.intrinsics_k > 1:
                swizzle = _interleaved(swizzle.widened(1, _unrolled(self.intrinsics_k)))
            if operand == LHS:
                # Subgroups that are neighbours along N load the same rows.
                rows, lanes = self.intrinsics_m, _lanes(self.subgroups_m, self.subgroups_n)
            else:
                rows, lanes = self.intrinsics_n, _lanes(self.subgroups_n)
            wider = ((0, _unrolled(rows)), (0, lanes))
        for group, factor in wider:
            if factor.size > 1:
                swizzle = swizzle.widened(group, factor)
        return swizzle


def _interleaved(swizzle: Swizzle) -> Swizzle:
    """Move the outermost factor, one of K, from the front of the order to behind the lanes."""
    rows, columns = swizzle.expand_shape
    lanes = max(i for i, factor in enumerate(columns) if factor.kind != "Internal")
    first, *rest = swizzle.permutation
    at = len(rows) + lanes
    return Swizzle(swizzle.expand_shape, (*rest[:at], first, *rest[at:]))


def tiled_gpu_instruction(
    workgroup: Workgroup, types: Sequence[ElementType], m: int | None, n: int | None
) -> TiledGpuInstruction | None:
    """Return the tile for products of given types and sizes; `None` if no instruction fits.

    Among several instructions the one with the longest K is chosen. Sizes are `None` if unknown.
    """
    known = map(gpu_instruction, workgroup.instructions)
    fitting = [one for one in known if one is not None and list(one.types) == list(types)]
    if not fitting:
        return None
    # Among equal ones, IREE takes the last.
    chosen = max(reversed(fitting), key=lambda instruction: instruction.k)
    loaded = min(chosen.lane_bits(LHS), chosen.lane_bits(1))
    k = max(1, workgroup.load_bits // loaded)
    bits = k * chosen.lane_bits(LHS), k * chosen.lane_bits(1), chosen.lane_bits(RESULT)
    own_m, own_n, subgroups_m, subgroups_n = tile_of_instructions(
        workgroup, (chosen.m, chosen.n), bits, m, n
    )
    return TiledGpuInstruction(chosen, own_m, own_n, k, subgroups_m, subgroups_n)


def tile_of_instructions(
    workgroup: Workgroup,
    shape: tuple[int, int],
    bits: tuple[int, int, int],
    m: int | None,
    n: int | None,
) -> tuple[int, int, int, int]:
    """Return how many instructions a subgroup has along M and N, and how many subgroups.

    `shape` is the instruction's M and N, `bits` what a lane holds of each matrix.
    """
    unrolled = _unrolling(workgroup, shape, bits, m, n)
    return _distribute(workgroup.subgroups, *unrolled)


def _unrolling(
    workgroup: Workgroup,
    shape: tuple[int, int],
    bits: tuple[int, int, int],
    m: int | None,
    n: int | None,
) -> tuple[int, int]:
    """Return the number of instructions along M and N: as many as fit, and as even as possible.

    Inputs and accumulators are limited by the registers, inputs also by shared memory. The tile is
    no larger than the product, and small enough that every workgroup processor gets work.
    """
    left, right, result = bits
    most_m, most_n = (
        None if size is None else -(-size // own) for size, own in zip((m, n), shape, strict=True)
    )
    most = None if m is None or n is None else -(-m * n // (workgroup.processors * prod(shape)))
    along_m = best = best_n = 1
    while most_m is None or along_m <= most_m:
        in_registers = (workgroup.register_bits - along_m * left) // (right + along_m * result)
        shared = (workgroup.shared_bytes * 8 - along_m * left) // right
        limits = [in_registers, shared, most_n, None if most is None else most // along_m]
        along_n = min(limit for limit in limits if limit is not None)
        if along_n <= 0:
            break
        along_n = 1 << (along_n.bit_length() - 1)
        if _intensity(along_m, along_n) > _intensity(best, best_n):
            best, best_n = along_m, along_n
        along_m *= 2
    return best, best_n


def _distribute(subgroups: int, along_m: int, along_n: int) -> tuple[int, int, int, int]:
    """Distribute the instructions of a tile over subgroups.

    Returns (instructions per subgroup along M, along N, subgroups along M, along N). If no
    distribution gives a subgroup more than one instruction, all four are 1.
    """
    best = 1, 1, 1, 1
    over_m = 1
    while over_m <= min(subgroups, along_m):
        over_n = min(subgroups // over_m, along_n)
        over_n = 1 << (over_n.bit_length() - 1)
        own = along_m // over_m, along_n // over_n
        if _intensity(*own) > _intensity(*best[:2]):
            best = *own, over_m, over_n
        over_m *= 2
    return best


def _intensity(m: int, n: int) -> float:
    """Return the arithmetic intensity of a tile: products per loaded element."""
    return m * n / (m + n)

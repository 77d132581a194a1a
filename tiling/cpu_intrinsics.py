"""Matrix instructions of CPUs, and the tiles built from them (IREE's `#iree_cpu` intrinsics).

The name identifies the instruction: `MMA_X86_AVX512_1x16x1_F32_F32` multiplies 1x1 by 1x16 and
accumulates into 1x16. A tile combines as many instructions as the registers have room for, with M
and N as even as possible. `MMA_GENERIC_SCALAR_1x1x1_REG16` is a scalar product in 16 registers,
used for types without a matrix instruction.

The elements of a tile are stored as the instructions load them: first by instruction, then by
element within one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from .attribute_text import entries_text, larger_counts, parse_count, parse_entries
from .contractions import LHS, RESULT, RHS
from .element_types import ElementKind, element_type
from .packed_layouts import Swizzle, SwizzleDimension
from .targets import Architecture, CpuTarget
from .tile_tables import ElementTypes
from .tiles import Tile


@dataclass(frozen=True, slots=True)
class InstructionRow:
    """A table row: the family, required features, M×N×K shape and types of an instruction."""

    family: str
    features: tuple[str, ...]
    shape: tuple[int, int, int]
    types: tuple[str, str, str]
    cast: str = ""
    """The type that the inputs are extended to first, as it appears in the name."""


X86_INSTRUCTIONS = (
    InstructionRow("X86_AVX2_FMA", ("avx2", "fma"), (1, 8, 1), ("f32", "f32", "f32")),
    InstructionRow("X86_AVX512", ("avx512f",), (1, 8, 1), ("f64", "f64", "f64")),
    InstructionRow("X86_AVX512", ("avx512f",), (1, 16, 1), ("f32", "f32", "f32")),
    InstructionRow("X86_AVX512", ("avx512f",), (1, 16, 1), ("f16", "f16", "f32"), "F32"),
    InstructionRow("X86_AVX512", ("avx512f",), (1, 16, 2), ("i16", "i16", "i32")),
    InstructionRow("X86_AVX512", ("avx512f",), (1, 16, 2), ("i8", "i8", "i32"), "I16"),
    InstructionRow("X86_AVX512FP16", ("avx512fp16",), (1, 32, 1), ("f16", "f16", "f16")),
    InstructionRow("X86_AVX512BF16", ("avx512bf16",), (1, 16, 2), ("bf16", "bf16", "f32")),
    InstructionRow("X86_AVX512VNNI", ("avx512vnni",), (1, 16, 2), ("i16", "i16", "i32")),
    InstructionRow("X86_AVX512VNNI", ("avx512vnni",), (1, 16, 2), ("i8", "i8", "i32"), "I16"),
    InstructionRow("X86_AVX512VNNI", ("avx512vnni",), (1, 16, 4), ("ui8", "i8", "i32")),
    InstructionRow("X86_AVX512VNNI", ("avx512vnni",), (16, 16, 2), ("i8", "i8", "i32"), "I16"),
)

RISCV_WORDS = 8
"""N of the RISC-V instructions, in units of VLEN / 64 elements; written `8VLs` in their names."""

RISCV_INSTRUCTIONS = (
    InstructionRow("RISCV_V_VFMACC", ("v",), (1, RISCV_WORDS, 1), ("f32", "f32", "f32")),
    InstructionRow("RISCV_V_VFMACC", ("v", "zvfh"), (1, RISCV_WORDS, 1), ("f16", "f16", "f16")),
)

REGISTER_BITS = {"X86_AVX2_FMA": 16 * 256}
"""The bits of all vector registers of a family; other x86 families have 32 registers of 512 bits.
"""


@dataclass(frozen=True, slots=True)
class CpuInstruction:
    """A matrix instruction: its shape, its element types, and the register space for its matrices.

    `registers` is in bits; for the generic instruction it is a number of registers. `vector_length`
    is 0 unless the instruction is a RISC-V one.
    """

    name: str
    m: int
    n: int
    k: int
    types: ElementTypes
    registers: int
    vector_length: int = 0

    @property
    def is_generic(self) -> bool:
        return self.name.startswith(GENERIC)

    @property
    def volume(self) -> int:
        return self.m * self.n * self.k

    @property
    def widens(self) -> bool:
        """Whether both inputs have the result's kind (float or integer) and are not wider."""
        left, right, result = self.types
        return all(
            one.is_float == result.is_float and one.bits <= result.bits for one in (left, right)
        )

    def register_space(self, operand: int) -> int:
        """Return the register space (as in `registers`) that one instruction's matrix takes."""
        sides = {LHS: self.m * self.k, RHS: self.n * self.k, RESULT: self.m * self.n}
        return sides[operand] * (1 if self.is_generic else self.types[operand].bits)

    def swizzle(self, operand: int) -> Swizzle:
        """Return the element order of a matrix: row-major, except for the result of 16x16."""
        inside = SwizzleDimension.internal
        if operand == RESULT and self.m == self.n == 16:
            return Swizzle(((inside(4),) * 2,) * 2, (1, 2, 0, 3))
        rows, columns = {LHS: (self.m, self.k), RHS: (self.n, self.k), RESULT: (self.m, self.n)}[
            operand
        ]
        return Swizzle(((inside(rows),), (inside(columns),)), (0, 1))


GENERIC = "MMA_GENERIC_SCALAR_1x1x1_REG"


def generic_instruction(registers: int, types: ElementTypes) -> CpuInstruction:
    """Return the scalar product of any number types in a given number of registers."""
    return CpuInstruction(f"{GENERIC}{registers}", 1, 1, 1, types, registers)


def _instruction(row: InstructionRow, length: int, *, swapped: bool) -> CpuInstruction:
    """Return the instruction of a row, or its twin for the transposed product.

    `length` is the vector length of RISC-V, else 0.
    """
    left, right, result = (element_type(name) for name in row.types)
    m, n, k = row.shape
    group = RISCV_WORDS if length else 0
    words = ["8VLs" if side == group else str(side) for side in row.shape]
    registers = 32 * length if length else REGISTER_BITS.get(row.family, 32 * 512)
    if length:
        n = n * length // 64
    if swapped:
        left, right, m, n, words = right, left, n, m, [words[1], words[0], words[2]]
    factors = dict.fromkeys((left.name.upper(), right.name.upper()))
    suffix = "_".join([result.name.upper(), *factors, *([f"CAST{row.cast}"] if row.cast else [])])
    name = f"MMA_{row.family}_{'x'.join(words)}_{suffix}"
    return CpuInstruction(name, m, n, k, (left, right, result), registers, length)


def _instructions_of_row(row: InstructionRow, length: int) -> Iterator[CpuInstruction]:
    yield _instruction(row, length, swapped=False)
    if row.shape[0] != row.shape[1]:
        yield _instruction(row, length, swapped=True)


def instructions_of(target: CpuTarget, types: ElementTypes) -> Iterator[CpuInstruction]:
    """Yield a CPU's instructions for products of the given types, the generic instruction last."""
    rows, length = (), 0
    if target.architecture in (Architecture.X86_64, Architecture.X86_32):
        rows = X86_INSTRUCTIONS
    elif target.architecture is Architecture.RISCV64:
        rows, length = RISCV_INSTRUCTIONS, target.vector_length
    for row in rows:
        if target.has(*row.features):
            yield from (one for one in _instructions_of_row(row, length) if one.types == types)
    if all(one.kind not in (ElementKind.COMPLEX, ElementKind.INDEX) for one in types):
        yield generic_instruction(16 if target.pointer_bits == 64 else 8, types)


_COUNTS = ("intrinsics_m", "intrinsics_n", "intrinsics_k")
_TYPES = ("lhs_type", "rhs_type", "acc_type")


@dataclass(frozen=True, slots=True)
class TiledCpuInstruction:
    """A tile of several instructions along M, N and K."""

    instruction: CpuInstruction
    intrinsics_m: int
    intrinsics_n: int
    intrinsics_k: int

    def __str__(self) -> str:
        """Return the text in `#iree_cpu.data_tiled_mma_layout`; counts of 1 are omitted."""
        instruction = self.instruction
        entries: list[tuple[str, object]] = [("intrinsic", instruction.name)]
        entries += larger_counts(self, _COUNTS)
        if instruction.is_generic:
            entries += zip(_TYPES, instruction.types, strict=True)
        if instruction.vector_length:
            entries.append(("vlen", instruction.vector_length))
        return entries_text(entries)

    @staticmethod
    def parse(text: str) -> TiledCpuInstruction | None:
        """Parse such a text; return `None` if it is malformed or the instruction is unknown."""
        entries = parse_entries(text)
        name = entries.pop("intrinsic", "")
        length = parse_count(entries.pop("vlen", "0"))
        types = [entries.pop(key, None) for key in _TYPES]
        counts = [parse_count(entries.pop(count, "1")) for count in _COUNTS]
        instruction = None if length is None else _instruction_named(name, length, types)
        m, n, k = counts
        if instruction is None or entries or not m or not n or not k:
            return None
        return TiledCpuInstruction(instruction, m, n, k)

    @property
    def tile(self) -> Tile:
        instruction = self.instruction
        return Tile(
            instruction.m * self.intrinsics_m,
            instruction.n * self.intrinsics_n,
            instruction.k * self.intrinsics_k,
        )

    def swizzle(self, operand: int) -> Swizzle:
        """Return the element order of one matrix's tile in memory."""
        m, n, k = self.intrinsics_m, self.intrinsics_n, self.intrinsics_k
        rows, columns = {LHS: (m, k), RHS: (n, k), RESULT: (m, n)}[operand]
        swizzle = self.instruction.swizzle(operand)
        for group, count in ((1, columns), (0, rows)):
            if count > 1:
                swizzle = swizzle.widened(group, SwizzleDimension.cross_intrinsic(count))
        return swizzle


def _instruction_named(name: str, length: int, types: list[str | None]) -> CpuInstruction | None:
    """Return the instruction of a name; `types` are given for the generic instruction only."""
    if (found := re.fullmatch(rf"{GENERIC}(8|16)", name)) and not length:
        try:
            left, right, result = (element_type(one or "") for one in types)
        except ValueError:
            return None
        return generic_instruction(int(found[1]), (left, right, result))
    rows = RISCV_INSTRUCTIONS if length else X86_INSTRUCTIONS
    if any(types) or length % 64:
        return None
    return next(
        (
            instruction
            for row in rows
            for instruction in _instructions_of_row(row, length)
            if instruction.name == name
        ),
        None,
    )


@lru_cache
def tiled_cpu_instruction(
    target: CpuTarget, types: ElementTypes, m: int | None, n: int | None
) -> TiledCpuInstruction | None:
    """Return the tile for products of given types and sizes; `None` if no instruction fits.

    The chosen instruction is the one that computes most useful products at once, and among equal
    ones the largest. Sizes are `None` if unknown.
    """

    def useful(instruction: CpuInstruction) -> tuple[int, int]:
        rows = instruction.m if m is None else min(instruction.m, m)
        columns = instruction.n if n is None else min(instruction.n, n)
        return rows * columns * instruction.k, instruction.volume

    instruction = max(instructions_of(target, types), key=useful, default=None)
    if instruction is None:
        return None
    return TiledCpuInstruction(instruction, *_unrolling(instruction, m, n))


def _unrolling(instruction: CpuInstruction, m: int | None, n: int | None) -> tuple[int, int, int]:
    """Return the number of instructions along M, N and K.

    M and N are chosen for the highest arithmetic intensity that fits in registers, and no larger
    than the product needs. K is 1 unless a row of one instruction is not a whole number of bytes.
    """
    k = 1
    while instruction.is_generic and any(
        k * factor.bits % 8 for factor in instruction.types[:RESULT]
    ):
        k *= 2
    left, right, result = (instruction.register_space(operand) for operand in range(3))
    left, right = left * k, right * k
    most_m = instruction.registers if m is None else max(1, -(-m // instruction.m))
    most_n = instruction.registers if n is None else max(1, -(-n // instruction.n))
    best, best_m, best_n = 0.0, 1, 1
    for along_m in range(1, most_m + 1):
        along_n = min(
            most_n, (instruction.registers - along_m * left) // (along_m * result + right)
        )
        if along_n < 1:
            break
        rows, columns = along_m * instruction.m, along_n * instruction.n
        if (intensity := rows * columns / (rows + columns)) > best:
            best, best_m, best_n = intensity, along_m, along_n
    return best_m, best_n, k

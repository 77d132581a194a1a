"""Tiles of processors' matrix instructions, and the order of their elements, as in IREE 3.13."""

from __future__ import annotations

import pytest
from mesh_opt.tiling.contractions import LHS, RESULT, RHS
from mesh_opt.tiling.cpu_intrinsics import TiledCpuInstruction, tiled_cpu_instruction
from mesh_opt.tiling.element_types import element_type
from mesh_opt.tiling.targets import cpu_target

ALL = "+avx512f,+avx512bw,+avx512vnni,+avx512bf16,+avx512fp16"


def tiled(
    triple: str, features: str, types: str, m: int | None = None, n: int | None = None
) -> TiledCpuInstruction:
    left, right, result = map(element_type, types.split())
    target = cpu_target(triple, features, inner_tiled=True)
    found = tiled_cpu_instruction(target, (left, right, result), m, n)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("triple", "features", "types", "sizes", "tile", "text"),
    [
        ("x86_64", "+avx512f", "f32 f32 f32", (100, 100), (29, 16, 1), "AVX512_1x16x1_F32_F32"),
        ("x86_64", "+avx512f", "f64 f64 f64", (100, 100), (14, 16, 1), "AVX512_1x8x1_F64_F64"),
        ("x86_64", "+avx512f", "f16 f16 f32", (None, None), (30, 16, 1), "F32_F16_CASTF32"),
        ("x86_64", "+avx512f", "f32 f32 f32", (100, 4), (96, 4, 1), "AVX512_16x1x1_F32_F32"),
        ("x86_64", "+avx512f", "f32 f32 f32", (4, 100), (4, 96, 1), "AVX512_1x16x1_F32_F32"),
        ("x86_64", "+avx512f", "f32 f32 f32", (17, 17), (14, 32, 1), "AVX512_1x16x1_F32_F32"),
        ("x86_64", ALL, "i8 i8 i32", (1, 1), (16, 16, 2), "AVX512VNNI_16x16x2_I32_I8_CASTI16"),
        ("x86_64", ALL, "i16 i16 i32", (100, 100), (29, 16, 2), "X86_AVX512_1x16x2_I32_I16"),
        ("x86_64", ALL, "ui8 i8 i32", (50, 60), (29, 16, 4), "AVX512VNNI_1x16x4_I32_UI8_I8"),
        ("x86_64", ALL, "i8 ui8 i32", (50, 60), (16, 29, 4), "AVX512VNNI_16x1x4_I32_I8_UI8"),
        ("x86_64", "+avx2,+fma", "f32 f32 f32", (100, 100), (13, 8, 1), "AVX2_FMA_1x8x1_F32_F32"),
        ("x86_64", "+avx2", "f32 f32 f32", (100, 100), (3, 3, 1), "GENERIC_SCALAR_1x1x1_REG16"),
        ("i686", "", "f32 f32 f32", (100, 100), (2, 2, 1), "GENERIC_SCALAR_1x1x1_REG8"),
        ("aarch64", "+sve", "i4 i4 i32", (100, 100), (2, 3, 2), "intrinsics_k = 2"),
        ("aarch64", "", "i1 i1 i32", (100, 100), (1, 1, 8), "intrinsics_k = 8"),
        ("riscv64", "+v", "f32 f32 f32", (100, 100), (6, 16, 1), "vlen = 128"),
        ("riscv64", "+v,+zvfh,+zvl256b", "f16 f16 f16", (None, None), (14, 32, 1), "vlen = 256"),
    ],
)
def test_tiles(
    triple: str,
    features: str,
    types: str,
    sizes: tuple[int | None, int | None],
    tile: tuple[int, int, int],
    text: str,
) -> None:
    found = tiled(triple, features, types, *sizes)
    assert (found.tile.m, found.tile.n, found.tile.k) == tile
    assert text in str(found)
    assert TiledCpuInstruction.parse(str(found)) == found


def test_the_order_of_elements() -> None:
    wide = tiled("x86_64", "+avx512f", "f32 f32 f32", 4, 100)
    assert [wide.swizzle(operand).memory_sizes() for operand in (LHS, RHS, RESULT)] == [
        [4, 1, 1],
        [6, 16, 1],
        [4, 6, 1, 16],
    ]
    square = tiled("x86_64", ALL, "i8 i8 i32", 100, 100)
    assert square.swizzle(RESULT).permutation == (1, 2, 0, 3)
    grouped = tiled("x86_64", "", "i1 i1 i32", 100, 100)
    assert grouped.swizzle(RHS).memory_sizes() == [8, 1, 1]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "intrinsic = MMA_X86_AVX512_3x3x3_F32_F32",
        "intrinsics_m = 3",
        "vlen = x",
        "intrinsic = MMA_RISCV_V_VFMACC_1x8VLsx1_F32_F32, vlen = 100",
    ],
)
def test_unknown_targets(text: str) -> None:
    assert TiledCpuInstruction.parse(text) is None

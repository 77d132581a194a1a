"""Tiles of matrix instructions and the order of their elements, as IREE 3.13 has them."""

from __future__ import annotations

import pytest
from mesh_opt.tiling.contractions import LHS, RESULT, RHS
from mesh_opt.tiling.gpu_intrinsics import (
    TiledGpuInstruction,
    Workgroup,
    gpu_instruction,
    tiled_gpu_instruction,
)
from mesh_opt.tiling.packed_layouts import PackedLayout, Swizzle

LETTERS = {"CrossThread": "T", "CrossIntrinsic": "I", "Internal": "E"}


def text(swizzle: Swizzle) -> str:
    """Factors of rows and columns with their distance, if it is not one; then the order."""
    groups = [
        " ".join(
            f"{LETTERS[factor.kind]}{factor.size}"
            + ("" if factor.symbol in (1, None, "One") else f"/{factor.symbol}")
            for factor in group
        )
        for group in swizzle.expand_shape
    ]
    return f"{' x '.join(groups)} [{','.join(map(str, swizzle.permutation))}]"


@pytest.mark.parametrize(
    ("names", "limits", "sizes", "expected"),
    [
        (
            "MFMA_F32_16x16x4_F32",
            (128, 16384, 4),
            (None, None, None),
            [
                "T2/2 I4 T16 x I4 T4 [0,1,4,2,3]",
                "T2 I4 T16 x I4 T4 [0,1,4,2,3]",
                "T2 I4 T4 E4 x T2 I4 T16 [0,4,1,5,2,6,3]",
            ],
        ),
        (
            "MFMA_F32_16x16x4_F32",
            (128, 16384, 4),
            (1024, 1024, 16),
            [
                "I2 T16 x I4 T4 [0,3,1,2]",
                "T4 T16 x I4 T4 [0,3,1,2]",
                "I2 T4 E4 x T4 T16 [3,0,1,4,2]",
            ],
        ),
        (
            "MFMA_F32_16x16x4_F32",
            (128, 16384, 4),
            (512, 512, 1),
            [
                "T16 x I4 T4 [2,0,1]",
                "T16 x I4 T4 [2,0,1]",
                "T4 E4 x T16 [0,2,1]",
            ],
        ),
        (
            "MFMA_F32_32x32x8_F16 MFMA_F32_16x16x16_F16",
            (128, 16384, 4),
            (None, None, None),
            [
                "T2/2 I4 T16 x I2 T4 E4 [0,1,4,2,3,5]",
                "T2 I4 T16 x I2 T4 E4 [0,1,4,2,3,5]",
                "T2 I4 T4 E4 x T2 I4 T16 [0,4,1,5,2,6,3]",
            ],
        ),
        (
            "MFMA_I32_16x16x32_I8",
            (128, 16384, 4),
            (None, 128, None),
            [
                "T2/2 I4 T16 x I2 T4 E8 [0,1,4,2,3,5]",
                "T2 I4 T16 x I2 T4 E8 [0,1,4,2,3,5]",
                "T2 I4 T4 E4 x T2 I4 T16 [0,4,1,5,2,6,3]",
            ],
        ),
        (
            "MFMA_F64_16x16x4_F64",
            (64, 8192, 2),
            (None, None, None),
            [
                "I4 T16 x T4 [0,2,1]",
                "T2 I2 T16 x T4 [0,1,3,2]",
                "I4 E4 T4 x T2 I2 T16 [3,0,4,1,2,5]",
            ],
        ),
        (
            "MFMA_I32_32x32x16_I8",
            (256, 16384, 1),
            (4096, 4096, None),
            [
                "I4 T32 x I4 T2 E8 [0,3,1,2,4]",
                "I4 T32 x I4 T2 E8 [0,3,1,2,4]",
                "I4 E4 T2 E4 x I4 T32 [0,4,1,2,5,3]",
            ],
        ),
        (
            "WMMAR3_F32_16x16x16_F16",
            (128, 8192, 4),
            (None, None, None),
            [
                "T2/2 I2 T16 x T1/2 E16 [0,1,3,2,4]",
                "T2 I2 T16 x T1/2 E16 [0,1,3,2,4]",
                "T2 I2 E8 T2 x T2 I2 T16 [0,4,1,5,2,3,6]",
            ],
        ),
        (
            "WMMAR4_F32_16x16x16_BF16",
            (256, 8192, 4),
            (None, 16, None),
            [
                "I8 T16 x I2 T2 E8 [0,3,1,2,4]",
                "T16 x I2 T2 E8 [2,0,1,3]",
                "I8 T2 E8 x T16 [0,1,3,2]",
            ],
        ),
        (
            "WMMA_F32_16x16x4_F32",
            (128, 4096, 2),
            (1, None, None),
            [
                "T16 x I2 T2 E2 [2,0,1,3]",
                "T2 I4 T16 x I2 T2 E2 [0,1,4,2,3,5]",
                "T2 E8 x T2 I4 T16 [2,3,0,4,1]",
            ],
        ),
        (
            "MFMA_F32_16x16x32_F8E5M2FNUZ_F8E4M3FNUZ",
            (32, 2048, 4),
            (None, None, None),
            [
                "I2 T16 x T4 E8 [0,2,1,3]",
                "T4 T16 x T4 E8 [0,2,1,3]",
                "I2 T4 E4 x T4 T16 [3,0,1,4,2]",
            ],
        ),
        (
            "MFMA_F32_4x4x1x16B_F32",
            (128, 16384, 4),
            (None, None, None),
            [
                "",
                "",
                "",
            ],
        ),
    ],
)
def test_as_iree(
    names: str,
    limits: tuple[int, int, int],
    sizes: tuple[int | None, int | None, int | None],
    expected: list[str],
) -> None:
    load_bits, register_bits, subgroups = limits
    workgroup = Workgroup(
        tuple(names.split()),
        load_bits,
        register_bits,
        subgroups,
        shared_bytes=65536,
        processors=512,
    )
    last = gpu_instruction(names.rsplit(maxsplit=1)[-1])
    types = [] if last is None else last.types
    tiled = tiled_gpu_instruction(workgroup, types, sizes[0], sizes[1])
    if tiled is None:
        assert expected == ["", "", ""]
        return
    assert [text(tiled.swizzle(operand)) for operand in (LHS, RHS, RESULT)] == expected
    tile = tiled.tile
    for operand, tiles in (
        (LHS, (tile.m, tile.k)),
        (RHS, (tile.n, tile.k)),
        (RESULT, (tile.m, tile.n)),
    ):
        PackedLayout((0, 1), tiles, (0, 1), swizzle=tiled.swizzle(operand))


@pytest.mark.parametrize(
    "name",
    ["MFMA_F32_16x16x4", "MFMA_F32_7x7x4_F32", "WMMA_F32_32x32x4_F32", "MFMA_F32_16x16x0_F32"],
)
def test_unknown_instructions(name: str) -> None:
    assert gpu_instruction(name) is None


def test_the_order_of_a_broadcast_operand() -> None:
    workgroup = Workgroup(("MFMA_F32_16x16x4_F32",), 128, 16384, 4, 65536, 512)
    one = gpu_instruction("MFMA_F32_16x16x4_F32")
    assert one is not None
    tiled = tiled_gpu_instruction(workgroup, one.types, None, None)
    assert tiled is not None
    swizzle = tiled.swizzle(RESULT)
    assert text(swizzle) == "T2 I4 T4 E4 x T2 I4 T16 [0,4,1,5,2,6,3]"
    assert text(swizzle.restricted([True, False])) == "T2 I4 T4 E4 [0,1,2,3]"
    assert text(swizzle.restricted([False, True])) == "T2 I4 T16 [0,1,2]"


@pytest.mark.parametrize(
    ("text", "tile"),
    [
        ("intrinsic = MFMA_F32_16x16x4_F32", (16, 16, 4)),
        ("intrinsic = WMMAR3_F32_16x16x16_F16, intrinsics_m = 2, subgroups_n = 4", (32, 64, 16)),
        ("intrinsic = MFMA_I32_16x16x32_I8, intrinsics_n = 2, intrinsics_k = 2", (16, 32, 64)),
    ],
)
def test_instructions_are_read_as_they_are_written(text: str, tile: tuple[int, ...]) -> None:
    text += ", operands_interleaving_intrinsics_k = [0, 1]"
    tiled = TiledGpuInstruction.parse(text)
    assert tiled is not None
    assert str(tiled) == text
    assert (tiled.tile.m, tiled.tile.n, tiled.tile.k) == tile


@pytest.mark.parametrize(
    "text",
    [
        "intrinsic = MFMA_F32_16x16x4_F32, intrinsics_k = 2",
        "intrinsic = MFMA_F32_4x4x4x16B_F16",
        "intrinsic = MFMA_F32_16x16x4_F32, col_major = true",
        "intrinsics_m = 2",
    ],
)
def test_instructions_whose_lanes_are_not_known(text: str) -> None:
    assert TiledGpuInstruction.parse(text) is None

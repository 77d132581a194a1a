"""Which layout a target chooses: narrow shapes, tile families, transposed results."""

from __future__ import annotations

import pytest
from mesh_opt.tiling.contractions import ContractionOperand, Role
from mesh_opt.tiling.element_types import element_type
from mesh_opt.tiling.packed_layouts import DYNAMIC_TILE, IDENTITY, PackedLayout
from mesh_opt.tiling.solve import packed_layout
from mesh_opt.tiling.targets import (
    Architecture,
    CpuTarget,
    GpuTarget,
    Target,
    VmvxTarget,
    cpu_target,
)
from mesh_opt.tiling.tiles import Narrow, Tile, choose_tile, halving_family, narrow_side

MATMUL = ((0, 2), (2, 1), (0, 1))
AVX512 = cpu_target("x86_64-linux", "+avx,+avx2,+fma,+avx512f")


def matmul(index: int, sizes: tuple[int | None, ...] = (), *types: str) -> ContractionOperand:
    elements = tuple(map(element_type, types or ("f32", "f32", "f32")))
    return ContractionOperand(index, elements, MATMUL, MATMUL[index], sizes)


def test_halving_family() -> None:
    assert [tile.m for tile in halving_family(Tile(7, 16, 1))] == [7, 4, 2, 1]
    assert [tile.m for tile in halving_family(Tile(8, 8, 4))] == [8, 4, 2, 1]


@pytest.mark.parametrize(
    ("sizes", "narrow"),
    [
        ((), None),
        ((4, 4, 9), None),
        ((None, None, 9), None),
        ((5, 50, 9), Narrow(Role.M, 8)),
        ((50, 5, 9), Narrow(Role.N, 8)),
        ((None, 1000, 9), Narrow(Role.N, 1024)),
        ((1000, None, 9), Narrow(Role.M, 1024)),
    ],
)
def test_narrow_side(sizes: tuple[int | None, ...], narrow: Narrow | None) -> None:
    operand = matmul(0, sizes)
    roles = operand.roles()
    assert roles is not None
    assert narrow_side(operand, roles) == narrow


def test_choose_from_nothing() -> None:
    assert choose_tile((), None) is None


def test_narrow_n_result_is_transposed() -> None:
    sizes = (17, 3, 40)
    assert packed_layout(AVX512, matmul(0, sizes)) == PackedLayout((0, 1), (16, 1), (0, 1))
    assert packed_layout(AVX512, matmul(1, sizes)) == PackedLayout((1, 0), (4, 1), (1, 0))
    assert packed_layout(AVX512, matmul(2, sizes)) == PackedLayout((1, 0), (4, 16), (1, 0))


def test_batch_is_outermost_and_not_tiled() -> None:
    maps = ((0, 1, 3), (0, 3, 2), (0, 1, 2))
    types = (element_type("f32"),) * 3
    operand = ContractionOperand(1, types, maps, maps[1], (3, 17, 17, 40))
    assert packed_layout(AVX512, operand) == PackedLayout((2, 1), (16, 1), (0, 2, 1))


def test_broadcast_operand_keeps_only_its_own_dimensions() -> None:
    maps = ((0, 1, 3), (0, 3, 2), (0, 1, 2))
    types = (element_type("f32"),) * 3
    operand = ContractionOperand(1, types, maps, (3, 2), (3, 17, 17, 40))
    assert packed_layout(AVX512, operand) == PackedLayout((1, 0), (16, 1), (1, 0))


def test_virtual_machine() -> None:
    dynamic = packed_layout(VmvxTarget(ukernels=True), matmul(0, (31, 31, 31)))
    assert dynamic.inner_tiles == (DYNAMIC_TILE, DYNAMIC_TILE)
    assert packed_layout(VmvxTarget(ukernels=True), matmul(0, (31, 30, 9))).inner_tiles == (8, 4)
    assert packed_layout(VmvxTarget(), matmul(0, (1, 30, 9))).inner_tiles == (1, 4)


def test_scalable_tiles_follow_the_swap() -> None:
    target = CpuTarget(Architecture.AARCH64, frozenset({"sve"}), scalable=True)
    assert packed_layout(target, matmul(1)).scalable == (True, False)
    assert packed_layout(target, matmul(0, (17, 3, 40))).scalable == (True, False)
    assert packed_layout(target, matmul(1, (17, 3, 40))).scalable == ()


@pytest.mark.parametrize(
    ("target", "types"),
    [
        (AVX512, ("f64", "f64", "f64")),
        (AVX512, ("i4", "i4", "i32")),
        (cpu_target("i686-linux", "+avx2"), ("f32", "f32", "f32")),
        (cpu_target("wasm32-unknown", ""), ("f32", "f32", "f32")),
        (cpu_target("riscv64-linux", ""), ("f32", "f32", "f32")),
        (GpuTarget("gfx1100"), ("f32", "f32", "f32")),
        (GpuTarget("sm_90"), ("f16", "f16", "f32")),
    ],
)
def test_no_tile_is_the_identity(target: Target, types: tuple[str, str, str]) -> None:
    assert packed_layout(target, matmul(0, (64, 64, 64), *types)) is IDENTITY


@pytest.mark.parametrize("result", ["f16", "f32", "f64", "bf16", "f8E4M3FN"])
def test_half_precision_on_riscv_has_tiles_for_all_float_results(result: str) -> None:
    target = cpu_target("riscv64", "+v,+zvl256b,+zvfh")
    assert packed_layout(target, matmul(2, (66, 64, 64), "f16", "f16", result)).inner_tiles == (
        7,
        32,
    )


def test_gpu_tiles() -> None:
    target = GpuTarget("gfx942")
    large, small = (1024, 1024, 1024), (100, 200, 300)
    assert packed_layout(target, matmul(0, large)).inner_tiles == (32, 16)
    assert packed_layout(target, matmul(1, large)).inner_tiles == (64, 16)
    assert packed_layout(target, matmul(1, small)).inner_tiles == (16, 16)


@pytest.mark.parametrize(
    "maps",
    [
        ((0,), (0,), ()),  # no M and no N
        ((0, 2), (2, 1), (0, 1, 3)),  # a loop of the result alone
        ((0, None), (2, 1), (0, 1)),  # not one loop a dimension
        ((0, 2), (2, 1)),  # not a contraction of two tensors
    ],
)
def test_not_a_simple_contraction(maps: tuple[tuple[int | None, ...], ...]) -> None:
    types = (element_type("f32"),) * 3
    assert packed_layout(AVX512, ContractionOperand(0, types, maps, maps[0])) is IDENTITY


def test_features_are_read_from_left_to_right() -> None:
    target = cpu_target("x86_64", "+avx2, +avx512f,-avx512f")
    assert target.features == {"avx2"}
    assert cpu_target("riscv64", "+v,+zvl128b,+zvl512b").vector_length == 512


def several(
    index: int, maps: str, sizes: tuple[int | None, ...], target: Target = AVX512
) -> PackedLayout:
    """The layout of an operand of an einsum over the loops a, b, c, ..., such as `ac,cb->ab`."""
    loops = [tuple(ord(letter) - ord("a") for letter in one) for one in maps.split(",")]
    tensors = tuple[tuple[int | None, ...], ...](loops)
    types = (element_type("f32"),) * 3
    return packed_layout(target, ContractionOperand(index, types, tensors, tensors[index], sizes))


def test_several_loops_of_one_role_are_joined_with_the_tiles_of_one() -> None:
    # M is a and b, N is c, K is d and e: the longer loops are tiled.
    maps, sizes = "abde,dec,abc", (3, 32, 48, 4, 20)
    assert several(0, maps, sizes) == PackedLayout((1, 3), (16, 1), (0, 1, 2, 3))
    assert several(1, maps, sizes) == PackedLayout((2, 1), (16, 1), (2, 0, 1))
    assert several(2, maps, sizes) == PackedLayout((1, 2), (16, 16), (0, 1, 2))


def test_the_order_inside_a_role_is_that_of_the_loops() -> None:
    assert several(0, "bae,ec,abc", (16, 3, 16, 16, 16)).outer_permutation == (1, 0, 2)
    assert several(2, "bae,ec,cba", (16, 3, 16, 16, 16)).outer_permutation == (2, 1, 0)


def test_short_loops_of_one_role_get_short_tiles() -> None:
    # Tiles are cut on both sides, and the longer one has the vectors.
    assert several(2, "abd,dc,abc", (2, 3, 5, 9)).inner_tiles == (4, 8)
    assert several(2, "abd,dc,abc", (2, 30, 5, 9)) == PackedLayout((2, 1), (8, 16), (2, 0, 1))
    vmvx = VmvxTarget(ukernels=True)
    assert several(0, "abd,dc,abc", (64, 64, 64, 2), vmvx).inner_tiles == (8, 2)


def test_of_dynamic_and_static_loops_the_one_with_less_padding_is_tiled() -> None:
    assert several(0, "abd,dc,abc", (None, 32, 5, 9)).inner_positions == (1, 2)
    assert several(0, "abd,dc,abc", (None, 3, 5, 9)).inner_positions == (0, 2)

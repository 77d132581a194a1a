"""Layouts of convolutions, as IREE 3.13 has them."""

from __future__ import annotations

import pytest
from mesh_opt.tiling.convolutions import ConvolutionOperand, LinearMap, convolution_layout
from mesh_opt.tiling.element_types import element_type
from mesh_opt.tiling.packed_layouts import IDENTITY, PackedLayout
from mesh_opt.tiling.targets import Target, VmvxTarget, cpu_target

AVX512 = cpu_target("x86_64-linux", "+avx,+avx2,+avx512f")
ARM = cpu_target("aarch64-linux", "")


def linear(*dimensions: str) -> LinearMap:
    """`linear("n", "2h+k")` over the loops n, h, w, f, k, l, c, g."""
    loops = "nhwfklcg"
    return tuple(
        tuple(sorted((loops.index(term[-1]), int(term[:-1] or 1)) for term in dimension.split("+")))
        for dimension in dimensions
    )


NHWC = (
    linear("n", "h+k", "w+l", "c"),
    linear("k", "l", "c", "f"),
    linear("n", "h", "w", "f"),
)
NCHW = (
    linear("n", "c", "h+k", "w+l"),
    linear("f", "c", "k", "l"),
    linear("n", "f", "h", "w"),
)


def layout(target: Target, maps: tuple[LinearMap, ...], index: int, *types: str) -> PackedLayout:
    elements = tuple(map(element_type, types or ("f32", "f32", "f32")))
    return convolution_layout(target, ConvolutionOperand(index, elements, maps))


def test_channels_come_before_places() -> None:
    assert layout(AVX512, NHWC, 0) == PackedLayout((3,), (16,), (0, 3, 1, 2))
    assert layout(AVX512, NHWC, 1) == PackedLayout((2, 3), (16, 16), (3, 2, 0, 1))
    assert layout(ARM, NHWC, 2) == PackedLayout((3,), (8,), (0, 3, 1, 2))
    assert layout(AVX512, NCHW, 0) == PackedLayout((1,), (16,), (0, 1, 2, 3))
    assert layout(ARM, NCHW, 1) == PackedLayout((1, 0), (8, 8), (0, 1, 2, 3))


def test_strides_do_not_matter() -> None:
    strided = (linear("n", "2h+k", "2w+l", "c"), *NHWC[1:])
    assert layout(AVX512, strided, 0) == layout(AVX512, NHWC, 0)


def test_without_a_batch() -> None:
    maps = (linear("h+k", "w+l", "c"), NHWC[1], linear("h", "w", "f"))
    assert layout(AVX512, maps, 0) == PackedLayout((2,), (16,), (2, 0, 1))


DILATED = (linear("n", "h+2k", "w+l", "c"), *NHWC[1:])
GROUPED = (
    linear("n", "h+k", "w+l", "g", "c"),
    linear("k", "l", "g", "c", "f"),
    linear("n", "h", "w", "g", "f"),
)
DEPTHWISE = (linear("h+k", "w+l", "f"), linear("k", "l", "f"), linear("h", "w", "f"))
MATMUL = (linear("h", "c"), linear("c", "f"), linear("h", "f"))


@pytest.mark.parametrize("maps", [DILATED, GROUPED, DEPTHWISE, MATMUL, NHWC[:2]])
def test_no_tile_for_the_convolution(maps: tuple[LinearMap, ...]) -> None:
    assert layout(AVX512, maps, 0) is IDENTITY


@pytest.mark.parametrize("target", [cpu_target("x86_64", "+avx2"), VmvxTarget()])
def test_no_tile_on_the_target(target: Target) -> None:
    assert layout(target, NHWC, 0) is IDENTITY


def test_no_tile_for_the_types() -> None:
    assert layout(AVX512, NHWC, 0, "f16", "f16", "f32") is IDENTITY

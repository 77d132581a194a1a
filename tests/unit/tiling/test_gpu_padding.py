"""Room behind rows for the caches of graphics processors."""

from __future__ import annotations

import pytest
from mesh_opt.tiling.gpu_layouts import Cache, cache_of, row_padding
from mesh_opt.tiling.targets import GpuTarget

GFX942 = Cache(line_bytes=128, sets=4)


@pytest.mark.parametrize(
    ("bits", "lengths"),
    [
        (8, {256: 0, 512: 128, 513: 127, 576: 64, 640: 0, 1088: 64, 4096: 128, 4160: 64}),
        (16, {192: 0, 256: 64, 257: 63, 320: 0, 500: 76, 513: 63, 576: 0, 4096: 64, 4160: 0}),
        (32, {100: 0, 128: 32, 192: 0, 384: 32, 513: 31, 1088: 0, 8192: 32}),
        (64, {16: 0, 64: 16, 96: 0, 100: 12, 513: 15, 1088: 16}),
        (4, {1000: 0, 4096: 0}),
    ],
)
def test_rows_are_padded_as_iree_pads_them(bits: int, lengths: dict[int, int]) -> None:
    assert {length: row_padding(GFX942, length, bits) for length in lengths} == lengths


@pytest.mark.parametrize("architecture", ["gfx1100", "gfx908", "sm_80", ""])
def test_other_processors_have_no_known_cache(architecture: str) -> None:
    assert cache_of(GpuTarget(architecture)) is None


def test_gfx942_has_a_known_cache() -> None:
    assert cache_of(GpuTarget("gfx942")) == GFX942

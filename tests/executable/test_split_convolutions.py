"""Random convolutions of StableHLO on images whose places are split, and their gradients."""

# ruff: noqa: E501

from __future__ import annotations

import re

import numpy as np
import pytest
from breadth import cases
from mesh_opt import api

GRIDS = [
    ('"x"=2', '{"x"}, {}'),
    ('"x"=3', '{"x"}, {}'),
    ('"x"=2, "y"=2', '{"x"}, {"y"}'),
    ('"x"=4', '{}, {"x"}'),
]


def kind(array: np.ndarray) -> str:
    return f"tensor<{'x'.join(map(str, array.shape))}xi32>"


class Case:
    """An image `[b, 0, 1, f]` or, with the batch and the features exchanged, what its gradient
    with respect to the kernel is: a window as large as the image."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.of_kernel = seed % 3 == 2
        self.groups = 1 if self.of_kernel else int(rng.integers(1, 3))
        self.grid, axes = GRIDS[seed % len(GRIDS)]
        sides = rng.integers(4, 12, 2)
        self.windows: list[tuple[int, int, int, int, int]] = []
        taps: list[int] = []
        for side in map(int, sides):
            stride, apart, dilation = (int(rng.integers(1, 3)) for _ in range(3))
            low, high = map(int, rng.integers(-1, 4, 2))
            room = (side - 1) * apart + 1 + low + high
            most = max((room - 1) // dilation + 1, 1)
            taps.append(
                int(
                    rng.integers(max(most - 3, 1), most + 1)
                    if self.of_kernel
                    else rng.integers(1, min(5, most) + 1)
                )
            )
            self.windows.append((low, high, stride, apart, dilation))
        depth = 2 * self.groups
        self.image = rng.integers(-9, 9, (2, *sides, depth)).astype(np.int32)
        self.kernel = rng.integers(-9, 9, (*taps, 2, 3 * self.groups)).astype(np.int32)
        self.shape = [
            ((side - 1) * apart + low + high - (tap - 1) * dilation) // stride + 1
            for side, tap, (low, high, stride, apart, dilation) in zip(
                map(int, sides), taps, self.windows, strict=True
            )
        ]
        split = f"[{{}}, {axes}, {{}}]"
        kernel = (
            f" {{sdy.sharding = #sdy.sharding<@mesh, [{axes}, {{}}, {{}}]>}}"
            if self.of_kernel
            else ""
        )
        result = f"tensor<2x{self.shape[0]}x{self.shape[1]}x{3 * self.groups}xi32>"
        lists = list(zip(*self.windows, strict=True))
        self.text = f"""
sdy.mesh @mesh = <[{self.grid}]>
func.func @main(%a: {kind(self.image)} {{sdy.sharding = #sdy.sharding<@mesh, {split}>}}, %k: {kind(self.kernel)}{kernel}) -> {result} {{
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{stride = {list(lists[2])}, pad = {[list(w[:2]) for w in self.windows]}, lhs_dilate = {list(lists[3])}, rhs_dilate = {list(lists[4])}}} {{batch_group_count = 1 : i64, feature_group_count = {self.groups} : i64}} : ({kind(self.image)}, {kind(self.kernel)}) -> {result}
  return %0 : {result}
}}"""


@pytest.mark.parametrize("case", cases(4, 400))
def test_random(case: int) -> None:
    """Uneven shards, strides, both dilations, groups, padding that is negative or as large as a
    shard; of gradients of kernels the sum over the image is split."""
    made = Case(case)
    if min(made.shape) < 1:
        pytest.skip("no window fits")
    whole = api.compile(re.sub(r" \{sdy.sharding = .*?>\}", "", made.text), "spmd")["main"]
    (expected,) = whole.run([made.image, made.kernel], backend="interpreter")
    main = api.compile(made.text, "spmd")["main"]
    for backend in ["interpreter", "native"] if case < 8 else ["interpreter"]:
        (found,) = main.run([made.image, made.kernel], backend=backend)
        np.testing.assert_array_equal(found, expected)

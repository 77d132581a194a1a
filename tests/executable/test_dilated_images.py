"""Convolutions of images with zeros between their elements, which are cut into phases."""

# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pytest
from breadth import cases
from mesh_opt import api
from mesh_opt.passes.stablehlo.products import convolution


def convolved(
    image: np.ndarray,
    kernel: np.ndarray,
    windows: list[tuple[int, int, int, int]],
    reverse: list[bool],
    groups: int,
) -> np.ndarray:
    """The sums that define a convolution `[b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]`.

    Windows are the padding at both sides, the distance of the image's elements and the stride.
    """
    sides, taps = image.shape[1:3], kernel.shape[:2]
    padded = [
        low + (size - 1) * apart + 1 + high
        for size, (low, high, apart, _) in zip(sides, windows, strict=True)
    ]
    spread = np.zeros((image.shape[0], *np.maximum(padded, 0), image.shape[3]), image.dtype)
    for place in np.ndindex(*sides):
        at = [p * apart + low for p, (low, _, apart, _) in zip(place, windows, strict=True)]
        if all(0 <= each < size for each, size in zip(at, padded, strict=True)):
            spread[:, at[0], at[1]] = image[:, *place]
    counts = [
        max((size - width) // stride + 1, 0)
        for size, width, (*_, stride) in zip(padded, taps, windows, strict=True)
    ]
    depth, features = kernel.shape[3], kernel.shape[2]
    result = np.zeros((image.shape[0], *counts, features), image.dtype)
    kernel = kernel[:: -1 if reverse[0] else 1, :: -1 if reverse[1] else 1]
    for i, j, o in np.ndindex(*counts, features):
        group = o // (features // groups)
        row, column = i * windows[0][3], j * windows[1][3]
        seen = spread[:, row : row + taps[0], column : column + taps[1]]
        seen = seen[..., group * depth : (group + 1) * depth]
        result[:, i, j, o] = (seen * kernel[:, :, o]).sum((1, 2, 3))
    return result


@pytest.mark.parametrize("case", cases(6, 200))
def test_random(case: int) -> None:
    """Any padding, also negative; windows shorter than the distance; groups; reversed windows."""
    rng = np.random.default_rng(case)
    groups = int(rng.integers(1, 3))
    sides, taps = rng.integers(1, 7, 2), rng.integers(1, 5, 2)
    image = rng.integers(-9, 9, (2, *sides, 2 * groups)).astype(np.int32)
    kernel = rng.integers(-9, 9, (*taps, 3 * groups, 2)).astype(np.int32)
    windows = [
        (*map(int, rng.integers(-1, 4, 2)), int(rng.integers(1, 5)), int(rng.integers(1, 3)))
        if rng.integers(3) == 0
        else (*map(int, rng.integers(-1, 4, 2)), int(rng.integers(2, 4)), 1)
        for _ in range(2)
    ]
    reverse = [bool(each) for each in rng.integers(0, 2, 2)]
    expected = convolved(image, kernel, windows, reverse, groups)
    if 0 in expected.shape:
        pytest.skip("no window fits")

    def kind(array: np.ndarray) -> str:
        return f"tensor<{'x'.join(map(str, array.shape))}xi32>"

    text = f"""
func.func @main(%a: {kind(image)}, %k: {kind(kernel)}) -> {kind(expected)} {{
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {{stride = {[w[3] for w in windows]}, pad = {[list(w[:2]) for w in windows]}, lhs_dilate = {[w[2] for w in windows]}, reverse = {str([int(r) for r in reverse]).replace("1", "true").replace("0", "false")}}} {{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}} : ({kind(image)}, {kind(kernel)}) -> {kind(expected)}
  return %0 : {kind(expected)}
}}"""
    main = api.compile(text, "spmd")["main"]
    backends = ["interpreter", "native"] if case < 4 else ["interpreter"]
    for backend in backends:
        np.testing.assert_array_equal(main.run([image, kernel], backend=backend)[0], expected)


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_a_window_with_gaps_too(backend: str) -> None:
    """Elements of `a 0 b 0 c 0 d` that are three places apart: one of the two is a zero."""
    text = """
func.func @main(%a: tensor<1x4x1xi32>, %k: tensor<2x1x1xi32>) -> tensor<1x4x1xi32> {
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[0, 0]], lhs_dilate = [2], rhs_dilate = [3]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x1xi32>, tensor<2x1x1xi32>) -> tensor<1x4x1xi32>
  return %0 : tensor<1x4x1xi32>
}"""
    image = np.array([1, 2, 3, 4], np.int32).reshape(1, 4, 1)
    kernel = np.array([10, 1], np.int32).reshape(2, 1, 1)
    found = api.compile(text, "spmd")["main"].run([image, kernel], backend=backend)[0]
    assert found.ravel().tolist() == [10, 3, 20, 4]


def test_zeros_are_not_multiplied(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of two is four phases: there is no zero for an infinite number to meet."""
    text = """
func.func @main(%a: tensor<1x4x4x3xf32>, %k: tensor<3x3x3x5xf32>) -> tensor<1x7x7x5xf32> {
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]], lhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x3xf32>, tensor<3x3x3x5xf32>) -> tensor<1x7x7x5xf32>
  return %0 : tensor<1x7x7x5xf32>
}"""
    image, kernel = np.ones((1, 4, 4, 3), np.float32), np.ones((3, 3, 3, 5), np.float32)
    kernel[0, 0, 0, 0] = np.inf
    main = api.compile(text, "spmd")["main"]
    for backend in ("interpreter", "native"):
        (found,) = main.run([image, kernel], backend=backend)
        assert not np.isnan(found).any()
        assert np.isinf(found).sum() == np.isinf(found[0, 1::2, 1::2, 0]).sum() == 9
    monkeypatch.setattr(convolution, "MAX_CONVOLUTION_PHASES", 3)
    (whole,) = api.compile(text, "spmd")["main"](image, np.ones_like(kernel))
    np.testing.assert_array_equal(main(image, np.ones_like(kernel))[0], whole)

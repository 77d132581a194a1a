"""select_and_scatter: chosen elements of windows, against what defines it."""

# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pytest
from breadth import cases
from mesh_opt import api
from mesh_opt.passes.stablehlo.reduction import select_and_scatter

Window = tuple[int, int, int, int]
"""Size, stride, and padding before and behind."""


def scattered(operand: np.ndarray, source: np.ndarray, windows: list[Window]) -> np.ndarray:
    """Each window's largest element, the first of equal ones, gets what is scattered to it."""
    result = np.zeros_like(operand)
    for place in np.ndindex(*source.shape):
        best: tuple[int, ...] | None = None
        for offset in np.ndindex(*(size for size, *_ in windows)):
            at = tuple(
                i * stride + k - low
                for i, k, (_, stride, low, _) in zip(place, offset, windows, strict=True)
            )
            inside = all(0 <= i < n for i, n in zip(at, operand.shape, strict=True))
            if inside and (best is None or operand[at] > operand[best]):
                best = at
        if best is not None:
            result[best] += source[place]
    return result


def program(
    shape: tuple[int, ...], counts: tuple[int, ...], windows: list[Window], axes: str, grid: str
) -> str:
    """Both tensors are split along the first dimension."""
    lists = [list(column) for column in zip(*windows, strict=True)]
    padding = [list(pair) for pair in zip(lists[2], lists[3], strict=True)]
    first, second = (f"tensor<{'x'.join(map(str, each))}xi32>" for each in (shape, counts))
    return f"""
sdy.mesh @mesh = <[{grid}]>
func.func @main(%a: {first} {{sdy.sharding = #sdy.sharding<@mesh, {axes}>}}, %b: {second} {{sdy.sharding = #sdy.sharding<@mesh, {axes}>}}) -> {first} {{
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.select_and_scatter"(%a, %b, %c) <{{padding = dense<{padding}> : tensor<{len(shape)}x2xi64>, window_dimensions = array<i64: {str(lists[0])[1:-1]}>, window_strides = array<i64: {str(lists[1])[1:-1]}>}}> ({{
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      %1 = stablehlo.compare GE, %x, %y, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
  }}, {{
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      %1 = stablehlo.add %x, %y : tensor<i32>
      stablehlo.return %1 : tensor<i32>
  }}) : ({first}, {second}, tensor<i32>) -> {first}
  return %0 : {first}
}}"""


@pytest.mark.parametrize("case", cases(6, 300))
def test_random(case: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows that overlap, leave gaps or lie in the padding, uneven shards, all in one loop too."""
    rng = np.random.default_rng(case)
    rank = int(rng.integers(1, 3))
    shape = tuple(map(int, rng.integers(1, 10, rank)))
    windows: list[Window] = []
    counts: list[int] = []
    for size in shape:
        width, stride = map(int, rng.integers(1, 5, 2))
        low = int(rng.integers(0, width + 1))
        high = int(rng.integers(max(width - size - low, 0), max(width - size - low, 0) + 3))
        windows.append((width, stride, low, high))
        counts.append((size + low + high - width) // stride + 1)
    grid, axes = [('"x"=2', '{"x"}'), ('"x"=3', '{"x"}'), ('"x"=2, "y"=2', '{"x", "y"}')][case % 3]
    operand = rng.integers(-9, 9, shape).astype(np.int32)
    source = rng.integers(-9, 9, counts).astype(np.int32)
    if case % 4 == 3:
        monkeypatch.setattr(select_and_scatter, "MAX_SCATTER_PHASES", 0)
    text = program(
        shape, tuple(counts), windows, f"[{', '.join([axes, *['{}'] * (rank - 1)])}]", grid
    )
    main = api.compile(text, "spmd")["main"]
    expected = scattered(operand, source, windows)
    for backend in ["interpreter", "native"] if case < 6 else ["interpreter"]:
        np.testing.assert_array_equal(main.run([operand, source], backend=backend)[0], expected)


def test_pools_stay_where_they_are() -> None:
    """The gradient of a pool without overlaps sends nothing."""
    windows = [(2, 2, 0, 0), (2, 2, 0, 0)]
    text = program((16, 8), (8, 4), windows, '[{"x"}, {}]', '"x"=4')
    assert "shard.all_gather" not in str(api.compile(text, "spmd").module)

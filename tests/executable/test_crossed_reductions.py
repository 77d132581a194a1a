"""Sums over two loops along which different operands are contiguous, in blocks."""

from __future__ import annotations

import numpy as np
import pytest
from backend_checks import check, function


@pytest.mark.parametrize("shape", [(0, 17), (1, 1), (15, 17), (16, 33), (31, 64), (37, 67)])
def test_trace_of_a_product(shape: tuple[int, int]) -> None:
    rows, columns = shape
    left, right = f"tensor<{rows}x{columns}xf32>", f"tensor<{columns}x{rows}xf32>"
    body = f"""  %z = arith.constant dense<0.0> : tensor<f32>
  %r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>,
      affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> ()>],
      iterator_types = ["reduction", "reduction"]}}
      ins(%a0, %a1 : {left}, {right}) outs(%z : tensor<f32>) {{
  ^bb0(%x: f32, %y: f32, %s: f32):
    %p = arith.mulf %x, %y : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  }} -> tensor<f32>
  return %r : tensor<f32>"""
    rng = np.random.default_rng(rows)
    inputs = [rng.random(shape).astype(np.float32), rng.random(shape[::-1]).astype(np.float32)]
    several: list[list[np.ndarray]] = []
    for special in (0.5, np.nan, np.inf, -0.0):
        inputs[0][-1:, -1:] = special
        several.append([each.copy() for each in inputs])
    check(function([left, right], "tensor<f32>", body), *several)

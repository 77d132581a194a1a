"""Sizes and maps that are unusual, but right: native code computes what the interpreter does."""

from __future__ import annotations

import numpy as np
import pytest
from backend_checks import check
from loop_programs import IDENTITY, counted, loops, main

ALLOWED: dict[str, tuple[str, list[np.ndarray]]] = {
    "a diagonal is written": (
        main(
            "%a: tensor<4xf32>, %o: tensor<4x4xf32>",
            "tensor<4x4xf32>",
            loops(f"{IDENTITY}; (i) -> (i, i)", "parallel", "tensor<4xf32>", "tensor<4x4xf32>"),
        ),
        [counted(4), counted(4, 4)],
    ),
    "every other element is written": (
        main(
            "%a: tensor<4xf32>, %o: tensor<9xf32>",
            "tensor<9xf32>",
            loops(f"{IDENTITY}; (i) -> (2 * i + 1)", "parallel", "tensor<4xf32>", "tensor<9xf32>"),
        ),
        [counted(4), counted(9)],
    ),
    "elements are written twice": (
        main(
            "%a: tensor<4x3xf32>, %o: tensor<8xf32>",
            "tensor<8xf32>",
            loops(
                "(i, j) -> (i, j); (i, j) -> (i + j)",
                "reduction reduction",
                "tensor<4x3xf32>",
                "tensor<8xf32>",
            ),
        ),
        [counted(4, 3), counted(8)],
    ),
    "a column of several is written": (
        main(
            "%a: tensor<?x?xf32>, %o: tensor<?x?xf32>",
            "tensor<?x?xf32>",
            loops(
                "(i, j) -> (i, j); (i, j) -> (i, 0)",
                "parallel reduction",
                "tensor<?x?xf32>",
                "tensor<?x?xf32>",
            ),
        ),
        [counted(4, 3), counted(4, 2)],
    ),
    "elements are read at maps that are not monotone": (
        main(
            "%a: tensor<10xf32>, %o: tensor<7xf32>",
            "tensor<7xf32>",
            loops(
                f"(i) -> (9 - (i mod 4) * 3 + (i floordiv 4) * 0); {IDENTITY}",
                "parallel",
                "tensor<10xf32>",
                "tensor<7xf32>",
            ),
        ),
        [counted(10), counted(7)],
    ),
    "a dimension at the only index of a loop": (
        main(
            "%t: tensor<?x?xf32>, %a: tensor<1xf32>, %o: tensor<1xf32>",
            "tensor<1xf32>",
            loops(
                f"{IDENTITY}; {IDENTITY}",
                "parallel",
                "tensor<1xf32>",
                "tensor<1xf32>",
                """%i = linalg.index 0 : index
      %d = tensor.dim %t, %i : tensor<?x?xf32>
      %k = arith.index_cast %d : index to i32
      %s = arith.sitofp %k : i32 to f32""",
            ),
        ),
        [counted(2, 3), counted(1), counted(1)],
    ),
    "open sizes of 1 are repeated": (
        main(
            "%a: tensor<?x?xf32>, %b: tensor<?x?xf32>",
            "tensor<?x?xf32>",
            """
  %0 = tosa.sub %a, %b : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = tosa.maximum %0, %a : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %1 : tensor<?x?xf32>""",
        ),
        [counted(1, 4), counted(3, 1)],
    ),
    "nothing is summed": (
        main(
            "%a: tensor<?x4xf32>",
            "tensor<1x4xf32>",
            """
  %0 = tosa.reduce_sum %a {axis = 0 : i32} : (tensor<?x4xf32>) -> tensor<1x4xf32>
  return %0 : tensor<1x4xf32>""",
        ),
        [counted(0, 4)],
    ),
    "several open sizes change": (
        main(
            "%a: tensor<?x?xf32>",
            "tensor<?x1x?xf32>",
            """
  %s = tosa.const_shape {values = dense<[3, 1, 4]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %0 = tosa.exp %a : (tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = tosa.reshape %0, %s : (tensor<?x?xf32>, !tosa.shape<3>) -> tensor<?x1x?xf32>
  %2 = tosa.abs %1 : (tensor<?x1x?xf32>) -> tensor<?x1x?xf32>
  return %2 : tensor<?x1x?xf32>""",
        ),
        [counted(2, 6) / 9],
    ),
    "more tiles than a tensor fills": (
        main(
            "%a: tensor<4x6xf32>, %o: tensor<?x?x2x1xf32>, %p: tensor<?x?x2x2xf32>",
            "(tensor<?x?x2x1xf32>, tensor<?x?x2x2xf32>)",
            """
  %z = arith.constant 7.0 : f32
  %0 = linalg.pack %a padding_value(%z : f32) inner_dims_pos = [0, 1] inner_tiles = [2, 1]
      into %o : tensor<4x6xf32> -> tensor<?x?x2x1xf32>
  %1 = linalg.pack %a padding_value(%z : f32) inner_dims_pos = [0, 1] inner_tiles = [2, 2]
      into %p : tensor<4x6xf32> -> tensor<?x?x2x2xf32>
  %2 = math.absf %1 : tensor<?x?x2x2xf32>
  return %0, %2 : tensor<?x?x2x1xf32>, tensor<?x?x2x2xf32>""",
        ),
        [counted(4, 6), counted(3, 8, 2, 1), counted(3, 4, 2, 2)],
    ),
    "a part of the tiles is unpacked": (
        main(
            "%a: tensor<?x?x3x1xf32>, %o: tensor<?x?xf32>",
            "tensor<?x?xf32>",
            """
  %0 = linalg.unpack %a inner_dims_pos = [0, 1] inner_tiles = [3, 1]
      into %o : tensor<?x?x3x1xf32> -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>""",
        ),
        [counted(3, 5, 3, 1), counted(5, 4)],
    ),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_unusual_sizes_and_maps(name: str) -> None:
    check(*ALLOWED[name])

"""Random gathers and scatters of which one index counts along a dimension, on split tensors."""

# ruff: noqa: E501

from __future__ import annotations

import numpy as np
import pytest
from breadth import cases
from mesh_opt import api

SHARDINGS = [
    ('"x"=2', '{"x"}'),
    ('"x"=3', '{"x"}'),
    ('"x"=4', '{"x"}'),
    ('"x"=2, "y"=2', '{"x", "y"}'),
]


@pytest.mark.parametrize("case", cases(6, 300))
def test_random(case: int) -> None:
    """`x[start + step * arange(n), i]` and `x.at[...].add(u)`, with rows of values or single ones,
    indices beyond the end, shards of unequal sizes and fewer counted rows than there are."""
    rng = np.random.default_rng(case)
    count, start, step = int(rng.integers(1, 10)), int(rng.integers(0, 3)), int(rng.integers(1, 3))
    if case % 2:
        start, step = 0, 1
    rows = start + step * (count - 1) + 1 + (0 if case % 4 == 1 else int(rng.integers(0, 3)))
    columns, width = map(int, rng.integers(1, 6, 2))
    grid, split = SHARDINGS[case % len(SHARDINGS)]
    x = rng.integers(-9, 9, (rows, columns, width)).astype(np.int32)
    index = rng.integers(0, columns + 1, (count, 1)).astype(np.int32)
    update = rng.integers(-9, 9, (count, width)).astype(np.int32)
    places = start + step * np.arange(count)
    gathered = x[places, np.minimum(index[:, 0], columns - 1)]
    scattered = x.copy()
    for place, at, row in zip(places, index[:, 0], update, strict=True):
        if at < columns:
            scattered[place, at] += row

    def placed(rank: int) -> str:
        return (
            f"{{sdy.sharding = #sdy.sharding<@mesh, [{', '.join([split, *['{}'] * (rank - 1)])}]>}}"
        )

    whole, vectors = f"tensor<{rows}x{columns}x{width}xi32>", f"tensor<{count}x2xi32>"
    single, part = f"tensor<{count}x1xi32>", f"tensor<{count}x{width}xi32>"
    text = f"""
sdy.mesh @mesh = <[{grid}]>
func.func @main(%x: {whole} {placed(3)}, %i: {single} {placed(2)}, %u: {part} {placed(2)}) -> ({part}, {whole}) {{
  %n = stablehlo.iota dim = 0 : {single}
  %s = stablehlo.constant dense<{step}> : {single}
  %m = stablehlo.multiply %n, %s : {single}
  %f = stablehlo.constant dense<{start}> : {single}
  %p = stablehlo.add %m, %f : {single}
  %v = stablehlo.concatenate %p, %i, dim = 1 : ({single}, {single}) -> {vectors}
  %0 = "stablehlo.gather"(%x, %v) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1, {width}>}}> : ({whole}, {vectors}) -> {part}
  %1 = "stablehlo.scatter"(%x, %v, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}}> ({{
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %2 = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %2 : tensor<i32>
  }}) : ({whole}, {vectors}, {part}) -> {whole}
  return %0, %1 : {part}, {whole}
}}"""
    main = api.compile(text, "spmd")["main"]
    for backend in ["interpreter", "native"] if case < 8 else ["interpreter"]:
        found = main.run([x, index, update], backend=backend)
        np.testing.assert_array_equal(found[0], gathered)
        np.testing.assert_array_equal(found[1], scattered)


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_diagonal(backend: str) -> None:
    """Both indices count along one dimension: `x.at[arange(n), arange(n)].add(u)`."""
    text = """
func.func @main(%x: tensor<4x4xi32>, %u: tensor<4xi32>) -> tensor<4x4xi32> {
  %v = stablehlo.iota dim = 0 : tensor<4x2xi32>
  %0 = "stablehlo.scatter"(%x, %v, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %1 = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %1 : tensor<i32>
  }) : (tensor<4x4xi32>, tensor<4x2xi32>, tensor<4xi32>) -> tensor<4x4xi32>
  return %0 : tensor<4x4xi32>
}"""
    x, update = np.arange(16, dtype=np.int32).reshape(4, 4), np.arange(1, 5, dtype=np.int32)
    found = api.compile(text, "spmd")["main"].run([x, update], backend=backend)[0]
    np.testing.assert_array_equal(found, x + np.diag(update))

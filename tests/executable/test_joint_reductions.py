"""The largest element and its place, with the reduced dimension split: ties and NaNs included."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from breadth import sampled
from mesh_opt import api
from ml_dtypes import bfloat16

JAX = """
    %a = arith.cmpf ogt, %out, %in : f32
    %b = arith.cmpf une, %out, %out : f32
    %c = arith.ori %a, %b : i1
    %d = arith.cmpf oeq, %out, %in : f32
    %e = arith.cmpi slt, %place, %at : i32
    %f = arith.andi %d, %e : i1
    %g = arith.ori %c, %f : i1
    %h = arith.select %c, %out, %in : f32
    %k = arith.select %g, %place, %at : i32"""
FIRST = """
    %a = arith.cmpf ogt, %in, %out : f32
    %h = arith.select %a, %in, %out : f32
    %k = arith.select %a, %at, %place : i32"""
LAST = FIRST.replace("ogt", "oge")
WITH_MAXIMUM = """
    %a = arith.cmpf ogt, %in, %out : f32
    %h = arith.maximumf %in, %out : f32
    %k = arith.select %a, %at, %place : i32"""
SMALLEST_NUMBER = """
    %a = arith.cmpf ult, %in, %out : f32
    %h = arith.minnumf %in, %out : f32
    %k = arith.select %a, %at, %place : i32"""
OTHER_RESULT = """
    %a = arith.cmpi sgt, %at, %place : i32
    %h = arith.select %a, %in, %out : f32
    %k = arith.addi %at, %place : i32"""


def program(body: str, axes: str, initial: str = "0xFF800000") -> str:
    return f"""
shard.grid @g(shape = 2x2)
func.func @f(%x: tensor<5x16xf32>) -> (tensor<5xf32>, tensor<5xi32>) {{
  %s = shard.sharding @g split_axes = {axes} : !shard.sharding
  %xs = shard.shard %x to %s : tensor<5x16xf32>
  %low = arith.constant {initial} : f32
  %zero = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<5xf32>
  %e1 = tensor.empty() : tensor<5xi32>
  %f0 = linalg.fill ins(%low : f32) outs(%e0 : tensor<5xf32>) -> tensor<5xf32>
  %f1 = linalg.fill ins(%zero : i32) outs(%e1 : tensor<5xi32>) -> tensor<5xi32>
  %r:2 = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
      affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}}
      ins(%xs : tensor<5x16xf32>) outs(%f0, %f1 : tensor<5xf32>, tensor<5xi32>) {{
  ^bb0(%in: f32, %out: f32, %place: i32):
    %j = linalg.index 1 : index
    %at = arith.index_cast %j : index to i32{body}
    linalg.yield %h, %k : f32, i32
  }} -> (tensor<5xf32>, tensor<5xi32>)
  return %r#0, %r#1 : tensor<5xf32>, tensor<5xi32>
}}
"""


def inputs() -> np.ndarray:
    numbers = np.random.default_rng(0).integers(-2, 3, (5, 16)).astype(np.float32)
    numbers[1, 11] = np.nan
    numbers[2] = -np.inf
    numbers[3] = np.nan
    return numbers


def check(text: str) -> str:
    whole = api.compile(text)["f"].reference([inputs()])
    partitioned = api.compile(text, "spmd")
    for name, backend in (("spmd", "interpreter"), ("spmd", "native"), ("compile", "native")):
        found = api.compile(text, name)["f"].run([inputs()], backend)
        for left, right in zip(found, whole, strict=True):
            np.testing.assert_array_equal(left, right)
    return str(partitioned.module)


SPLITS = ("[[], [0]]", "[[], [1, 0]]", "[[0], [1]]")


@pytest.mark.parametrize(("body", "axes"), sampled([*product((JAX, FIRST), SPLITS)], 2))
def test_partial_results_are_gathered(body: str, axes: str) -> None:
    text = check(program(body, axes))
    assert "linalg.reduce" in text
    assert "-> tensor<5x16xf32>" not in text


def test_an_initial_value_may_win() -> None:
    assert "linalg.reduce" in check(program(FIRST, "[[], [0]]", "1.0"))


@pytest.mark.parametrize("body", [LAST, WITH_MAXIMUM, SMALLEST_NUMBER, OTHER_RESULT])
def test_unsplittable_reductions_are_gathered(body: str) -> None:
    text = check(program(body, "[[], [0]]"))
    assert "linalg.reduce" not in text
    assert "shard.all_gather" in text


@pytest.mark.parametrize("predicate", ["ogt", "ole", "ult", "uge"])
@pytest.mark.parametrize("branches", ["%in, %out", "%out, %in"])
def test_one_result_by_comparison(predicate: str, branches: str) -> None:
    """Some keep the result at a NaN; others take the NaN, and the number after it."""
    body = f"""
    %a = arith.cmpf {predicate}, %in, %out : f32
    %h = arith.select %a, {branches} : f32
    %k = arith.addi %at, %place : i32"""
    check(program(body, "[[], [0, 1]]"))


LANES = [
    (body, rows, columns, row, elements)
    for body in (JAX, FIRST, LAST, WITH_MAXIMUM)
    for rows, columns in ((5, 511), (5, 512), (5, 1300), (70, 16), (64, 37), (33, 512))
    for row in (columns, "?")
    for elements in (("f32", "i32"), ("f64", "i64"), ("bf16", "i8"))
]


@pytest.mark.parametrize(("body", "rows", "columns", "row", "elements"), sampled(LANES, 11))
def test_rows_fill_lanes(
    body: str, rows: int, columns: int, row: int | str, elements: tuple[str, str]
) -> None:
    """Each lane has a row, or a part of one; the first of equal elements and NaNs stays first."""
    number, place = elements
    text = program(body, "[[], []]", {"f32": "0xFF800000"}.get(number, "-1.0e+30"))
    text = text.replace("5x16", f"5x{row}").replace("tensor<5x", f"tensor<{rows}x")
    text = text.replace("f32", number).replace("i32", place)
    numbers = np.random.default_rng(1).integers(-9, 9, (rows, columns)).astype(np.float32)
    numbers[1, [columns // 3, columns - 2]] = np.nan
    numbers[2] = -np.inf
    numbers[-2, columns // 2 :] = 9
    numbers = numbers.astype({"f64": np.float64, "bf16": bfloat16}.get(number, np.float32))
    function = api.compile(text)["f"]
    native, interpreted = (function.run([numbers], each) for each in ("native", "interpreter"))
    for left, right in zip(native, interpreted, strict=True):
        np.testing.assert_array_equal(left.astype(np.float64), right.astype(np.float64))

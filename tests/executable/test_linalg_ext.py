"""Extensions of linalg of IREE: native code against NumPy, whole and on a grid."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mesh_opt import api

Array = np.ndarray[Any, Any]
CASES = Path(__file__).parents[1] / "cases" / "linalg_ext"


def softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def masked(q: Array, k: Array, v: Array, mask: Array) -> list[Array]:
    scores = 0.5 * np.einsum("bhmk,bhsk->bhms", q, k) + mask[:, None]
    return [np.einsum("bhms,bhns->bhmn", softmax(scores), v)]


def causal(q: Array, k: Array, v: Array) -> list[Array]:
    scores = 0.25 * np.einsum("bhmk,bhsk->bhms", q, k)
    scores = np.where(np.arange(6) > np.arange(4)[:, None], -1e9, scores)
    return [np.einsum("bhms,bhsn->bmhn", softmax(scores), v)]


def gathered(x: Array) -> list[Array]:
    return [x[[4, 1]], x[[[0, 4], [1, 0]], [[3, 2], [1, 0]]]]


def scattered(x: Array, u: Array, v: Array) -> list[Array]:
    replaced, added = x.copy(), x.copy()
    replaced[[3, 0]] = u
    np.add.at(added, ([0, 4, 0], [3, 2, 3]), v)
    return [replaced, added]


def mapped(x: Array, o: Array) -> list[Array]:
    stored = o.copy()
    stored[16:] = x[:, 4:].T.reshape(-1)
    at = 9 * np.arange(4)[:, None] + np.arange(8)
    return [stored, np.where(at < 32, stored[np.minimum(at, 31)], np.float32(7))]


def scans(x: Array, first: Array) -> list[Array]:
    most = np.maximum.accumulate(np.concatenate([first[:, None], x], 1), 1)
    return [np.cumsum(x, 1), most[:, :-1], most[:, -2]]


def in_order(x: Array, y: Array) -> list[Array]:
    order = np.argsort(-x, 1, kind="stable")
    return [np.take_along_axis(each, order, 1) for each in (x, y)]


def firsts(x: Array) -> list[Array]:
    order = np.argsort(-x, 1, kind="stable")[:, :3]
    return [np.take_along_axis(x, order, 1), order, x.min(0), x.argmin(0)]


FUNCTIONS = {
    "attention": {"masked": masked, "causal": causal},
    "indexing": {"gathered": gathered, "scattered": scattered, "mapped": mapped},
    "orders": {"scans": scans, "sorted": in_order, "firsts": firsts},
}


def inputs(function: api.Function) -> list[Array]:
    generator = np.random.default_rng(3)
    found: list[Array] = []
    for each in function.argument_types:
        text = str(each).removeprefix("tensor<").removesuffix(">")
        *sizes, element = text.split("x")
        numbers = generator.standard_normal([int(size) for size in sizes])
        found.append((numbers * 9).astype(np.int32) if element == "i32" else np.float32(numbers))
    return found


def agree(found: Any, wanted: Sequence[Array]) -> None:
    results = found if isinstance(found, tuple) else (found,)
    for got, want in zip(results, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("pipeline", ["", "spmd", "compile"])
@pytest.mark.parametrize("case", FUNCTIONS)
def test_like_numpy(case: str, pipeline: str) -> None:
    program = api.compile(CASES / f"{case}.mlir", pipeline)
    for name, meaning in FUNCTIONS[case].items():
        given = inputs(program[name])
        agree(program[name](*given), meaning(*given))


def test_on_a_grid() -> None:
    """Heads and rows are split, and so is what is sorted along its rows."""
    text = (CASES / "attention.mlir").read_text().partition("func.func @causal")[0]
    text = "shard.grid @grid(shape = 2x2)\n" + text.replace(
        "  %scale =",
        """  %split = shard.sharding @grid split_axes = [[0], [], [1]] : !shard.sharding
  %q_split = shard.shard %q to %split : tensor<2x3x4x8xf32>
  %scale =""",
    ).replace("ins(%q,", "ins(%q_split,")
    program = api.compile(text, "spmd")
    given = inputs(program["masked"])
    agree(program["masked"](*given), masked(*given))


def test_static_results_of_dynamic_operands() -> None:
    text = (CASES / "attention.mlir").read_text().partition("func.func @causal")[0]
    for static in ("2x3x4x8xf32", "2x3x6x8xf32", "2x3x5x6xf32", "2x4x6xf32"):
        text = text.replace(static, "x".join("?" * static.count("x")) + "xf32")
    program = api.compile(text)["masked"]
    shapes = ((2, 3, 4, 8), (2, 3, 6, 8), (2, 3, 5, 6), (2, 4, 6))
    generator = np.random.default_rng(0)
    given = [generator.standard_normal(shape).astype(np.float32) for shape in shapes]
    agree(program(*given), masked(*given))


MASKS = """
func.func @main(%x: tensor<4x3xf32>, %u: tensor<2x3xf32>, %i: tensor<2x1xi32>, %m: tensor<2xi1>)
    -> (tensor<2x3xf32>, tensor<4x3xf32>) {
  %0 = iree_linalg_ext.gather dimension_map = [0]
      ins(%x, %i, %m : tensor<4x3xf32>, tensor<2x1xi32>, tensor<2xi1>)
      outs(%u : tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = iree_linalg_ext.scatter dimension_map = [0] unique_indices(true)
      ins(%u, %i, %m : tensor<2x3xf32>, tensor<2x1xi32>, tensor<2xi1>)
      outs(%x : tensor<4x3xf32>) {
  ^bb0(%new: f32, %old: f32):
    iree_linalg_ext.yield %new : f32
  } -> tensor<4x3xf32>
  return %0, %1 : tensor<2x3xf32>, tensor<4x3xf32>
}"""


@pytest.mark.parametrize("unread", [1, 7, -1])
def test_what_a_mask_does_not_choose(unread: int) -> None:
    """Its indices do not count, and what was in `outs` stays."""
    x, u = np.float32(np.arange(12).reshape(4, 3)), np.float32(np.arange(6).reshape(2, 3) + 20)
    program = api.compile(MASKS)["main"]
    given = [x, u, np.array([[2], [unread]], np.int32), np.array([True, False])]
    wanted = x.copy()
    wanted[2] = u[0]
    agree(program(*given), [np.stack([x[2], u[1]]), wanted])


NOTHING = """
func.func @loaded(%x: tensor<?x2xf32>, %o: tensor<3xf32>) -> tensor<3xf32> {
  %0 = iree_linalg_ext.map_load %x into %o {
  ^bb0(%i: index):
    %c0 = arith.constant 0 : index
    %seven = arith.constant 7.0 : f32
    iree_linalg_ext.yield %i, %c0, %seven : index, index, f32
  } : tensor<?x2xf32> into tensor<3xf32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
func.func @stored(%o: tensor<?x2xf32>, %x: tensor<3xf32>) -> tensor<?x2xf32> {
  %0 = iree_linalg_ext.map_store %x into %o {
  ^bb0(%i: index):
    %c0 = arith.constant 0 : index
    %true = arith.constant true
    iree_linalg_ext.yield %i, %c0, %true : index, index, i1
  } : tensor<3xf32> into tensor<?x2xf32> -> tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}
func.func @gathered(%x: tensor<?x2xf32>, %o: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %i = arith.constant dense<0> : tensor<3xi32>
  %m = arith.constant dense<false> : tensor<3xi1>
  %0 = iree_linalg_ext.gather dimension_map = [0]
      ins(%x, %i, %m : tensor<?x2xf32>, tensor<3xi32>, tensor<3xi1>) outs(%o : tensor<3x2xf32>)
      -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}"""


@pytest.mark.parametrize("size", ["?", "0"])
def test_tensors_without_elements(size: str) -> None:
    program = api.compile(NOTHING.replace("tensor<?x2", f"tensor<{size}x2"))
    nothing, o = np.zeros((0, 2), np.float32), np.ones((3, 2), np.float32)
    agree(program["loaded"](nothing, o[:, 0]), [np.full(3, 7, np.float32)])
    agree(program["stored"](nothing, o[:, 0]), [nothing])
    agree(program["gathered"](nothing, o), [o])


ANY_ORDER = """
func.func @main(%x: tensor<2x40xf32>) -> (tensor<2x5xf32>, tensor<2x5xi32>, tensor<2x5xf32>) {
  %e = tensor.empty() : tensor<2x5xf32>
  %f = tensor.empty() : tensor<2x5xi32>
  %0:2 = iree_linalg_ext.topk_v2 dimension(1) is_sorted ins(%x : tensor<2x40xf32>)
      outs(%e, %f : tensor<2x5xf32>, tensor<2x5xi32>) {
  ^bb0(%a: f32, %b: f32):
    %is_before = arith.cmpf olt, %a, %b : f32
    iree_linalg_ext.yield %is_before : i1
  } -> tensor<2x5xf32>, tensor<2x5xi32>
  %1 = iree_linalg_ext.topk_v2 dimension(1) ins(%x : tensor<2x40xf32>) outs(%e : tensor<2x5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %is_before = arith.cmpf ogt, %a, %b : f32
    iree_linalg_ext.yield %is_before : i1
  } -> tensor<2x5xf32>
  return %0#0, %0#1, %1 : tensor<2x5xf32>, tensor<2x5xi32>, tensor<2x5xf32>
}"""


def test_first_elements_into_new_tensors() -> None:
    x = np.float32(np.random.default_rng(0).standard_normal((2, 40)))
    order = np.argsort(x, 1)[:, :5]
    most = -np.sort(-x, 1)[:, :5]
    agree(api.compile(ANY_ORDER)["main"](x), [np.take_along_axis(x, order, 1), order, most])


BODIES = """
func.func @main(%x: tensor<2x3xf32>, %bias: tensor<2x3xf32>, %v: tensor<2x2xf32>)
    -> (tensor<6xf32>, tensor<3x2xf32>, tensor<2x2xf32>) {
  %e = tensor.empty() : tensor<6xf32>
  %f = tensor.empty() : tensor<3x2xf32>
  %g = tensor.empty() : tensor<2x2xf32>
  %one = arith.constant 1.0 : f32
  %true = arith.constant true
  %order = arith.constant dense<[2, 0, 1]> : tensor<3xindex>
  %0 = iree_linalg_ext.map_store %x into %e {
  ^bb0(%i: index, %j: index):
    %at = affine.linearize_index disjoint [%j, %i] by (3, 2) : index
    iree_linalg_ext.yield %at, %true : index, i1
  } : tensor<2x3xf32> into tensor<6xf32> -> tensor<6xf32>
  %1 = iree_linalg_ext.map_load %0 into %f {
  ^bb0(%i: index, %j: index):
    %row = tensor.extract %order[%i] : tensor<3xindex>
    %at = affine.linearize_index [%row, %j] by (3, 2) : index
    %parts:2 = affine.delinearize_index %at into (3, 2) : index, index
    %again = affine.apply affine_map<(a, b) -> (a * 2 + b)>(%parts#0, %parts#1)
    iree_linalg_ext.yield %again, %one : index, f32
  } : tensor<6xf32> into tensor<3x2xf32> -> tensor<3x2xf32>
  %2 = iree_linalg_ext.attention <indexing_maps = [
      affine_map<(m, k, s, n) -> (m, k)>, affine_map<(m, k, s, n) -> (s, k)>,
      affine_map<(m, k, s, n) -> (s, n)>, affine_map<(m, k, s, n) -> ()>,
      affine_map<(m, k, s, n) -> (m, n)>]>
      ins(%x, %bias, %v, %one : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x2xf32>, f32)
      outs(%g : tensor<2x2xf32>) {
  ^bb0(%score: f32):
    %i = iree_linalg_ext.index 0 : index
    %j = iree_linalg_ext.index 1 : index
    %added = tensor.extract %bias[%j, %i] : tensor<2x3xf32>
    %sum = arith.addf %score, %added : f32
    iree_linalg_ext.yield %sum : f32
  } -> tensor<2x2xf32>
  return %0, %1, %2 : tensor<6xf32>, tensor<3x2xf32>, tensor<2x2xf32>
}"""


@pytest.mark.parametrize("pipeline", ["", "spmd", "compile"])
def test_bodies_read_tensors_and_compute_indices(pipeline: str) -> None:
    x, bias, v = (
        np.random.default_rng(each).standard_normal(size).astype(np.float32)
        for each, size in enumerate([(2, 3), (2, 3), (2, 2)])
    )
    weights = softmax(x @ bias.T + np.log(2) * bias[:, :2].T)
    program = api.compile(BODIES, pipeline)["main"]
    agree(program(x, bias, v), [x.T.reshape(-1), x.T[[2, 0, 1]], weights @ v])


CAPPED = """
func.func @main(
    %q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<6x5xf32>, %mask: tensor<4x6xf32>)
    -> tensor<4x5xf32> {
  %scale = arith.constant 0.5 : f32
  %two = arith.constant 2.0 : f32
  %e = tensor.empty() : tensor<4x5xf32>
  %0 = iree_linalg_ext.attention <indexing_maps = [
      affine_map<(m, k, s, n) -> (m, k)>, affine_map<(m, k, s, n) -> (s, k)>,
      affine_map<(m, k, s, n) -> (s, n)>, affine_map<(m, k, s, n) -> ()>,
      affine_map<(m, k, s, n) -> (m, s)>, affine_map<(m, k, s, n) -> (m, n)>]CONFIG>
      ins(%q, %k, %v, %scale, %mask
        : tensor<4x8xf32>, tensor<6x8xf32>, tensor<6x5xf32>, f32, tensor<4x6xf32>)
      outs(%e : tensor<4x5xf32>) {
  ^bb0(%score: f32):
    %bounded = math.tanh %score : f32
    %capped = arith.mulf %bounded, %two : f32
    iree_linalg_ext.yield %capped : f32
  } -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}"""


@pytest.mark.parametrize("config", ["", "use_exp2 = true", "use_exp2 = false"])
def test_bodies_of_binary_logarithms(config: str) -> None:
    """As IREE computes: the body and the exponential are to the base 2, masks are not."""
    text = CAPPED.replace("CONFIG", f", decomposition_config = {{{config}}}" if config else "")
    q, k, v, mask = (
        np.random.default_rng(each).standard_normal(size).astype(np.float32)
        for each, size in enumerate([(4, 8), (6, 8), (6, 5), (4, 6)])
    )
    base = 1 if "false" in config else np.log(2)
    scores = 2 * base * np.tanh(0.5 / base * (q @ k.T))
    agree(api.compile(text)["main"](q, k, v, mask), [softmax(scores + mask) @ v])


def test_other_operations_stay() -> None:
    text = """
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %c1 = arith.constant 1 : index
  %0:2 = iree_linalg_ext.fft ins(%c1 : index) outs(%x, %y : tensor<8xf32>, tensor<8xf32>)
      : tensor<8xf32>, tensor<8xf32>
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}"""
    main = api.compile(text)["main"]
    with pytest.raises(api.ExecutionError, match=r":4:10: error: 'iree_linalg_ext.fft' op"):
        main(*[np.zeros(8, np.float32)] * 2)


PARTS = """
#q = affine_map<(b, m, k, s, n) -> (b, m, k)>
#k = affine_map<(b, m, k, s, n) -> (b, s, k)>
#v = affine_map<(b, m, k, s, n) -> (b, n, s)>
#one = affine_map<(b, m, k, s, n) -> ()>
#mask = affine_map<(b, m, k, s, n) -> (m, s)>
#o = affine_map<(b, m, k, s, n) -> (n, b, m)>
#rows = affine_map<(b, m, k, s, n) -> (m, b)>
func.func @main(
    %q: tensor<2x4x8xf32>, %k: tensor<2x?x8xf32>, %v: tensor<2x5x?xf32>, %mask: tensor<4x?xMASK>,
    %o: tensor<5x2x4xf32>, %most: tensor<4x2xf32>, %sum: tensor<4x2xf32>)
    -> (tensor<5x2x4xf32>, tensor<4x2xf32>, tensor<4x2xf32>) {
  %scale = arith.constant 0.5 : f32
  %0:3 = iree_linalg_ext.online_attention
      <indexing_maps = [#q, #k, #v, #one, #mask, #o, #rows, #rows]CONFIG>
      ins(%q, %k, %v, %scale, %mask
        : tensor<2x4x8xf32>, tensor<2x?x8xf32>, tensor<2x5x?xf32>, f32, tensor<4x?xMASK>)
      outs(%o, %most, %sum : tensor<5x2x4xf32>, tensor<4x2xf32>, tensor<4x2xf32>) {
  ^bb0(%score: f32):
    %bounded = math.tanh %score : f32
    iree_linalg_ext.yield %bounded : f32
  } -> tensor<5x2x4xf32>, tensor<4x2xf32>, tensor<4x2xf32>
  return %0#0, %0#1, %0#2 : tensor<5x2x4xf32>, tensor<4x2xf32>, tensor<4x2xf32>
}"""


@pytest.mark.parametrize("mask_type", ["f32", "i1"])
@pytest.mark.parametrize("base", [2, np.e])
@pytest.mark.parametrize("pipeline", ["", "spmd", "compile"])
def test_attention_by_parts(pipeline: str, base: float, mask_type: str) -> None:
    """Parts of the keys, one after the other, are the whole; the largest score is a logarithm."""
    config = "" if base == 2 else ", decomposition_config = {use_exp2 = false}"
    text = PARTS.replace("CONFIG", config).replace("MASK", mask_type)
    main = api.compile(text, pipeline)["main"]
    q, k, v, mask = (
        np.random.default_rng(each).standard_normal(size).astype(np.float32)
        for each, size in enumerate([(2, 4, 8), (2, 7, 8), (2, 5, 7), (4, 7)])
    )
    chosen = mask > -1
    chosen[:, 0] = True
    o, sums = np.zeros((5, 2, 4), np.float32), np.zeros((4, 2), np.float32)
    most = np.full((4, 2), -np.inf, np.float32)
    for part in (slice(0, 5), slice(5, 7)):
        given = (chosen if mask_type == "i1" else mask)[:, part]
        o, most, sums = main(q, k[:, part], v[:, :, part], given, o, most, sums)
    unit = np.log(base)
    scores = unit * np.tanh(0.5 / unit * np.einsum("bmk,bsk->bms", q, k))
    scores = np.where(chosen, scores, -np.inf) if mask_type == "i1" else scores + mask
    weighted = np.einsum("bms,bns->nbm", softmax(scores), v)
    agree((o / sums.T, most), [weighted, scores.max(2).T / unit])

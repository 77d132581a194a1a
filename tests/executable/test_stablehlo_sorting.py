"""Sorting and the largest elements in StableHLO, in both backends."""

# ruff: noqa: E501

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from breadth import sampled
from mesh_opt import api
from mesh_opt.interpreter.nests import structured
from mesh_opt.interpreter.nests.loops import LoopNest
from self_checks import run

PROGRAMS = {
    # A format without a sign, and one whose NaN has the sign bit alone: below all numbers.
    "narrow": """
func.func @main() {
  %a = stablehlo.constant dense<[4.0, 0xFF, 0.5, 1.0]> : tensor<4xf8E8M0FNU>
  %i = stablehlo.iota dim = 0 : tensor<4xi32>
  %0:2 = "stablehlo.sort"(%a, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f8E8M0FNU>, %y: tensor<f8E8M0FNU>, %p: tensor<i32>, %q: tensor<i32>):
    %l = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f8E8M0FNU>, tensor<f8E8M0FNU>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }) : (tensor<4xf8E8M0FNU>, tensor<4xi32>) -> (tensor<4xf8E8M0FNU>, tensor<4xi32>)
  check.expect_eq_const %0#1, dense<[2, 3, 0, 1]> : tensor<4xi32>
  %b = stablehlo.constant dense<[1.0, 0x80, -2.0, 0.0, -0.5]> : tensor<5xf8E4M3FNUZ>
  %v, %j = chlo.top_k(%b, k = 5) : tensor<5xf8E4M3FNUZ> -> (tensor<5xf8E4M3FNUZ>, tensor<5xi32>)
  check.expect_eq_const %j, dense<[0, 3, 4, 2, 1]> : tensor<5xi32>
  return
}""",
    # A sort by one operand that carries the other along; NaN is the largest number of top_k.
    "sorting": """
func.func @main() {
  %a = stablehlo.constant dense<[3.0, 1.0, 3.0, 0x7FC00000, 2.0]> : tensor<5xf32>
  %i = stablehlo.iota dim = 0 : tensor<5xi32>
  %0:2 = "stablehlo.sort"(%a, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):
    %l = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }) : (tensor<5xf32>, tensor<5xi32>) -> (tensor<5xf32>, tensor<5xi32>)
  check.expect_eq_const %0#1, dense<[1, 4, 0, 2, 3]> : tensor<5xi32>
  %v, %j = chlo.top_k(%a, k = 3) : tensor<5xf32> -> (tensor<3xf32>, tensor<3xi32>)
  check.expect_eq_const %j, dense<[3, 0, 2]> : tensor<3xi32>
  return
}""",
    "approximate_top_k": """
func.func private @greater(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %0 : tensor<i1>
}
func.func @main() {
  %a = stablehlo.constant dense<[[1.0, 5.0, -2.0, 5.0], [0.0, -1.0, 3.0, 2.0]]> : tensor<2x4xf32>
  %i = stablehlo.iota dim = 1 : tensor<2x4xi32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %none = stablehlo.constant dense<-1> : tensor<i32>
  %0:2 = stablehlo.custom_call @ApproxTopK(%a, %i, %least, %none) {called_computations = [@greater], mhlo.backend_config = {aggregate_to_topk = true, reduction_dim = 1 : i64, top_k = 3 : i64}} : (tensor<2x4xf32>, tensor<2x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
  check.expect_eq_const %0#0, dense<[[5.0, 5.0, 1.0], [3.0, 2.0, 0.0]]> : tensor<2x3xf32>
  check.expect_eq_const %0#1, dense<[[1, 3, 0], [2, 3, 0]]> : tensor<2x3xi32>
  return
}""",
}


@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_check_themselves(name: str, backend: str) -> None:
    assert run(PROGRAMS[name], f"--backend={backend}") == (0, "")


LONG_SORT = """
func.func @main() {
  %i = stablehlo.iota dim = 0 : tensor<300xi32>
  %n = stablehlo.constant dense<7> : tensor<300xi32>
  %a = stablehlo.remainder %i, %n : tensor<300xi32>
  %0:2 = "stablehlo.sort"(%a, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>, %p: tensor<i32>, %q: tensor<i32>):
    %l = stablehlo.compare GT, %x, %y, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }) : (tensor<300xi32>, tensor<300xi32>) -> (tensor<300xi32>, tensor<300xi32>)
  %1 = stablehlo.slice %0#1 [0:3] : (tensor<300xi32>) -> tensor<3xi32>
  check.expect_eq_const %1, dense<[6, 13, 20]> : tensor<3xi32>
  %2 = stablehlo.slice %0#1 [298:300] : (tensor<300xi32>) -> tensor<2xi32>
  check.expect_eq_const %2, dense<[287, 294]> : tensor<2xi32>
  return
}
"""


def test_a_long_sort_is_stable() -> None:
    """Long dimensions are merged; `tests/peers` sorts them in native code."""
    assert run(LONG_SORT) == (0, "")


@pytest.mark.parametrize("count", [129, 131, 160])
def test_long_sorts(count: int) -> None:
    """Runs of every length that divides the dimension, or of 1; NaN and zeros of both signs."""
    floats, integers = f"tensor<2x{count}x3xf32>", f"tensor<2x{count}x3xi32>"
    text = f"""
func.func @main(%a: {floats}, %i: {integers}) -> ({floats}, {integers}) {{
  %0:2 = "stablehlo.sort"(%a, %i) <{{dimension = 1 : i64, is_stable = true}}> ({{
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):
    %l = stablehlo.compare GT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }}) : ({floats}, {integers}) -> ({floats}, {integers})
  return %0#0, %0#1 : {floats}, {integers}
}}"""
    rng = np.random.default_rng(count)
    given = rng.choice(np.float32([np.nan, -np.nan, -0.0, 0.0, 1.5, np.inf, 1e-42]), (2, count, 3))
    given = np.float32(given)
    places = np.broadcast_to(np.arange(count, dtype=np.int32)[:, None], given.shape).copy()
    bits = given.view(np.int32)
    order = np.argsort(-(bits ^ ((bits >> 31) & 0x7FFFFFFF)).astype(np.int64), 1, kind="stable")
    main = api.compile(text)["main"]
    for backend in ("interpreter", "native"):
        found = main.run([given, places], backend=backend)
        np.testing.assert_array_equal(found[1], order)
        np.testing.assert_array_equal(found[0].view(np.int32), np.take_along_axis(bits, order, 1))


LONG = ["i8", "ui8", "i16", "ui16", "i32", "ui32", "f16", "f32"]


@pytest.mark.parametrize(("element", "direction"), sampled([*product(LONG, ["LT", "GT"])], 5))
def test_long_vectors(element: str, direction: str) -> None:
    """These are sorted by their digits, stably, with the extremes of the type among them."""
    dtype = np.dtype(f"{element[0]}{int(element.lstrip('uif')) // 8}")
    compared = "TOTALORDER" if dtype.kind == "f" else "UNSIGNED" if dtype.kind == "u" else "SIGNED"
    numbers, places = f"tensor<1x1030x{element}>", "tensor<1x1030xi32>"
    text = f"""
func.func @main(%a: {numbers}, %i: {places}) -> ({numbers}, {places}) {{
  %0:2 = "stablehlo.sort"(%a, %i) <{{dimension = 1 : i64, is_stable = true}}> ({{
  ^bb0(%x: tensor<{element}>, %y: tensor<{element}>, %p: tensor<i32>, %q: tensor<i32>):
    %l = stablehlo.compare {direction}, %x, %y, {compared} : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }}) : ({numbers}, {places}) -> ({numbers}, {places})
  return %0#0, %0#1 : {numbers}, {places}
}}"""
    rng = np.random.default_rng(0)
    words = np.dtype(f"u{dtype.itemsize}")
    bits = rng.integers(0, 1 << 8 * dtype.itemsize, (1, 1030)).astype(words)
    bits[0, :400] = rng.choice(bits[0, 400:420], 400)
    half = 1 << 8 * dtype.itemsize - 1
    bits[0, 400:404] = [0, 2 * half - 1, half, half - 1]
    order = (
        bits.view(f"i{dtype.itemsize}").astype(np.int64)
        if dtype.kind != "u"
        else bits.astype(np.int64)
    )
    if dtype.kind == "f":
        order = np.where(order < 0, order ^ (half - 1), order)
    expected = np.argsort(order if direction == "LT" else -order, 1, kind="stable")
    main = api.compile(text)["main"]
    given = [bits.view(dtype), np.arange(1030, dtype=np.int32)[None]]
    backends = ("native", "interpreter") if element in ("ui16", "f32") else ("native",)
    for backend in backends:
        found = main.run(given, backend=backend)
        np.testing.assert_array_equal(found[1], expected)
        np.testing.assert_array_equal(found[0].view(words), np.take_along_axis(bits, expected, 1))


SECOND_KEYS = {"i8": "GT", "i64": "LT", "ui64": "GT", "f32": "GT", "f64": "LT"}


@pytest.mark.parametrize(("element", "direction"), sampled([*SECOND_KEYS.items()], 2))
def test_rows_of_several_keys(element: str, direction: str) -> None:
    """Rows on one device are sorted by the digits of their last key, then of the one before it."""
    dtype = np.dtype(f"{element[0]}{int(element.lstrip('uif')) // 8}")
    compared = {"f": "TOTALORDER", "u": "UNSIGNED", "i": "SIGNED"}[dtype.kind]
    bits = np.dtype(f"u{dtype.itemsize}")
    firsts, seconds = "tensor<2x260x2xi16>", f"tensor<2x260x2x{element}>"
    places = "tensor<2x260x2xi32>"
    number = f"tensor<{element}>"
    text = f"""
func.func @main(%a: {firsts}, %b: {seconds}, %i: {places}) -> ({firsts}, {seconds}, {places}) {{
  %0:3 = "stablehlo.sort"(%a, %b, %i) <{{dimension = 1 : i64, is_stable = true}}> ({{
  ^bb0(%x: tensor<i16>, %y: tensor<i16>, %p: {number}, %q: {number}, %r: tensor<i32>, %s: tensor<i32>):
    %k = stablehlo.compare LT, %x, %y, SIGNED : (tensor<i16>, tensor<i16>) -> tensor<i1>
    %e = stablehlo.compare EQ, %x, %y, SIGNED : (tensor<i16>, tensor<i16>) -> tensor<i1>
    %m = stablehlo.compare {direction}, %p, %q, {compared} : ({number}, {number}) -> tensor<i1>
    %n = stablehlo.and %e, %m : tensor<i1>
    %l = stablehlo.or %k, %n : tensor<i1>
    stablehlo.return %l : tensor<i1>
  }}) : ({firsts}, {seconds}, {places}) -> ({firsts}, {seconds}, {places})
  return %0#0, %0#1, %0#2 : {firsts}, {seconds}, {places}
}}"""
    rng = np.random.default_rng(0)
    first = rng.integers(-3, 3, (2, 260, 2)).astype(np.int16)
    few = rng.integers(0, 1 << 62, 40).astype(bits)
    half = 1 << 8 * dtype.itemsize - 1
    few[:4] = [0, 2 * half - 1, half, half - 1]
    second = rng.choice(few, first.shape)
    signed = second.view(f"i{dtype.itemsize}")
    key: Any = second if dtype.kind == "u" else signed
    if dtype.kind == "f":
        key = np.where(signed < 0, signed ^ (half - 1), signed)
    order = np.lexsort((key if direction == "LT" else ~key, first), axis=1)
    place = np.broadcast_to(np.arange(260, dtype=np.int32)[:, None], first.shape).copy()
    found = api.compile(text)["main"].run([first, second.view(dtype), place])
    np.testing.assert_array_equal(found[2], order)
    np.testing.assert_array_equal(found[0], np.take_along_axis(first, order, 1))
    np.testing.assert_array_equal(found[1].view(bits), np.take_along_axis(second, order, 1))


def test_a_split_vector() -> None:
    """A vector whose parts lie on two devices."""
    kind = "tensor<1024xi32>"
    text = f"""
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: {kind} {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}}) -> {kind} {{
  %0 = "stablehlo.sort"(%a) <{{dimension = 0 : i64, is_stable = true}}> ({{
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    %l = stablehlo.compare LT, %x, %y, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }}) : ({kind}) -> {kind}
  return %0 : {kind}
}}"""
    given = np.random.default_rng(0).integers(-(1 << 31), 1 << 31, 1024).astype(np.int32)
    for pipeline in ("spmd", "compile"):
        (found,) = api.compile(text, pipeline)["main"].run([given])
        np.testing.assert_array_equal(found, np.sort(given))


# Each with what elements are ordered by, and which of the two elements it is taken of.
COMPARATORS = {
    "rises": ("%l = stablehlo.compare LT, %x, %y", lambda a: a),
    "falls": ("%l = stablehlo.compare GT, %x, %y", lambda a: -a),
    "swapped": ("%l = stablehlo.compare LT, %y, %x", lambda a: -a),
    "by_one_function": (
        "%u = stablehlo.abs %x; %v = stablehlo.abs %y; %l = stablehlo.compare LT, %u, %v",
        np.abs,
    ),
    "by_two_functions": (
        "%u = stablehlo.abs %x; %v = stablehlo.negate %y; %w = stablehlo.negate %v;"
        " %t = stablehlo.abs %w; %l = stablehlo.compare LT, %u, %t",
        np.abs,
    ),
    "by_the_other_operand": (
        "%l = stablehlo.compare GT, %p, %q",
        lambda a: np.arange(len(a))[::-1],
    ),
    "by_nothing": (
        "%z = stablehlo.constant dense<1> : E; %l = stablehlo.compare LT, %z, %z",
        np.zeros_like,
    ),
}


@pytest.mark.parametrize("element", ["i16", "i64"])
@pytest.mark.parametrize("name", COMPARATORS)
def test_comparators(name: str, element: str) -> None:
    """Those that compare one function of each element are sorted by keys, packed if narrow."""
    comparator, key = COMPARATORS[name]
    lines = "\n".join(
        line
        if ": E" in line
        else f"{line} : {'(E, E) -> tensor<i1>' if 'compare' in line else 'E'}"
        for line in comparator.split(";")
    ).replace("E", f"tensor<{element}>")
    kind = f"tensor<136x{element}>"
    text = f"""
func.func @main(%a: {kind}, %i: {kind}) -> {kind} {{
  %0:2 = "stablehlo.sort"(%a, %i) <{{dimension = 0 : i64, is_stable = true}}> ({{
  ^bb0(%x: tensor<{element}>, %y: tensor<{element}>, %p: tensor<{element}>, %q: tensor<{element}>):
    {lines}
    stablehlo.return %l : tensor<i1>
  }}) : ({kind}, {kind}) -> ({kind}, {kind})
  return %0#1 : {kind}
}}"""
    given = np.random.default_rng(0).integers(-9, 9, 136).astype("i2" if element == "i16" else "i8")
    places = np.arange(136, dtype=given.dtype)
    main = api.compile(text)["main"]
    for backend in ("interpreter", "native"):
        (found,) = main.run([given, places], backend=backend)
        np.testing.assert_array_equal(found, np.argsort(key(given), kind="stable"))


@pytest.mark.parametrize("count", sampled([129, 131, 144], 2))
@pytest.mark.parametrize(("element", "k"), [("i32", 64), ("ui32", 64), ("i64", 4)])
def test_the_largest_integers_of_many(element: str, k: int, count: int) -> None:
    """The extremes of the type among equal ones."""
    limits = np.iinfo({"i32": np.int32, "ui32": np.uint32, "i64": np.int64}[element])
    text = f"""
func.func @main(%a: tensor<3x{count}x{element}>) -> (tensor<3x{k}x{element}>, tensor<3x{k}xi32>) {{
  %v, %i = chlo.top_k(%a, k = {k}) : tensor<3x{count}x{element}> -> (tensor<3x{k}x{element}>, tensor<3x{k}xi32>)
  return %v, %i : tensor<3x{k}x{element}>, tensor<3x{k}xi32>
}}"""
    few = [limits.min, limits.max, limits.min + 1, limits.max - 1, limits.max // 2 + 1]
    given = np.random.default_rng(0).choice(np.array(few, limits.dtype), (3, count))
    given[2] = limits.min
    order = [sorted(range(count), key=lambda place: -int(row[place]))[:k] for row in given]
    main = api.compile(text)["main"]
    for backend in ("interpreter", "native"):
        values, places = main.run([given], backend=backend)
        np.testing.assert_array_equal(places, order)
        np.testing.assert_array_equal(values, np.take_along_axis(given, np.array(order), 1))


@pytest.mark.parametrize("split", ["[{}, {}]", '[{"x"}, {}]', '[{}, {"x"}]'])
def test_the_largest_of_many(split: str) -> None:
    """NaN first, then by size; of equal ones the first, also where the row is split."""
    text = f"""
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x150xf32> {{sdy.sharding = #sdy.sharding<@mesh, {split}>}}) -> (tensor<4x5xf32>, tensor<4x5xi32>) {{
  %v, %i = chlo.top_k(%a, k = 5) : tensor<4x150xf32> -> (tensor<4x5xf32>, tensor<4x5xi32>)
  return %v, %i : tensor<4x5xf32>, tensor<4x5xi32>
}}"""
    given = np.random.default_rng(0).standard_normal((4, 150)).astype(np.float32)
    given[0, 5] = np.nan
    given[1, :60] = given[1, 60]
    given[2, 7:9] = np.inf, -np.inf
    keys = np.where(np.isnan(given), np.inf, given.astype(np.float64))
    order = np.argsort(-keys, axis=1, kind="stable")[:, :5]
    main = api.compile(text, "spmd")["main"]
    for backend in ("interpreter", "native"):
        values, places = main.run([given], backend=backend)
        np.testing.assert_array_equal(places, order)
        np.testing.assert_array_equal(values, np.take_along_axis(given, order, 1))


def test_the_reference_finds_the_largest_in_whole_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """One element after the other would take it minutes for rows of some thousand elements."""
    run_on_points = structured._run_sequentially

    def on_whole_rows(nest: LoopNest) -> None:
        assert not nest.sequential
        run_on_points(nest)

    monkeypatch.setattr(structured, "_run_sequentially", on_whole_rows)
    text = """
func.func @main(%a: tensor<2x300xi8>) -> (tensor<2x64xi8>, tensor<2x64xi32>) {
  %v, %i = chlo.top_k(%a, k = 64) : tensor<2x300xi8> -> (tensor<2x64xi8>, tensor<2x64xi32>)
  return %v, %i : tensor<2x64xi8>, tensor<2x64xi32>
}"""
    given = np.random.default_rng(0).integers(-128, 128, (2, 300)).astype(np.int8)
    given[0, :] = -128
    order = np.argsort(-given.astype(int), axis=1, kind="stable")[:, :64]
    _, places = api.compile(text)["main"].run([given], backend="interpreter")
    np.testing.assert_array_equal(places, order)


@pytest.mark.parametrize("direction", ["LT", "GT"])
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_the_first_of_many_by_a_comparator(element: str, direction: str) -> None:
    """NaN is the largest number; of equal ones the first comes first."""
    text = f"""
func.func private @before(%a: tensor<{element}>, %b: tensor<{element}>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {{
  %0 = stablehlo.compare {direction}, %a, %b : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
  stablehlo.return %0 : tensor<i1>
}}
func.func @main(%a: tensor<2x300x{element}>) -> tensor<2x9xi32> {{
  %i = stablehlo.iota dim = 1 : tensor<2x300xi32>
  %last = stablehlo.constant dense<0.0> : tensor<{element}>
  %none = stablehlo.constant dense<-1> : tensor<i32>
  %0:2 = stablehlo.custom_call @ApproxTopK(%a, %i, %last, %none) {{called_computations = [@before], mhlo.backend_config = {{reduction_dim = 1 : i64, top_k = 9 : i64}}}} : (tensor<2x300x{element}>, tensor<2x300xi32>, tensor<{element}>, tensor<i32>) -> (tensor<2x9x{element}>, tensor<2x9xi32>)
  return %0#1 : tensor<2x9xi32>
}}"""
    given = (
        np.random.default_rng(0).integers(-50, 50, (2, 300)).astype(element.replace("f", "float"))
    )
    given[0, [5, 80]] = np.nan
    given[1, 9:12] = np.inf, -np.inf, np.inf
    keys = np.where(np.isnan(given), np.inf, given) * (1 if direction == "LT" else -1)
    expected = np.argsort(keys, axis=1, kind="stable")[:, :9]
    main = api.compile(text)["main"]
    for backend in ("interpreter", "native"):
        np.testing.assert_array_equal(main.run([given], backend=backend)[0], expected)


@pytest.mark.parametrize(
    ("keys", "direction", "count"),
    sampled([*product((1, 2), ("LT", "LE", "GT", "GE"), (7, 130, 300))], 5),
)
def test_comparisons_that_do_not_order_nan(keys: int, direction: str, count: int) -> None:
    """NaN is the largest number, and both zeros are equal; nothing is lost.

    Comparisons that are true of equal elements sort stably, as others do.
    """
    kind, other = f"tensor<2x{count}xf32>", f"tensor<2x{count}xi32>"
    strict = direction if keys == 1 else f"{direction[0]}T"
    less = f"stablehlo.compare {strict}, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>"
    lexicographic = f"""
    %e = stablehlo.compare EQ, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %m = stablehlo.compare {direction}, %p, %q : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %b = stablehlo.and %e, %m : tensor<i1>
    %r = stablehlo.or %l, %b : tensor<i1>"""
    text = f"""
func.func @main(%a: {kind}, %i: {other}) -> ({kind}, {other}) {{
  %0:2 = "stablehlo.sort"(%a, %i) <{{dimension = 1 : i64, is_stable = true}}> ({{
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):
    %l = {less}{lexicographic if keys == 2 else ""}
    stablehlo.return {"%r" if keys == 2 else "%l"} : tensor<i1>
  }}) : ({kind}, {other}) -> ({kind}, {other})
  return %0#0, %0#1 : {kind}, {other}
}}"""
    rng = np.random.default_rng(count)
    given = rng.choice(np.float32([np.nan, -np.nan, -0.0, 0.0, 1.5, -2, np.inf]), (2, count))
    given = np.float32(given)
    places = np.stack([rng.permutation(count) for _ in range(2)]).astype(np.int32)
    sign = 1 if direction[0] == "L" else -1
    numbers = np.where(np.isnan(given), 1e9, np.where(np.isinf(given), 1e8, given)) + 0.0
    lesser = sign * places if keys == 2 else np.zeros_like(places)
    order = np.lexsort((lesser, sign * numbers), axis=1)
    main = api.compile(text)["main"]
    for backend in ("interpreter", "native"):
        found = main.run([given, places], backend=backend)
        np.testing.assert_array_equal(found[1], np.take_along_axis(places, order, 1))
        np.testing.assert_array_equal(found[0], np.take_along_axis(given, order, 1))


@pytest.mark.parametrize("element", ["i32", "i64"])
@pytest.mark.parametrize(("start", "end"), [(0, 5), (2, 64), (0, 65)])
def test_slices_of_a_sort(element: str, start: int, end: int) -> None:
    """A sort of which slices read the first elements alone finds only these."""
    whole, places = f"tensor<3x200x{element}>", "tensor<3x200xi32>"
    part, first = f"tensor<3x{end - start}x{element}>", f"tensor<3x{end}xi32>"
    text = f"""
func.func @main(%a: {whole}) -> ({part}, {first}) {{
  %i = stablehlo.iota dim = 1 : {places}
  %0:2 = "stablehlo.sort"(%a, %i) <{{dimension = 1 : i64, is_stable = true}}> ({{
  ^bb0(%x: tensor<{element}>, %y: tensor<{element}>, %p: tensor<i32>, %q: tensor<i32>):
    %l = stablehlo.compare GT, %x, %y : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }}) : ({whole}, {places}) -> ({whole}, {places})
  %1 = stablehlo.slice %0#0 [0:3, {start}:{end}] : ({whole}) -> {part}
  %2 = stablehlo.slice %0#1 [0:3, 0:{end}] : ({places}) -> {first}
  return %1, %2 : {part}, {first}
}}"""
    given = np.random.default_rng(end).integers(-50, 50, (3, 200)).astype(f"int{element[1:]}")
    order = np.argsort(-given, axis=1, kind="stable")
    main = api.compile(text)["main"]
    for backend in ("interpreter", "native"):
        values, found = main.run([given], backend=backend)
        np.testing.assert_array_equal(found, order[:, :end])
        np.testing.assert_array_equal(values, np.take_along_axis(given, order, 1)[:, start:end])

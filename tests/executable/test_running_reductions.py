"""Running sums and the like of StableHLO, in blocks of blocks, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from mesh_opt import api
from mesh_opt.dialects.linalg.running_nests import running_nest
from mesh_opt.dialects.linalg.structured_view import structured_view
from numpy.typing import NDArray

Running = Callable[..., NDArray[Any]]


def program(body: str, identity: str, kind: str, shape: tuple[int, ...], place: int, end: str):
    """A running reduction along a dimension; `end` says from where: `first` or `last`."""
    tensor = f"tensor<{'x'.join(map(str, shape))}x{kind}>"
    sizes, padding = [1] * len(shape), [[0, 0] for _ in shape]
    sizes[place] = shape[place]
    padding[place][end == "last"] = shape[place] - 1
    window = ", ".join(map(str, sizes))
    return f"""
    func.func @main(%a: {tensor}) -> {tensor} {{
      %c = stablehlo.constant dense<{identity}> : tensor<{kind}>
      %z = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<{kind}>) -> tensor<{kind}>
      %r = "stablehlo.reduce_window"(%a, %z) <{{window_dimensions = array<i64: {window}>,
          padding = dense<{padding}> : tensor<{len(shape)}x2xi64>}}> ({{
        ^bb0(%x: tensor<{kind}>, %y: tensor<{kind}>):
          %s = stablehlo.{body} %x, %y : tensor<{kind}>
          stablehlo.return %s : tensor<{kind}>
      }}) : ({tensor}, tensor<{kind}>) -> {tensor}
      return %r : {tensor}
    }}"""


TYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "i32": np.int32,
    "ui8": np.uint8,
    "bf16": ml_dtypes.bfloat16,
    "complex<f32>": np.complex64,
}

CASES: dict[str, tuple[str, str, str, tuple[int, ...], int, str, Running]] = {
    "sum": ("add", "0.0", "f32", (3, 2100, 2), 1, "first", np.cumsum),
    "sum_from_behind": ("add", "0.0", "f64", (129,), 0, "last", np.cumsum),
    "short_sum": ("add", "0.0", "f32", (33, 3), 0, "first", np.cumsum),
    "sum_of_integers": ("add", "0", "i32", (2, 65), 1, "first", np.cumsum),
    "rows_of_integers_from_behind": ("add", "0", "i32", (9, 70), 1, "last", np.cumsum),
    "columns_from_behind": ("add", "0.0", "f32", (70, 40), 0, "last", np.cumsum),
    "narrow_sum": ("add", "0.0", "bf16", (100, 2), 0, "first", np.cumsum),
    "product": ("multiply", "1.0", "f32", (96,), 0, "first", np.cumprod),
    "complex_product": ("multiply", "(1.0, 0.0)", "complex<f32>", (65,), 0, "first", np.cumprod),
    "greatest_integer": ("maximum", "-2147483648", "i32", (66,), 0, "first", np.maximum.accumulate),
    "least_integer": ("minimum", "255", "ui8", (66,), 0, "last", np.minimum.accumulate),
    "maximum": ("maximum", "0xFF800000", "f32", (70, 3), 0, "last", np.maximum.accumulate),
}


def assert_one_pass(main: api.Function) -> None:
    """Assert that there are running nests, which take one pass, and no window for each element."""
    views = filter(None, map(structured_view, main.program.module.walk()))
    running = [
        running_nest(each)
        for each in views
        if len(each.iterators) > len(each.output_maps[0].results)
    ]
    assert running[-1] is not None


@pytest.mark.parametrize("name", CASES)
def test_running_reductions(name: str) -> None:
    body, identity, kind, shape, place, end, numpy = CASES[name]
    main = api.compile(program(body, identity, kind, shape, place, end), "spmd")["main"]
    assert_one_pass(main)
    dtype = np.dtype(TYPES[kind])
    values = np.random.default_rng(0).standard_normal(shape)
    if body == "multiply":
        values = 1 + values / 100
    scale = 9 if dtype.kind in "iu" else 1
    given = (scale * (abs(values) if kind == "ui8" else values)).astype(dtype)
    wide = given.astype({"i": np.int64, "u": np.int64, "c": np.complex128}.get(dtype.kind, float))
    turned = np.flip(wide, place) if end == "last" else wide
    expected = numpy(turned, axis=place)
    expected = np.flip(expected, place) if end == "last" else expected
    tolerance = {"bf16": 1e-2, "f32": 1e-4, "complex<f32>": 1e-4}.get(kind, 1e-12)
    (interpreted,) = main.run([given], backend="interpreter")
    (native,) = main.run([given])
    for found in (interpreted, native):
        assert found.dtype == dtype
        np.testing.assert_allclose(
            found.astype(expected.dtype), expected, rtol=tolerance, atol=tolerance
        )


def test_an_initial_value_that_counts_is_added_once_for_each_place() -> None:
    """Padding is of the initial value: 10 is added for every place of the window, and once more."""
    text = program("add", "10.0", "f32", (66,), 0, "first")
    main = api.compile(text, "spmd")["main"]
    ones = np.ones(66, np.float32)
    expected = 10 + np.cumsum(ones) + 10 * np.arange(65, -1, -1)
    for backend in ("interpreter", "native"):
        np.testing.assert_array_equal(main.run([ones], backend=backend)[0], expected)


def test_sums_that_saturate_are_added_in_order() -> None:
    """The sum of a block and of those before it is not that of all elements, one by one."""
    kind = "!quant.uniform<i8:f32, 0.5:0>"
    zero, whole = f"tensor<{kind}>", f"tensor<66x{kind}>"
    text = f"""
    func.func @main(%a: tensor<66xf32>) -> tensor<66xf32> {{
      %q = stablehlo.uniform_quantize %a : (tensor<66xf32>) -> {whole}
      %c = stablehlo.constant() <{{value = dense<0> : tensor<i8>}}> : () -> {zero}
      %r = "stablehlo.reduce_window"(%q, %c) <{{window_dimensions = array<i64: 66>,
          padding = dense<[[65, 0]]> : tensor<1x2xi64>}}> ({{
        ^bb0(%x: {zero}, %y: {zero}):
          %s = stablehlo.add %x, %y : {zero}
          stablehlo.return %s : {zero}
      }}) : ({whole}, {zero}) -> {whole}
      %f = stablehlo.uniform_dequantize %r : ({whole}) -> tensor<66xf32>
      return %f : tensor<66xf32>
    }}"""
    values = np.array([60] * 33 + [-60] * 33, np.float32)
    expected = list(accumulate(values, lambda total, each: np.clip(total + each, -64, 63.5)))
    main = api.compile(text, "spmd")["main"]
    for backend in ("interpreter", "native"):
        np.testing.assert_array_equal(main.run([values], backend=backend)[0], expected)


@pytest.mark.parametrize("end", ["first", "last"])
def test_bodies_of_several_operations_are_applied_in_order(end: str) -> None:
    """The last number but 0 of each window, which is not the same in the other order."""
    one = "%s = stablehlo.add %x, %y : tensor<i32>"
    several = """%c0 = stablehlo.compare NE, %y, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %s = stablehlo.select %c0, %y, %x : tensor<i1>, tensor<i32>"""
    text = program("add", "0", "i32", (70,), 0, end)
    assert one in text
    main = api.compile(text.replace(one, several), "spmd")["main"]
    assert_one_pass(main)
    values = np.where(np.arange(70) % 3, 0, np.arange(70)).astype(np.int32)
    windows = [values[: i + 1] if end == "first" else values[i:] for i in range(70)]
    expected = [next((each for each in window[::-1] if each), 0) for window in windows]
    for backend in ("interpreter", "native"):
        np.testing.assert_array_equal(main.run([values], backend=backend)[0], expected)


@pytest.mark.parametrize("end", ["first", "last"])
@pytest.mark.parametrize("split", ["first", "second"])
def test_split_dimensions(split: str, end: str) -> None:
    """Blocks are split over devices, and so are other dimensions."""
    axes = '[{"x"}, {}]' if split == "first" else '[{}, {"x"}]'
    mesh = """sdy.mesh @mesh = <["x"=2]>"""
    text = program("add", "0", "i32", (4, 256), 1, end)
    text = text.replace(
        "(%a: tensor<4x256xi32>)",
        f"""(%a: tensor<4x256xi32>
      {{sdy.sharding = #sdy.sharding<@mesh, {axes}>}})""",
    )
    main = api.compile(f"{mesh}\n{text}", "spmd")["main"]
    values = np.random.default_rng(0).integers(-9, 9, (4, 256)).astype(np.int32)
    turned = values if end == "first" else values[:, ::-1]
    expected = np.cumsum(turned, 1, dtype=np.int32)
    expected = expected if end == "first" else expected[:, ::-1]
    assert_one_pass(main)
    for backend in ("interpreter", "native"):
        np.testing.assert_array_equal(main.run([values], backend=backend)[0], expected)


# Nests written by hand ------------------------------------------------------------------------

ADD, LESS = "%n = arith.addf %h, %v : f32", "arith.cmpi sle, %j, %i : index"

LOG = """%m = arith.maximumf %h, %v : f32
      %l = arith.minimumf %h, %v : f32
      %d = arith.subf %l, %m : f32
      %e = math.exp %d : f32
      %p = math.log1p %e : f32
      %n = arith.addf %m, %p : f32"""


def nest(shape: tuple[int, ...], place: int, body: str = ADD, order: str = LESS) -> str:
    """A running reduction along a dimension, of what `body` computes of `%v` and the held `%h`."""
    loops = [f"d{each}" for each in range(len(shape) + 1)]
    terms = ", ".join(loops[-1] if i == place else each for i, each in enumerate(loops[:-1]))
    rest = ", ".join(each for i, each in enumerate(loops[:-1]) if i != place)
    whole, part = (
        f"tensor<{''.join(f'{each}x' for each in sizes)}f32>"
        for sizes in (shape, (*shape[:place], *shape[place + 1 :]))
    )
    maps = (
        f"affine_map<({', '.join(loops)}) -> ({each})>"
        for each in (terms, rest, ", ".join(loops[:-1]))
    )
    kinds = ", ".join([*['"parallel"'] * len(shape), '"reduction"'])
    return f"""
    func.func @main(%a: {whole}, %s: {part}) -> {whole} {{
      %empty = tensor.empty() : {whole}
      %c0 = arith.constant 0 : index
      %r = linalg.generic {{indexing_maps = [{", ".join(maps)}], iterator_types = [{kinds}]}}
          ins(%a, %s : {whole}, {part}) outs(%empty : {whole}) {{
      ^bb0(%v: f32, %start: f32, %out: f32):
      %j = linalg.index {len(shape)} : index
      %i = linalg.index {place} : index
      %first = arith.cmpi eq, %j, %c0 : index
      %h = arith.select %first, %start, %out : f32
      {body}
      %before = {order}
      %y = arith.select %before, %n, %h : f32
      linalg.yield %y : f32
      }} -> {whole}
      return %r : {whole}
    }}"""


def counted_from(last: int) -> tuple[str, str]:
    """The body and the order of a nest whose places are counted from behind."""
    body = f"""%last = arith.constant {last} : index
      %p = arith.subi %last, %i : index
      {ADD}"""
    return body, "arith.cmpi sle, %j, %p : index"


NESTS = {
    "rows": nest((5, 40), 1),
    "blocks_of_rows": nest((2, 1030, 33), 2),
    "columns": nest((3, 20, 2050), 1),
    "one_row": nest((21,), 0),
    "exclusive": nest((9, 20), 1, order="arith.cmpi slt, %j, %i : index"),
    "exchanged": nest((20, 9), 0, order="arith.cmpi sge, %i, %j : index"),
    "exclusive_and_exchanged": nest((20, 9), 0, order="arith.cmpi sgt, %i, %j : index"),
    "from_behind": nest((9, 20), 1, *counted_from(19)),
    "long_bodies": nest((3, 35, 50), 2, LOG),
    "indices": nest(
        (4, 20),
        1,
        """%w = arith.index_cast %j : index to i32
      %f = arith.sitofp %w : i32 to f32
      %t = arith.mulf %v, %f : f32
      %n = arith.addf %h, %t : f32""",
    ),
}


@pytest.mark.parametrize("name", NESTS)
def test_nests_take_one_pass(name: str) -> None:
    main = api.compile(NESTS[name])["main"]
    assert_one_pass(main)
    shapes = [each.shape for each in main.types.arguments]
    place = next(i for i in range(9) if shapes[0][:i] + shapes[0][i + 1 :] == shapes[1])
    rng = np.random.default_rng(0)
    values, starts = (rng.standard_normal(shape, dtype=np.float32) for shape in shapes)
    moved, found = np.moveaxis(values, place, 0), np.empty(values.shape, np.float32)
    held, results = starts, np.moveaxis(found, place, 0)
    for number, each in enumerate(moved):
        if name == "long_bodies":
            new = np.logaddexp(held, each)
        else:
            new = held + (each * np.float32(number) if name == "indices" else each)
        results[19 - number if name == "from_behind" else number] = (
            held if "exclusive" in name else new
        )
        held = new
    for backend in ("interpreter", "native"):
        (result,) = main.run([values, starts], backend=backend)
        if name == "long_bodies":
            np.testing.assert_allclose(result, found, rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(result, found)


OTHERS = {
    "place_in_the_body": nest(
        (3, 9),
        1,
        """%w = arith.index_cast %i : index to i32
      %f = arith.sitofp %w : i32 to f32
      %t = arith.mulf %v, %f : f32
      %n = arith.addf %h, %t : f32""",
    ),
    "choice_in_the_body": nest(
        (3, 9),
        1,
        """%first2 = arith.select %first, %start, %v : f32
      %n = arith.addf %h, %first2 : f32""",
    ),
    "another_order": nest((3, 9), 1, order="arith.cmpi sge, %j, %i : index"),
    "another_last_place": nest((3, 9), 1, *counted_from(7)),
    "another_first_term": nest((3, 9), 1).replace("arith.constant 0", "arith.constant 1"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_similar_nests_are_computed_as_written(name: str) -> None:
    main = api.compile(OTHERS[name])["main"]
    views = filter(None, map(structured_view, main.program.module.walk()))
    assert not any(map(running_nest, views))
    given = [np.ones((3, 9), np.float32), np.full(3, 2, np.float32)]
    if name == "another_first_term":
        return  # what precedes term 1 is undefined
    found = np.zeros((3, 9), np.float32)
    for i in range(9):
        held = given[1]
        for j in range(9):
            last = 7 - i if name == "another_last_place" else i
            counts = j >= i if name == "another_order" else j <= last
            scale = i if name == "place_in_the_body" else 1
            term = given[1] if name == "choice_in_the_body" and j == 0 else given[0][:, j]
            held = held + term * scale if counts else held
        found[:, i] = held
    for backend in ("interpreter", "native"):
        np.testing.assert_array_equal(main.run(given, backend=backend)[0], found)


def test_two_results_of_one_pass() -> None:
    """The greatest number so far, and where it was last."""
    text = """
    func.func @main(%a: tensor<6x40xf32>) -> (tensor<6x40xf32>, tensor<6x40xi64>) {
      %e = tensor.empty() : tensor<6x40xf32>
      %p = tensor.empty() : tensor<6x40xi64>
      %c = arith.constant dense<0xFF800000> : tensor<6xf32>
      %z = arith.constant dense<0> : tensor<6xi64>
      %r:2 = linalg.generic {indexing_maps = [
          affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0)>,
          affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1)>,
          affine_map<(d0, d1, d2) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%a, %c, %z : tensor<6x40xf32>, tensor<6xf32>, tensor<6xi64>)
          outs(%e, %p : tensor<6x40xf32>, tensor<6x40xi64>) {
      ^bb0(%v: f32, %s: f32, %t: i64, %x: f32, %y: i64):
        %j = linalg.index 2 : index
        %i = linalg.index 1 : index
        %c0 = arith.constant 0 : index
        %first = arith.cmpi eq, %j, %c0 : index
        %h = arith.select %first, %s, %x : f32
        %k = arith.select %first, %t, %y : i64
        %more = arith.cmpf oge, %v, %h : f32
        %n = arith.select %more, %v, %h : f32
        %here = arith.index_cast %j : index to i64
        %m = arith.select %more, %here, %k : i64
        %before = arith.cmpi sle, %j, %i : index
        %u = arith.select %before, %n, %h : f32
        %w = arith.select %before, %m, %k : i64
        linalg.yield %u, %w : f32, i64
      } -> (tensor<6x40xf32>, tensor<6x40xi64>)
      return %r#0, %r#1 : tensor<6x40xf32>, tensor<6x40xi64>
    }"""
    main = api.compile(text)["main"]
    assert_one_pass(main)
    values = np.random.default_rng(0).integers(0, 9, (6, 40)).astype(np.float32)
    greatest = np.maximum.accumulate(values, 1)
    is_one = values == greatest
    places = np.maximum.accumulate(np.where(is_one, np.arange(40), 0), 1)
    for backend in ("interpreter", "native"):
        found = main.run([values], backend=backend)
        np.testing.assert_array_equal(found[0], greatest)
        np.testing.assert_array_equal(found[1], places)

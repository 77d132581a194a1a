"""Running sums and the like of StableHLO, in blocks of blocks, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from mesh_opt import api
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
    "sum_of_integers": ("add", "0", "i32", (2, 65), 1, "first", np.cumsum),
    "narrow_sum": ("add", "0.0", "bf16", (100, 2), 0, "first", np.cumsum),
    "product": ("multiply", "1.0", "f32", (96,), 0, "first", np.cumprod),
    "complex_product": ("multiply", "(1.0, 0.0)", "complex<f32>", (65,), 0, "first", np.cumprod),
    "greatest_integer": ("maximum", "-2147483648", "i32", (66,), 0, "first", np.maximum.accumulate),
    "least_integer": ("minimum", "255", "ui8", (66,), 0, "last", np.minimum.accumulate),
    "maximum": ("maximum", "0xFF800000", "f32", (70, 3), 0, "last", np.maximum.accumulate),
}


@pytest.mark.parametrize("name", CASES)
def test_running_reductions(name: str) -> None:
    body, identity, kind, shape, place, end, numpy = CASES[name]
    main = api.compile(program(body, identity, kind, shape, place, end), "spmd")["main"]
    # Blocks, and not one window for each element.
    assert str(main.program.module).count("linalg.generic") > 2
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
    assert str(main.program.module).count("linalg.generic") > 2
    values = np.where(np.arange(70) % 3, 0, np.arange(70)).astype(np.int32)
    windows = [values[: i + 1] if end == "first" else values[i:] for i in range(70)]
    expected = [next((each for each in window[::-1] if each), 0) for window in windows]
    for backend in ("interpreter", "native"):
        np.testing.assert_array_equal(main.run([values], backend=backend)[0], expected)

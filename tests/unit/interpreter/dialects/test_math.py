"""The math and complex dialects against Python's math and NumPy."""

from __future__ import annotations

import cmath
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from breadth import breadth
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

_FUNCTIONS = {
    "absf": abs,
    "acos": math.acos,
    "asin": math.asin,
    "asinh": math.asinh,
    "atan": math.atan,
    "atanh": math.atanh,
    "cbrt": lambda x: math.copysign(abs(x) ** (1 / 3), x),
    "ceil": math.ceil,
    "cos": math.cos,
    "cosh": math.cosh,
    "erf": math.erf,
    "exp": math.exp,
    "exp2": lambda x: 2.0**x,
    "expm1": math.expm1,
    "floor": math.floor,
    "log1p": math.log1p,
    "roundeven": round,
    "sin": math.sin,
    "sinh": math.sinh,
    "tan": math.tan,
    "tanh": math.tanh,
    "trunc": math.trunc,
}
_OF_POSITIVE = {
    "log": math.log,
    "log10": math.log10,
    "log2": math.log2,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "sqrt": math.sqrt,
}


@pytest.mark.parametrize("name", [*_FUNCTIONS, *_OF_POSITIVE])
@pytest.mark.parametrize(
    ("element", "dtype", "tolerance"),
    [("f32", np.float32, 1e-6), ("f64", np.float64, 1e-14), ("bf16", ml_dtypes.bfloat16, 2**-8)],
)
def test_functions(execute: Any, name: str, element: str, dtype: Any, tolerance: float) -> None:
    x = np.linspace(-0.95, 0.95, 21).astype(dtype)
    if name in _OF_POSITIVE:
        x = (np.linspace(0.1, 9, 21)).astype(dtype)
    text = f"""
    func.func @f(%x: tensor<21x{element}>) -> tensor<21x{element}> {{
      %0 = math.{name} %x : tensor<21x{element}>
      return %0 : tensor<21x{element}>
    }}"""
    expected = [float({**_FUNCTIONS, **_OF_POSITIVE}[name](float(each))) for each in x]
    result = execute(text, x)[0]
    assert result.dtype == dtype
    np.testing.assert_allclose(result.astype(np.float64), expected, rtol=tolerance, atol=1e-7)


def test_round_goes_away_from_zero_at_ties(execute: Any) -> None:
    text = """
    func.func @f(%x: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
      %0 = math.round %x : tensor<6xf32>
      %1 = math.roundeven %x : tensor<6xf32>
      return %0, %1 : tensor<6xf32>, tensor<6xf32>
    }"""
    x = np.float32([0.5, 1.5, 2.5, -0.5, -2.5, 0.49999997])
    away, even = execute(text, x)
    assert away.tolist() == [1, 2, 3, -1, -3, 0]
    assert even.tolist() == [0, 2, 2, 0, -2, 0]


def test_functions_of_several(execute: Any) -> None:
    text = """
    func.func @f(%x: f32, %y: f32, %z: f32, %n: i32) -> (f32, f32, f32, f32, f32) {
      %0 = math.powf %x, %y : f32
      %1 = math.atan2 %x, %y : f32
      %2 = math.fma %x, %y, %z : f32
      %3 = math.copysign %x, %z : f32
      %4 = math.fpowi %x, %n : f32, i32
      return %0, %1, %2, %3, %4 : f32, f32, f32, f32, f32
    }"""
    x, y = np.float32(1 + 2**-12), np.float32(1 - 2**-12)
    power, angle, fused, signed, whole = execute(text, x, y, np.float32(-1), np.int32(-2))
    assert power == pytest.approx(float(x) ** float(y), rel=1e-6)
    assert angle == pytest.approx(math.atan2(x, y), rel=1e-6)
    # The product is not rounded before the sum.
    assert float(fused) == -(2.0**-24)
    assert signed == -x
    assert whole == pytest.approx(float(x) ** -2, rel=1e-6)


_BITS = """
func.func @f(%x: i12) -> (i12, i12, i12, i12) {
  %0 = math.ctpop %x : i12
  %1 = math.ctlz %x : i12
  %2 = math.cttz %x : i12
  %3 = math.absi %x : i12
  return %0, %1, %2, %3 : i12, i12, i12, i12
}"""


@settings(max_examples=breadth(15, 200), suppress_health_check=list(HealthCheck))
@given(value=st.integers(-2048, 2047))
def test_bits(execute: Any, value: int) -> None:
    bits = f"{value & 0xFFF:012b}"
    ones, leading, trailing, absolute = (int(each) for each in execute(_BITS, np.int16(value)))
    assert ones == bits.count("1")
    assert leading == 12 - len(bits.lstrip("0"))
    assert trailing == 12 - len(bits.rstrip("0"))
    assert absolute == (abs(value) if value != -2048 else -2048)


@settings(max_examples=breadth(15, 200), suppress_health_check=list(HealthCheck))
@given(base=st.integers(-20, 20), exponent=st.integers(-3, 12))
def test_integer_powers(execute: Any, base: int, exponent: int) -> None:
    text = """
    func.func @f(%x: i64, %n: i64) -> i64 {
      %0 = math.ipowi %x, %n : i64
      return %0 : i64
    }"""
    expected = base**exponent if exponent >= 0 else (0 if abs(base) != 1 else base**-exponent)
    assert int(execute(text, np.int64(base), np.int64(exponent))[0]) == expected


def test_complex_numbers(execute: Any) -> None:
    text = """
    func.func @f(%a: f32, %b: f32)
        -> (complex<f32>, complex<f32>, complex<f32>, f32, f32, f32, i1) {
      %z = complex.create %a, %b : complex<f32>
      %w = complex.constant [1.0 : f32, -2.0 : f32] : complex<f32>
      %0 = complex.add %z, %w : complex<f32>
      %1 = complex.mul %z, %w : complex<f32>
      %2 = complex.exp %z : complex<f32>
      %3 = complex.re %z : complex<f32>
      %4 = complex.im %z : complex<f32>
      %5 = complex.abs %z : complex<f32>
      %6 = complex.eq %z, %w : complex<f32>
      return %0, %1, %2, %3, %4, %5, %6
          : complex<f32>, complex<f32>, complex<f32>, f32, f32, f32, i1
    }"""
    total, product, power, real, imaginary, size, equal = execute(
        text, np.float32(3), np.float32(4)
    )
    assert total == 4 + 2j
    assert product == (3 + 4j) * (1 - 2j)
    assert power == pytest.approx(cmath.exp(3 + 4j), rel=1e-6)
    assert (real, imaginary, size, bool(equal)) == (3, 4, 5, False)

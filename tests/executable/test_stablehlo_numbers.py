"""StableHLO's arithmetic on integers and floats of all widths, in both backends: each program checks itself."""

# ruff: noqa: E501

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from mesh_opt import api
from self_checks import run

PROGRAMS = {
    # Division by 0 and by -1, shifts by the width, conversions that saturate, wrapping.
    "integers": """
func.func @main() {
  %a = stablehlo.constant dense<[7, -7, -128, 5]> : tensor<4xi8>
  %b = stablehlo.constant dense<[0, 2, -1, 9]> : tensor<4xi8>
  %0 = stablehlo.divide %a, %b : tensor<4xi8>
  check.expect_eq_const %0, dense<[-1, -3, -128, 0]> : tensor<4xi8>
  %1 = stablehlo.remainder %a, %b : tensor<4xi8>
  check.expect_eq_const %1, dense<[7, -1, 0, 5]> : tensor<4xi8>
  %2 = stablehlo.shift_right_arithmetic %a, %b : tensor<4xi8>
  check.expect_eq_const %2, dense<[7, -2, -1, 0]> : tensor<4xi8>
  %3 = stablehlo.shift_left %a, %b : tensor<4xi8>
  check.expect_eq_const %3, dense<[7, -28, 0, 0]> : tensor<4xi8>
  %u = stablehlo.convert %a : (tensor<4xi8>) -> tensor<4xui8>
  %z = stablehlo.constant dense<[0, 100, 255, 1]> : tensor<4xui8>
  %4 = stablehlo.divide %u, %z : tensor<4xui8>
  check.expect_eq_const %4, dense<[255, 2, 0, 5]> : tensor<4xui8>
  %5 = stablehlo.compare LT, %u, %z, UNSIGNED : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
  check.expect_eq_const %5, dense<[false, false, true, false]> : tensor<4xi1>
  %f = stablehlo.constant dense<[0x7FC00000, 300.0, -1.0e10, -2.7]> : tensor<4xf32>
  %6 = stablehlo.convert %f : (tensor<4xf32>) -> tensor<4xi8>
  check.expect_eq_const %6, dense<[0, 127, -128, -2]> : tensor<4xi8>
  %7 = stablehlo.convert %f : (tensor<4xf32>) -> tensor<4xui8>
  check.expect_eq_const %7, dense<[0, 255, 0, 0]> : tensor<4xui8>
  %8 = stablehlo.power %a, %b : tensor<4xi8>
  check.expect_eq_const %8, dense<[1, 49, 0, 101]> : tensor<4xi8>
  return
}""",
    # What is compared and chosen is known.
    "known_numbers": """
func.func @main() {
  %m = stablehlo.constant dense<-1> : tensor<i32>
  %n = stablehlo.constant dense<1> : tensor<i32>
  %u = stablehlo.constant dense<4294967295> : tensor<ui32>
  %v = stablehlo.constant dense<1> : tensor<ui32>
  %0 = stablehlo.compare LT, %m, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  check.expect_eq_const %0, dense<true> : tensor<i1>
  %1 = stablehlo.compare LT, %u, %v, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
  check.expect_eq_const %1, dense<false> : tensor<i1>
  %2 = stablehlo.select %0, %m, %n : tensor<i1>, tensor<i32>
  check.expect_eq_const %2, dense<-1> : tensor<i32>
  %a = stablehlo.constant dense<[5, -7]> : tensor<2xi32>
  %b = stablehlo.constant dense<[0, 2]> : tensor<2xi32>
  %3 = stablehlo.select %1, %a, %b : tensor<i1>, tensor<2xi32>
  check.expect_eq_const %3, dense<[0, 2]> : tensor<2xi32>
  %4 = stablehlo.not %0 : tensor<i1>
  %5 = stablehlo.select %4, %a, %b : tensor<i1>, tensor<2xi32>
  check.expect_eq_const %5, dense<[0, 2]> : tensor<2xi32>
  %6 = stablehlo.compare GE, %n, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %7 = stablehlo.convert %6 : (tensor<i1>) -> tensor<i32>
  check.expect_eq_const %7, dense<1> : tensor<i32>
  %8 = stablehlo.convert %a : (tensor<2xi32>) -> tensor<2xi32>
  %9 = stablehlo.remainder %8, %8 : tensor<2xi32>
  check.expect_eq_const %9, dense<0> : tensor<2xi32>
  %t = stablehlo.constant dense<true> : tensor<i1>
  %10 = stablehlo.select %t, %a, %b : tensor<i1>, tensor<2xi32>
  check.expect_eq_const %10, dense<[5, -7]> : tensor<2xi32>
  return
}""",
    # The absolute value is rounded to a denormal number; a part of 0 stays 0 beside an infinity.
    "signs_of_complex_numbers": """
func.func @main() {
  %a = stablehlo.constant dense<[(0.0, 1.0e-40), (0.0, 0x7F800000), (-0.0, 2.0), (3.0, 4.0)]> : tensor<4xcomplex<f32>>
  %0 = stablehlo.sign %a : tensor<4xcomplex<f32>>
  %1 = stablehlo.constant dense<[(0.0, 1.0), (0.0, 0x7FC00000), (-0.0, 1.0), (0.6, 0.8)]> : tensor<4xcomplex<f32>>
  check.expect_almost_eq %0, %1 : tensor<4xcomplex<f32>>
  return
}""",
    "floats": """
func.func @main() {
  %a = stablehlo.constant dense<[0x7FC00000, -0.0, 2.5, -3.0]> : tensor<4xf32>
  %b = stablehlo.constant dense<[1.0, 0.0, 1.5, 0x7F800000]> : tensor<4xf32>
  %0 = stablehlo.maximum %a, %b : tensor<4xf32>
  check.expect_eq_const %0, dense<[0x7FC00000, 0.0, 2.5, 0x7F800000]> : tensor<4xf32>
  %1 = stablehlo.compare NE, %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %1, dense<[true, false, false, false]> : tensor<4xi1>
  %2 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %2, dense<[false, true, false, true]> : tensor<4xi1>
  %3 = stablehlo.round_nearest_even %a : tensor<4xf32>
  check.expect_eq_const %3, dense<[0x7FC00000, -0.0, 2.0, -3.0]> : tensor<4xf32>
  %4 = stablehlo.round_nearest_afz %a : tensor<4xf32>
  check.expect_eq_const %4, dense<[0x7FC00000, -0.0, 3.0, -3.0]> : tensor<4xf32>
  %5 = stablehlo.sign %a : tensor<4xf32>
  check.expect_eq_const %5, dense<[0x7FC00000, -0.0, 1.0, -1.0]> : tensor<4xf32>
  %6 = stablehlo.reduce_precision %b, format = e5m2 : tensor<4xf32>
  check.expect_eq_const %6, dense<[1.0, 0.0, 1.5, 0x7F800000]> : tensor<4xf32>
  %7 = stablehlo.clamp %a, %b, %a : tensor<4xf32>
  check.expect_eq_const %7, dense<[0x7FC00000, -0.0, 2.5, -3.0]> : tensor<4xf32>
  %8 = chlo.erf_inv %6 : tensor<4xf32> -> tensor<4xf32>
  %9 = stablehlo.slice %8 [0:2] : (tensor<4xf32>) -> tensor<2xf32>
  check.expect_eq_const %9, dense<[0x7F800000, 0.0]> : tensor<2xf32>
  return
}""",
    # A body computes on what it stores, so its sums saturate one by one.
    "quantised_bodies": """
!q = !quant.uniform<i8:f32, 0.5:3>
!w = !quant.uniform<i32:f32, 0.5:0>
func.func @main() {
  %a = "stablehlo.constant"() <{value = dense<[103, 104, -47]> : tensor<3xi8>}> : () -> tensor<3x!q>
  %z = "stablehlo.constant"() <{value = dense<3> : tensor<i8>}> : () -> tensor<!q>
  %w = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<!w>
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3x!q>, tensor<!q>) -> tensor<!q>
  %1 = stablehlo.uniform_dequantize %0 : (tensor<!q>) -> tensor<f32>
  check.expect_eq_const %1, dense<37.0> : tensor<f32>
  %2 = stablehlo.reduce(%a init: %w) across dimensions = [0] : (tensor<3x!q>, tensor<!w>) -> tensor<!w>
   reducer(%x: tensor<!w>, %y: tensor<!w>) {
    %s = stablehlo.add %x, %y : tensor<!w>
    stablehlo.return %s : tensor<!w>
  }
  %3 = stablehlo.uniform_dequantize %2 : (tensor<!w>) -> tensor<f32>
  check.expect_eq_const %3, dense<75.5> : tensor<f32>
  %4 = stablehlo.reduce(%a init: %z) across dimensions = [0] : (tensor<3x!q>, tensor<!q>) -> tensor<!q>
   reducer(%x: tensor<!q>, %y: tensor<!q>) {
    %f = stablehlo.uniform_dequantize %x : (tensor<!q>) -> tensor<f32>
    %g = stablehlo.uniform_dequantize %y : (tensor<!q>) -> tensor<f32>
    %h = stablehlo.add %f, %g : tensor<f32>
    %s = stablehlo.uniform_quantize %h : (tensor<f32>) -> tensor<!q>
    stablehlo.return %s : tensor<!q>
  }
  %5 = stablehlo.uniform_dequantize %4 : (tensor<!q>) -> tensor<f32>
  check.expect_eq_const %5, dense<37.0> : tensor<f32>
  // The largest storage value is no f32.
  %b = stablehlo.constant dense<1.0e20> : tensor<f32>
  %6 = stablehlo.uniform_quantize %b : (tensor<f32>) -> tensor<!w>
  %7 = stablehlo.uniform_dequantize %6 : (tensor<!w>) -> tensor<f32>
  check.expect_eq_const %7, dense<1073741824.0> : tensor<f32>
  return
}""",
    "quantised_cholesky": """
!q = !quant.uniform<i8:f32, 0.5:0>
func.func @main() {
  %a = stablehlo.constant dense<[[4.0, 2.0], [2.0, 5.0]]> : tensor<2x2xf32>
  %b = stablehlo.uniform_quantize %a : (tensor<2x2xf32>) -> tensor<2x2x!q>
  %c = stablehlo.cholesky %b, lower = true : tensor<2x2x!q>
  %0 = stablehlo.uniform_dequantize %c : (tensor<2x2x!q>) -> tensor<2x2xf32>
  check.expect_eq_const %0, dense<[[2.0, 0.0], [1.0, 2.0]]> : tensor<2x2xf32>
  return
}""",
    "composite_with_regions": """
func.func @main() {
  %a = stablehlo.constant dense<3.0> : tensor<f32>
  %0 = stablehlo.composite "test.negate" %a ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }, {
  }) {decomposition = @negate, version = 1 : i32} : (tensor<f32>) -> tensor<f32>
  check.expect_eq_const %0, dense<-3.0> : tensor<f32>
  return
}
func.func private @negate(%a: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.negate %a : tensor<f32>
  return %0 : tensor<f32>
}""",
    "quantised": """
func.func @main() {
  %a = stablehlo.constant dense<[0.25, 0.5]> : tensor<2xf32>
  %q = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.025:-1>>
  %s = stablehlo.add %q, %q : (tensor<2x!quant.uniform<i8:f32, 0.025:-1>>, tensor<2x!quant.uniform<i8:f32, 0.025:-1>>) -> tensor<2x!quant.uniform<i8:f32, 0.15:-1>>
  %0 = stablehlo.uniform_dequantize %s : (tensor<2x!quant.uniform<i8:f32, 0.15:-1>>) -> tensor<2xf32>
  check.expect_almost_eq_const %0, dense<[0.45, 1.05]> : tensor<2xf32>
  return
}""",
    # Integers of a few bits, floats of eight.
    "narrow": """
func.func @main() {
  %a = stablehlo.constant dense<[1, -2, 7, -8]> : tensor<4xi4>
  %s = stablehlo.add %a, %a : tensor<4xi4>
  check.expect_eq_const %s, dense<[2, -4, -2, 0]> : tensor<4xi4>
  %u = stablehlo.constant dense<[1, 3, 2, 0]> : tensor<4xui2>
  %t = stablehlo.add %u, %u : tensor<4xui2>
  check.expect_eq_const %t, dense<[2, 2, 0, 0]> : tensor<4xui2>
  %w = stablehlo.convert %u : (tensor<4xui2>) -> tensor<4xi32>
  check.expect_eq_const %w, dense<[1, 3, 2, 0]> : tensor<4xi32>
  %f = stablehlo.constant dense<[1.0, 464.0, 500.0, -0.0]> : tensor<4xf32>
  %g = stablehlo.convert %f : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
  %h = stablehlo.convert %g : (tensor<4xf8E4M3FN>) -> tensor<4xf32>
  check.expect_eq_const %h, dense<[1.0, 448.0, 0x7FC00000, -0.0]> : tensor<4xf32>
  %i = stablehlo.convert %f : (tensor<4xf32>) -> tensor<4xf8E5M2>
  %j = stablehlo.add %i, %i : tensor<4xf8E5M2>
  %k = stablehlo.convert %j : (tensor<4xf8E5M2>) -> tensor<4xf32>
  check.expect_eq_const %k, dense<[2.0, 896.0, 1024.0, 0.0]> : tensor<4xf32>
  %b = stablehlo.bitcast_convert %a : (tensor<4xi4>) -> tensor<4xi4>
  %c8 = stablehlo.constant dense<[4, 3]> : tensor<2xi8>
  %c4 = stablehlo.bitcast_convert %c8 : (tensor<2xi8>) -> tensor<2x2xi4>
  check.expect_eq_const %c4, dense<[[4, 0], [3, 0]]> : tensor<2x2xi4>
  // Each part of a complex number becomes one.
  %z = stablehlo.constant dense<[(1.0, -2.5), (0.1, 3.0e200)]> : tensor<2xcomplex<f64>>
  %z2 = stablehlo.bitcast_convert %z : (tensor<2xcomplex<f64>>) -> tensor<2x2xcomplex<f32>>
  %z3 = stablehlo.imag %z2 : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
  %z4 = stablehlo.bitcast_convert %z3 : (tensor<2x2xf32>) -> tensor<2x2xi32>
  check.expect_eq_const %z4, dense<[[1072693248, -1073479680], [1069128089, 1771002533]]> : tensor<2x2xi32>
  %z5 = stablehlo.bitcast_convert %z2 : (tensor<2x2xcomplex<f32>>) -> tensor<2xcomplex<f64>>
  check.expect_eq %z5, %z : tensor<2xcomplex<f64>>
  %l = stablehlo.reduce_precision %g, format = e3m1 : tensor<4xf8E4M3FN>
  %m = stablehlo.convert %l : (tensor<4xf8E4M3FN>) -> tensor<4xf32>
  check.expect_eq_const %m, dense<[1.0, 0x7FC00000, 0x7FC00000, -0.0]> : tensor<4xf32>
  // Floats without a sign, and without a zero.
  %e = stablehlo.constant dense<[1.0, 4.0]> : tensor<2xf8E8M0FNU>
  %d = stablehlo.constant dense<2.0> : tensor<2xf8E8M0FNU>
  %n = stablehlo.minimum %e, %d : tensor<2xf8E8M0FNU>
  check.expect_eq_const %n, dense<[1.0, 2.0]> : tensor<2xf8E8M0FNU>
  %x = stablehlo.convert %n : (tensor<2xf8E8M0FNU>) -> tensor<2xf6E2M3FN>
  check.expect_eq_const %x, dense<[1.0, 2.0]> : tensor<2xf6E2M3FN>
  %least = stablehlo.constant dense<[0x00, 0x80]> : tensor<2xf8E8M0FNU>
  %sign = stablehlo.sign %least : tensor<2xf8E8M0FNU>
  check.expect_eq_const %sign, dense<1.0> : tensor<2xf8E8M0FNU>
  %holds = stablehlo.convert %least : (tensor<2xf8E8M0FNU>) -> tensor<2xi1>
  check.expect_eq_const %holds, dense<true> : tensor<2xi1>
  return
}""",
    # The real part counts; numbers of 128 bits fit no register.
    "complex": """
func.func @main() {
  %a = stablehlo.constant dense<[(0.0, 1.0), (2.0, 0.0)]> : tensor<2xcomplex<f64>>
  %0 = stablehlo.convert %a : (tensor<2xcomplex<f64>>) -> tensor<2xi1>
  check.expect_eq_const %0, dense<[false, true]> : tensor<2xi1>
  %z = stablehlo.constant dense<(3.0, 2.0)> : tensor<complex<f64>>
  %y = stablehlo.add %z, %z : tensor<complex<f64>>
  %1 = stablehlo.pad %a, %y, low = [1], high = [0], interior = [0] : (tensor<2xcomplex<f64>>, tensor<complex<f64>>) -> tensor<3xcomplex<f64>>
  check.expect_eq_const %1, dense<[(6.0, 4.0), (0.0, 1.0), (2.0, 0.0)]> : tensor<3xcomplex<f64>>
  return
}""",
    # The bits of XLA.
    "random_bits": """
func.func @main() {
  %k = stablehlo.constant dense<[8589934593, 17179869187]> : tensor<2xui64>
  %s, %o = stablehlo.rng_bit_generator %k, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui32>)
  check.expect_eq_const %o, dense<[1576285164, 2249660814, 740599976]> : tensor<3xui32>
  %t, %p = stablehlo.rng_bit_generator %k, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui32>)
  check.expect_eq_const %p, dense<[512747620, 1298009047, 1267190206]> : tensor<3xui32>
  check.expect_eq_const %t, dense<[8589934593, 17179869188]> : tensor<2xui64>
  return
}""",
}


@pytest.mark.parametrize("backend", ["interpreter", "native"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_check_themselves(name: str, backend: str) -> None:
    assert run(PROGRAMS[name], f"--backend={backend}") == (0, "")


def test_failed_checks_show_unsigned_numbers() -> None:
    program = """
func.func @main() {
  %a = stablehlo.constant dense<[13, 1]> : tensor<2xui4>
  check.expect_eq_const %a, dense<[15, 1]> : tensor<2xui4>
  return
}"""
    assert "finds 13 at [0], expected 15" in run(program)[1]


def test_sums_of_zeros_are_not_negative() -> None:
    """A window of padding has only the terms `0.0 * -1.0`, and its sum begins with 0.0."""
    text = """
func.func @main(%x: tensor<2x6x2xbf16>, %w: tensor<6x2x2xbf16>) -> tensor<6x2x4xbf16> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, 0, i]->[f, b, 0], window = {stride = [2], pad = [[3, 3]]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<2x6x2xbf16>, tensor<6x2x2xbf16>) -> tensor<6x2x4xbf16>
  return %0 : tensor<6x2x4xbf16>
}"""
    main = api.compile(text, "compile")["main"]
    inputs = [np.ones((2, 6, 2), ml_dtypes.bfloat16), np.full((6, 2, 2), -1, ml_dtypes.bfloat16)]
    for backend in ("interpreter", "native"):
        (found,) = main.run(inputs, backend=backend)
        assert not found[:, :, 0].any() and not np.signbit(found[:, :, 0]).any()


def test_random_numbers_of_two_operations_differ() -> None:
    text = """
func.func @main(%l: tensor<f32>, %h: tensor<f32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %n = stablehlo.constant dense<64> : tensor<1xi64>
  %0 = stablehlo.rng %l, %h, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<64xf32>
  %1 = stablehlo.rng %l, %h, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}"""
    main = api.compile(text)["main"]
    for backend in ("interpreter", "native"):
        first, second = main.run([np.float32(2), np.float32(3)], backend=backend)
        assert np.all((first >= 2) & (first < 3) & (second >= 2) & (second < 3))
        assert len({*first, *second}) > 120


@pytest.mark.parametrize(
    ("element", "low", "high", "least", "most", "several"),
    [
        # Spans whose sign bit is set, or that need more than 32 bits.
        ("i8", "-128", "127", -128, 126, 200),
        ("i64", "-4611686018427387904", "4611686018427387904", -(1 << 62), (1 << 62) - 1, 900),
        # Rounding up must not give the upper bound.
        ("bf16", "100.0", "101.0", 100, 100.5, 2),
        ("f32", "16777216.0", "16777218.0", 1 << 24, 1 << 24, 1),
        ("f8E4M3FN", "0.0", "1.0", 0, 0.875, 8),
        ("f8E8M0FNU", "1.0", "16.0", 1, 8, 4),
        ("f64", "0.0", "1.0", 0, 1, 1000),
    ],
)
def test_uniform_numbers(
    element: str, low: str, high: str, least: float, most: float, several: int
) -> None:
    """Uniform numbers reach over the whole range, without its upper bound."""
    text = f"""
func.func @main() -> tensor<1000x{element}> {{
  %l = stablehlo.constant dense<{low}> : tensor<{element}>
  %h = stablehlo.constant dense<{high}> : tensor<{element}>
  %n = stablehlo.constant dense<1000> : tensor<1xi64>
  %0 = stablehlo.rng %l, %h, %n, distribution = UNIFORM : (tensor<{element}>, tensor<{element}>, tensor<1xi64>) -> tensor<1000x{element}>
  return %0 : tensor<1000x{element}>
}}"""
    main = api.compile(text)["main"]
    for backend in ("interpreter", "native"):
        (drawn,) = main.run([], backend=backend)
        numbers = [each.item() for each in drawn.astype(np.int64 if element[0] == "i" else float)]
        assert min(numbers) >= least
        assert max(numbers) <= most
        assert len(set(numbers)) >= several
        assert max(numbers) - min(numbers) >= 0.9 * (most - least)
        # Numbers of f64 have more bits than those of f32.
        assert element != "f64" or any(each * (1 << 24) % 1 for each in numbers)


def test_powers_of_converted_truths() -> None:
    """An exponent of 2 that became true is 1."""
    text = """
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %true = stablehlo.convert %two : (tensor<f32>) -> tensor<i1>
  %one = stablehlo.convert %true : (tensor<i1>) -> tensor<f32>
  %0 = stablehlo.power %x, %one : tensor<f32>
  return %0 : tensor<f32>
}"""
    assert api.compile(text)["main"].run([np.float32(3)], backend="interpreter")[0] == 3


@pytest.mark.parametrize("number", ["3", "-2", "0", "16", "2"])
def test_powers_of_converted_constants(number: str) -> None:
    """PyTorch converts its numbers; a known exponent makes a power a product."""
    text = f"""
func.func @main(%a: tensor<2x9xf32>) -> tensor<2x9xf32> {{
  %c = stablehlo.constant dense<{number}> : tensor<1xi64>
  %0 = stablehlo.convert %c : (tensor<1xi64>) -> tensor<1xf32>
  %1 = stablehlo.reshape %0 : (tensor<1xf32>) -> tensor<f32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<2x9xf32>
  %3 = stablehlo.power %a, %2 : tensor<2x9xf32>
  return %3 : tensor<2x9xf32>
}}"""
    main = api.compile(text, "spmd")["main"]
    assert "arith.sitofp" not in str(main.program.module)
    row = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e-20, 3e38]
    given = np.array([row, np.linspace(-3, 3, 9)], np.float32)
    with np.errstate(all="ignore"):
        expected = (given.astype(np.float64) ** int(number)).astype(np.float32)
    for backend in ("interpreter", "native"):
        np.testing.assert_array_max_ulp(main.run([given], backend=backend)[0], expected, 1)


def test_a_constant_of_no_numbers_is_converted() -> None:
    text = """
func.func @main() -> tensor<0xf32> {
  %c = stablehlo.constant dense<> : tensor<0xi64>
  %0 = stablehlo.convert %c : (tensor<0xi64>) -> tensor<0xf32>
  return %0 : tensor<0xf32>
}"""
    assert api.compile(text, "spmd")["main"].run([])[0].shape == (0,)


def test_many_equal_numbers_are_converted() -> None:
    text = """
func.func @main() -> tensor<3x5xf64> {
  %c = stablehlo.constant dense<-7> : tensor<3x5xi32>
  %0 = stablehlo.convert %c : (tensor<3x5xi32>) -> tensor<3x5xf64>
  return %0 : tensor<3x5xf64>
}"""
    np.testing.assert_array_equal(
        api.compile(text, "spmd")["main"].run([])[0], np.full((3, 5), -7.0)
    )

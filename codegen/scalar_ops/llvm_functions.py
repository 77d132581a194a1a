"""Elementary functions in `f32` without branches, so that loops over them are vectorised.

Calls of the C library are not vectorised, and are ten to a hundred times slower. The functions of
this file compute in `f32`. Those of `llvm_trigonometry` and `llvm_powers` compute `f32` in `f64`,
with an error of half a unit in the last place; those of `llvm_double_functions` are of `f64`. The
others call the C library. `log`, and `tanh` near 0, use the coefficients of S. Moshier's Cephes
library (`logf`, `tanhf`). The others are minimax polynomials whose coefficients are rounded one
after another. Errors are at most 1.0 (`exp`, `log`, `erf`), 1.4 (`tanh`) and 1.5 (`expm1`, `log1p`)
units in the last place, and 0.2 more on a CPU without fused multiply-add.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from .llvm_values import Builder, Compute, Value, constant, intrinsic

_FLOAT = ir.FloatType()
_I32 = ir.IntType(32)
_FUSED = ("contract",)

_EXP = (
    *(1.3821041211485863e-3, 8.36867094039917e-3, 4.166826233267784e-2),
    *(0.1666652113199234, 0.4999999403953552, 1.0, 1.0),
)
"""Coefficients of `e^r` for `|r| <= ln(2) / 2`."""

_EXP_TWICE = (
    *(8.845466375350952e-2, 0.26779747009277344, 0.6666921973228455),
    *(1.3333216905593872, 1.999999761581421, 2.0, 1.0),
)
"""Coefficients of `e^2r` for `|r| <= ln(2) / 4`."""

_LOG = (
    *(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1),
    *(-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1),
)
_TANH = (
    -5.70498872745e-3,
    2.06390887954e-2,
    -5.37397155531e-2,
    1.33314422036e-1,
    -3.33332819422e-1,
)
_ERF_NEAR = (
    *(7.80690316e-5, -7.9978531e-4, 5.1871622e-3, -2.68533472e-2),
    *(0.112835787, -0.37612626, 0.128379166),
)
"""Coefficients of `erf(x) / x - 1` as a polynomial in `x^2`, up to 1."""

_ERF_MIDDLE = 1.25
_ERF_FAR = (
    *(-1.21098565e-5, 6.41268998e-5, 2.58412387e-4, -2.67956429e-3),
    *(5.69592416e-3, 7.36110425e-3, -4.3858543e-2, 1.39106084e-2),
    *(0.205742702, -0.425905675, 0.277668625),
)
"""Coefficients of the square root of `erfc(x)` as a polynomial in `x - 1.25`, from 1 to 3.95."""


def by_precision(double: Compute, single: Compute) -> Compute:
    """Return a function that computes `double` of `f64` and `single` of `f32`."""

    def compute(builder: Builder, *values: Value) -> Value:
        function = double if isinstance(values[0].type, ir.DoubleType) else single
        return function(builder, *values)

    return compute


def _number(value: float) -> Value:
    return ir.Constant(_FLOAT, value)


def multiply_add(builder: Builder, left: Value, right: Value, term: Value) -> Value:
    """Emit `left * right + term`, rounded once if the CPU has fused multiply-add."""
    product = builder.fmul(left, right, flags=_FUSED)
    return builder.fadd(product, term, flags=_FUSED)


def polynomial(builder: Builder, coefficients: Sequence[float], value: Value) -> Value:
    """Evaluate a polynomial by Horner's scheme in the type of `value`, highest power first."""
    result: Any = ir.Constant(value.type, coefficients[0])
    for each in coefficients[1:]:
        result = multiply_add(builder, result, value, ir.Constant(value.type, each))
    return result


def _short_chain(builder: Builder, coefficients: Sequence[float], value: Value) -> Value:
    """Evaluate a polynomial in pairs (Estrin's scheme): a shorter chain, but more roundings."""
    square = builder.fmul(value, value)
    first = coefficients[: len(coefficients) % 2]
    rest = coefficients[len(first) :]
    result: Any = _number(first[0]) if first else None
    for high, low in zip(rest[::2], rest[1::2], strict=True):
        pair = multiply_add(builder, _number(high), value, _number(low))
        result = pair if result is None else multiply_add(builder, result, square, pair)
    return result


def smaller(builder: Builder, value: Value, limit: float) -> Value:
    """Emit the minimum of a value and a limit, NaN for NaN, in one instruction (no `minnum`)."""
    bound = ir.Constant(value.type, limit)
    return builder.select(builder.fcmp_ordered("<", bound, value), bound, value)


def larger(builder: Builder, value: Value, limit: float) -> Value:
    """Emit the maximum of a value and a limit, NaN for NaN."""
    bound = ir.Constant(value.type, limit)
    return builder.select(builder.fcmp_ordered(">", bound, value), bound, value)


def copy_sign(builder: Builder, magnitude: Value, value: Value) -> Value:
    """Give a non-negative `f32` or `f64` the sign of another.

    For `f16` results, LLVM would turn `llvm.copysign` of `f64` into a direct rounding by a library
    function that is not linked.
    """
    width = 64 if isinstance(value.type, ir.DoubleType) else 32
    bits = ir.IntType(width)
    sign = builder.and_(builder.bitcast(value, bits), constant(bits, 1 << (width - 1)))
    return builder.bitcast(builder.or_(builder.bitcast(magnitude, bits), sign), value.type)


def one_plus(builder: Builder, value: Value) -> tuple[Value, Value]:
    """Emit the rounded sum `u` of 1 and `x`, and `(x - (u - 1)) / u`, what `ln(u)` lacks."""
    one = ir.Constant(value.type, 1.0)
    total = builder.fadd(value, one)
    lost = builder.fdiv(builder.fsub(value, builder.fsub(total, one)), total)
    # At -1 and infinity nothing is lost, and the quotient is NaN.
    is_number = builder.fcmp_ordered("ord", lost, lost)
    return total, builder.select(is_number, lost, ir.Constant(value.type, 0.0))


def with_limits_of_log(builder: Builder, value: Value, result: Value) -> Value:
    """Return a logarithm, but infinities at 0 and infinity, and NaN for negative numbers."""

    def number(limit: float) -> Value:
        return ir.Constant(value.type, limit)

    for at, limit in ((0.0, -math.inf), (math.inf, math.inf)):
        is_here = builder.fcmp_ordered("==", value, number(at))
        result = builder.select(is_here, number(limit), result)
    is_number = builder.fcmp_ordered(">=", value, number(0.0))
    return builder.select(is_number, result, number(math.nan))


def log1p_of(log: Compute) -> Compute:
    """Return `ln(1 + x)`: `ln(u) + (x - (u - 1)) / u` with the rounded sum `u`, or `x` for 1."""

    def log1p(builder: Builder, value: Value) -> Value:
        total, lost = one_plus(builder, value)
        result = builder.fadd(log(builder, total), lost)
        is_one = builder.fcmp_ordered("==", total, ir.Constant(value.type, 1.0))
        return builder.select(is_one, value, result)

    return log1p


_ROUNDER = 12582912.0
"""1.5 * 2^23: adding it to a number below 2^22 rounds to an integer in the low bits of the sum."""


def _nearest(builder: Builder, value: Value, scale: float) -> tuple[Value, Value]:
    """Return the integer nearest to `value * scale`, as a float and as an integer."""
    biased = multiply_add(builder, value, _number(scale), _number(_ROUNDER))
    bits = builder.bitcast(biased, _I32)
    return builder.fsub(biased, _number(_ROUNDER)), builder.sub(bits, constant(_I32, 0x4B400000))


def _scaled(builder: Builder, value: Value, exponent: Value) -> Value:
    """Emit `value * 2^exponent`, if both are normal numbers."""
    bits = builder.bitcast(value, _I32)
    return builder.bitcast(builder.add(bits, builder.shl(exponent, constant(_I32, 23))), _FLOAT)


def exp(builder: Builder, value: Value) -> Value:
    """Emit `e^x` of any number, as `2^n e^r` with `|r| <= ln(2) / 2`."""
    # From -176 on both factors are 2^-127, which is 0 here: a product of denormals takes long, and
    # masked elements are many.
    bounded = larger(builder, smaller(builder, value, 89.0), -176.0)
    whole, exponent = _nearest(builder, bounded, 1.44269504088896341)
    # ln(2) is split into two parts, so that the products are exact.
    rest = multiply_add(builder, whole, _number(-0.693359375), bounded)
    rest = multiply_add(builder, whole, _number(2.12194440e-4), rest)
    power = polynomial(builder, _EXP, rest)
    # Scale in two steps, since the result may be denormal or infinite. NaN passes through both.
    half = builder.ashr(exponent, constant(_I32, 1))
    for each in (half, builder.sub(exponent, half)):
        power = builder.fmul(power, _scaled(builder, _number(1.0), each))
    return power


def log(builder: Builder, value: Value) -> Value:
    """Emit `ln(x)` as `ln(m) + n ln(2)` with `sqrt(1/2) <= m < sqrt(2)`."""
    is_small = builder.fcmp_ordered("<", value, _number(1.1754943508222875e-38))
    normal = builder.select(is_small, builder.fmul(value, _number(float(1 << 23))), value)
    bits = builder.bitcast(normal, _I32)
    # Subtracting the bits of sqrt(1/2) moves the mantissa to that range.
    distance = builder.sub(bits, constant(_I32, 0x3F3504F3))
    exponent = builder.ashr(distance, constant(_I32, 23))
    mantissa = builder.bitcast(builder.sub(bits, builder.shl(exponent, constant(_I32, 23))), _FLOAT)
    lost = builder.select(is_small, _number(-23.0), _number(0.0))
    whole = builder.fadd(builder.sitofp(exponent, _FLOAT), lost)
    rest = builder.fsub(mantissa, _number(1.0))
    square = builder.fmul(rest, rest)
    series = builder.fmul(builder.fmul(_short_chain(builder, _LOG, rest), rest), square)
    series = multiply_add(builder, whole, _number(-2.12194440e-4), series)
    series = multiply_add(builder, square, _number(-0.5), series)
    result = builder.fadd(rest, series)
    result = multiply_add(builder, whole, _number(0.693359375), result)
    return with_limits_of_log(builder, value, result)


def expm1(builder: Builder, value: Value) -> Value:
    """Emit `e^x - 1` as `2^n (e^r - 1) + (2^n - 1)`, and as `e^x` where 1 is negligible."""
    one = _number(1.0)
    bounded = larger(builder, smaller(builder, value, 60.0), -20.0)
    whole, exponent = _nearest(builder, bounded, 1.44269504088896341)
    rest = multiply_add(builder, whole, _number(-0.693359375), bounded)
    rest = multiply_add(builder, whole, _number(2.12194440e-4), rest)
    series = builder.fmul(polynomial(builder, _EXP[:-2], rest), rest)
    less = multiply_add(builder, series, rest, rest)
    power = _scaled(builder, one, exponent)
    result = multiply_add(builder, power, less, builder.fsub(power, one))
    is_large = builder.fcmp_ordered(">", value, _number(60.0))
    result = builder.select(is_large, exp(builder, value), result)
    return builder.select(builder.fcmp_ordered("==", value, _number(0.0)), value, result)


def tanh(builder: Builder, value: Value) -> Value:
    """Emit `tanh(x)`: an odd polynomial near 0, `1 - 2 / (e^2x + 1)` elsewhere."""
    magnitude = intrinsic(builder, "llvm.fabs", value)
    square = builder.fmul(value, value)
    series = builder.fmul(polynomial(builder, _TANH, square), square)
    # The sum of two zeros loses the sign.
    near = copy_sign(builder, multiply_add(builder, series, value, value), value)
    # From 10 on the result is 1. Below that, ln(2) in one part is precise enough.
    bounded = smaller(builder, magnitude, 10.0)
    whole, exponent = _nearest(builder, bounded, 2.88539008177792681)
    rest = multiply_add(builder, whole, _number(-0.34657359027997265), bounded)
    power = _scaled(builder, _short_chain(builder, _EXP_TWICE, rest), exponent)
    quotient = builder.fdiv(_number(2.0), builder.fadd(power, _number(1.0)))
    far = copy_sign(builder, builder.fsub(_number(1.0), quotient), value)
    return builder.select(builder.fcmp_ordered(">=", magnitude, _number(0.625)), far, near)


def erf(builder: Builder, value: Value) -> Value:
    """Emit `erf(x)`: an odd polynomial near 0, `1 - P(|x|)^2` elsewhere.

    The square root of `erfc` is nearly linear, which a short polynomial approximates well.
    """
    magnitude = intrinsic(builder, "llvm.fabs", value)
    square = builder.fmul(value, value)
    near = multiply_add(builder, _short_chain(builder, _ERF_NEAR, square), value, value)
    # From 3.95 on the result is 1.
    offset = builder.fsub(smaller(builder, magnitude, 3.95), _number(_ERF_MIDDLE))
    slope = _short_chain(builder, _ERF_FAR[:-1], offset)
    root = multiply_add(builder, slope, offset, _number(_ERF_FAR[-1]))
    rest = multiply_add(builder, builder.fneg(root), root, _number(1.0))
    far = copy_sign(builder, rest, value)
    return builder.select(builder.fcmp_ordered(">", magnitude, _number(1.0)), far, near)

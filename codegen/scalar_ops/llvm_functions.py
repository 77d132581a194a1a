"""Elementary functions in `f32` without branches, so that loops over them are vectorised.

Calls of the C library are not, and are ten to a hundred times slower. Range reductions and
coefficients are those of S. Moshier's Cephes library (`expf`, `logf`, `tanhf`) and, for `erf`, of
N. Juffa. Errors are at most 1.0 (`exp`, `log`, `erf`) and 1.4 (`tanh`) units in the last place; the
tests check 2. `f64` uses the C library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from .llvm_values import Builder, Compute, Value, constant

_FLOAT = ir.FloatType()
_I32 = ir.IntType(32)
_FUSED = ("contract",)

_EXP = (
    *(1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3),
    *(4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1),
)
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
    *(-5.96761703e-4, 4.99119423e-3, -2.67681349e-2),
    *(1.12819925e-1, -3.76125336e-1, 1.28379166e-1),
)
_ERF_FAR = (-1.06777877e-1, -6.34846687e-1, -1.28717512e-1)


def vectorisable(fallback: Compute, function: Callable[[Builder, Value], Value]) -> Compute:
    """A function of our own for `f32`, another for `f64`."""

    def compute(builder: Builder, value: Value) -> Value:
        if isinstance(value.type, ir.DoubleType):
            return fallback(builder, value)
        return function(builder, value)

    return compute


def _number(value: float) -> Value:
    return ir.Constant(_FLOAT, value)


def _intrinsic(builder: Builder, name: str, *values: Value) -> Value:
    signature = ir.FunctionType(_FLOAT, [_FLOAT] * len(values))
    return builder.call(builder.module.declare_intrinsic(name, [_FLOAT], signature), values)


def _multiply_add(builder: Builder, left: Value, right: Value, term: Value) -> Value:
    product = builder.fmul(left, right, flags=_FUSED)
    return builder.fadd(product, term, flags=_FUSED)


def _polynomial(builder: Builder, coefficients: Sequence[float], value: Value) -> Value:
    """Horner's scheme, the highest power first."""
    result: Any = _number(coefficients[0])
    for each in coefficients[1:]:
        result = _multiply_add(builder, result, value, _number(each))
    return result


def _smaller(builder: Builder, value: Value, limit: float) -> Value:
    """The smaller one, the limit for NaN: one instruction, unlike `llvm.minnum`."""
    bound = _number(limit)
    return builder.select(builder.fcmp_ordered("<", value, bound), value, bound)


def _larger(builder: Builder, value: Value, limit: float) -> Value:
    bound = _number(limit)
    return builder.select(builder.fcmp_ordered(">", value, bound), value, bound)


_ROUNDER = 12582912.0
"""1.5 * 2^23: added to a number below 2^22, it rounds it to an integer in the sum's low bits."""


def _exponent_and_power(builder: Builder, value: Value) -> tuple[Value, Value]:
    """`n` and `e^r` of `e^x = 2^n e^r` with `|r| <= ln(2) / 2`."""
    biased = _multiply_add(builder, value, _number(1.44269504088896341), _number(_ROUNDER))
    whole = builder.fsub(biased, _number(_ROUNDER))
    # ln(2) in two parts, so that the products are exact.
    rest = _multiply_add(builder, whole, _number(-0.693359375), value)
    rest = _multiply_add(builder, whole, _number(2.12194440e-4), rest)
    series = _polynomial(builder, _EXP, rest)
    square = builder.fmul(rest, rest)
    power = builder.fadd(_multiply_add(builder, series, square, rest), _number(1.0))
    bits = builder.bitcast(biased, _I32)
    return builder.sub(bits, constant(_I32, 0x4B400000)), power


def _power_of_two(builder: Builder, exponent: Value) -> Value:
    """2 to an integer between -126 and 127."""
    biased = builder.add(exponent, constant(_I32, 127))
    return builder.bitcast(builder.shl(biased, constant(_I32, 23)), _FLOAT)


def _normal_exp(builder: Builder, value: Value) -> Value:
    """`e^x` between -87 and 88, where the result is a normal number."""
    exponent, power = _exponent_and_power(builder, value)
    bits = builder.bitcast(power, _I32)
    return builder.bitcast(builder.add(bits, builder.shl(exponent, constant(_I32, 23))), _FLOAT)


def exp(builder: Builder, value: Value) -> Value:
    """`e^x` of any number."""
    bounded = _larger(builder, _smaller(builder, value, 89.0), -104.0)
    exponent, power = _exponent_and_power(builder, bounded)
    # In two steps, since the result may lie beyond the normal numbers.
    half = builder.ashr(exponent, constant(_I32, 1))
    other = builder.sub(exponent, half)
    result = builder.fmul(power, _power_of_two(builder, half))
    result = builder.fmul(result, _power_of_two(builder, other))
    is_nan = builder.fcmp_unordered("uno", value, value)
    return builder.select(is_nan, value, result)


def log(builder: Builder, value: Value) -> Value:
    """`ln(x)` as `ln(m) + n ln(2)` with `m` between the roots of 1/2 and 2."""
    is_small = builder.fcmp_ordered("<", value, _number(1.1754943508222875e-38))
    normal = builder.select(is_small, builder.fmul(value, _number(float(1 << 23))), value)
    bits = builder.bitcast(normal, _I32)
    # Subtracting the bits of sqrt(1/2) puts the mantissa between the roots.
    distance = builder.sub(bits, constant(_I32, 0x3F3504F3))
    exponent = builder.ashr(distance, constant(_I32, 23))
    mantissa = builder.bitcast(builder.sub(bits, builder.shl(exponent, constant(_I32, 23))), _FLOAT)
    lost = builder.select(is_small, _number(-23.0), _number(0.0))
    whole = builder.fadd(builder.sitofp(exponent, _FLOAT), lost)
    rest = builder.fsub(mantissa, _number(1.0))
    square = builder.fmul(rest, rest)
    series = builder.fmul(builder.fmul(_polynomial(builder, _LOG, rest), rest), square)
    series = _multiply_add(builder, whole, _number(-2.12194440e-4), series)
    series = _multiply_add(builder, square, _number(-0.5), series)
    result = builder.fadd(rest, series)
    result = _multiply_add(builder, whole, _number(0.693359375), result)
    zero = _number(0.0)
    result = builder.select(builder.fcmp_ordered("==", value, zero), _number(float("-inf")), result)
    infinite = builder.fcmp_ordered("==", value, _number(float("inf")))
    result = builder.select(infinite, value, result)
    is_number = builder.fcmp_ordered(">=", value, zero)
    return builder.select(is_number, result, _number(float("nan")))


def tanh(builder: Builder, value: Value) -> Value:
    """An odd polynomial near 0, `1 - 2 / (e^2x + 1)` elsewhere."""
    magnitude = _intrinsic(builder, "llvm.fabs", value)
    square = builder.fmul(value, value)
    series = builder.fmul(_polynomial(builder, _TANH, square), square)
    near = _multiply_add(builder, series, value, value)
    # From 10 on the result is 1.
    bounded = _smaller(builder, magnitude, 10.0)
    power = _normal_exp(builder, builder.fadd(bounded, bounded))
    quotient = builder.fdiv(_number(2.0), builder.fadd(power, _number(1.0)))
    far = _intrinsic(builder, "llvm.copysign", builder.fsub(_number(1.0), quotient), value)
    return builder.select(builder.fcmp_ordered(">=", magnitude, _number(0.625)), far, near)


def erf(builder: Builder, value: Value) -> Value:
    """An odd polynomial near 0, `1 - e^P(|x|)` elsewhere."""
    magnitude = _intrinsic(builder, "llvm.fabs", value)
    square = builder.fmul(value, value)
    series = _polynomial(builder, _ERF_NEAR, square)
    near = _multiply_add(builder, series, value, value)
    # From 4 on the result is 1.
    bounded = _smaller(builder, magnitude, 4.0)
    low = _multiply_add(builder, _number(-3.88396438e-3), bounded, _number(2.42546219e-2))
    high = _multiply_add(builder, _number(-1.72853470e-5), bounded, _number(3.83197126e-4))
    series = _multiply_add(builder, high, builder.fmul(bounded, bounded), low)
    for each in _ERF_FAR:
        series = _multiply_add(builder, series, bounded, _number(each))
    power = _normal_exp(builder, _multiply_add(builder, series, bounded, builder.fneg(bounded)))
    far = _intrinsic(builder, "llvm.copysign", builder.fsub(_number(1.0), power), value)
    return builder.select(builder.fcmp_ordered(">", magnitude, _number(0.927734375)), far, near)


def sigmoid(builder: Builder, value: Value) -> Value:
    """`1 / (1 + e^-x)`."""
    power = exp(builder, builder.fneg(value))
    return builder.fdiv(_number(1.0), builder.fadd(_number(1.0), power))

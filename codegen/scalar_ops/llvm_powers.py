"""Powers, logarithms and hyperbolic functions of `f32`, computed in `f64`.

`2^x` and `log2` are minimax polynomials; most other functions are computed from these two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

from llvmlite import ir

from ...runtime.abi.elements import Element
from .llvm_doubles import BITS, DOUBLE, even_polynomial, nearest, number, of_integer
from .llvm_floats import libm
from .llvm_functions import (
    copy_sign,
    larger,
    multiply_add,
    one_plus,
    polynomial,
    smaller,
    with_limits_of_log,
)
from .llvm_values import Builder, Value, constant, intrinsic, narrow, round_to_element

_POWER = (
    *(1.328068401413146e-06, 1.5308026896723164e-05, 0.00015403354277784516),
    *(0.0013333459752143649, 0.009618129272275124, 0.055504109293048436),
    *(0.24022650695512712, 0.6931471805498638, 1.0),
)
"""Coefficients of `2^x` up to 1/2."""

_ARC_TANGENT = (
    *(0.09792177317795715, 0.11088087467041213, 0.1428605474006275),
    *(0.19999997809429562, 0.333333333379048),
)
"""Coefficients of `(artanh(x) / x - 1) / x^2` as a polynomial in `x^2`.

They hold up to `(sqrt(2) - 1) / (sqrt(2) + 1)`.
"""

_SINE = (0.00019974040338533995, 0.008333140687026223, 0.16666667460901277)
"""Coefficients of `(sinh(x) / x - 1) / x^2` as a polynomial in `x^2`, up to 1/2."""

_ROOT_OF_HALF = 0x3FE6A09E667F3BCD


def exp2(builder: Builder, value: Value) -> Value:
    """Emit `2^x`, clamped to the range of normal `f64` numbers."""
    bounded = larger(builder, smaller(builder, value, 1023.0), -1022.0)
    whole, exponent = nearest(builder, bounded)
    rest = polynomial(builder, _POWER, builder.fsub(bounded, whole))
    scale = builder.shl(exponent, constant(BITS, 52))
    return builder.bitcast(builder.add(builder.bitcast(rest, BITS), scale), DOUBLE)


def log2(builder: Builder, value: Value) -> Value:
    """Emit `log2(x)` of a normal number, as `n + log2(m)` with `sqrt(1/2) <= m < sqrt(2)`.

    `ln(m)` is `2 artanh((m - 1) / (m + 1))`.
    """
    bits = builder.bitcast(value, BITS)
    distance = builder.sub(bits, constant(BITS, _ROOT_OF_HALF))
    exponent = builder.ashr(distance, constant(BITS, 52))
    mantissa = builder.sub(bits, builder.shl(exponent, constant(BITS, 52)))
    mantissa = builder.bitcast(mantissa, DOUBLE)
    one = number(1.0)
    slope = builder.fdiv(builder.fsub(mantissa, one), builder.fadd(mantissa, one))
    half = builder.fmul(slope, even_polynomial(builder, _ARC_TANGENT, slope))
    whole = of_integer(builder, exponent)
    result = multiply_add(builder, half, number(2 / math.log(2)), whole)
    return with_limits_of_log(builder, value, result)


def log10(builder: Builder, value: Value) -> Value:
    """Emit `log10(x)`."""
    return builder.fmul(log2(builder, value), number(math.log10(2)))


def powf(builder: Builder, base: Value, exponent: Value) -> Value:
    """Emit `x^y`, as in C17, F.10.4.4.

    It is 1 if `y` is 0 or `x` is 1, and NaN if `x` is negative and `y` is not an integer. `y` must
    be an `f32` or an integer below 2^50.
    """
    known = _known_number(exponent)
    if known is not None and known.is_integer() and abs(known) <= MOST_FACTORS:
        return _product(builder, base, int(known))
    magnitude = intrinsic(builder, "llvm.fabs", base)
    size = log2(builder, magnitude)
    zero = number(0.0)
    is_one = builder.or_(
        builder.fcmp_ordered("==", magnitude, number(1.0)),
        builder.fcmp_ordered("==", exponent, zero),
    )
    product = builder.select(is_one, zero, builder.fmul(size, exponent))
    found = exp2(builder, product)
    # Larger exponents are even, as is 2^50.
    bounded = smaller(builder, intrinsic(builder, "llvm.fabs", exponent), math.ldexp(1.0, 50))
    whole, bits = nearest(builder, bounded)
    is_whole = builder.fcmp_ordered("==", whole, bounded)
    is_finite = builder.fcmp_ordered("<", magnitude, number(math.inf))
    is_negative = builder.and_(builder.fcmp_ordered("<", base, zero), is_finite)
    is_none = builder.and_(is_negative, builder.not_(is_whole))
    found = builder.select(is_none, number(math.nan), found)
    odd = builder.icmp_unsigned("!=", builder.and_(bits, constant(BITS, 1)), constant(BITS, 0))
    signed = builder.and_(builder.and_(odd, is_whole), _is_negative(builder, base))
    return builder.select(signed, builder.fneg(found), found)


MOST_FACTORS = 16
"""The largest exponent of a power that is a product: its rounding errors stay below `f32`'s."""


def _product(builder: Builder, base: Value, exponent: int) -> Value:
    """Emit a power by repeated squares."""
    factors: list[Value] = []
    square, left = base, abs(exponent)
    while left:
        factors += [square] * (left & 1)
        left >>= 1
        square = builder.fmul(square, square) if left else square
    found = reduce(builder.fmul, factors) if factors else number(1.0)
    return builder.fdiv(number(1.0), found) if exponent < 0 else found


def _known_number(value: Any) -> float | None:
    """Return the number of a constant, possibly converted, `None` for other values."""
    held = value.operands[0] if getattr(value, "opname", "") in ("fpext", "sitofp") else value
    if not isinstance(held, ir.Constant):
        return None
    known: Any = held
    return float(known.constant)


def fpowi(builder: Builder, values: Sequence[Value], element: Element, integer: Element) -> Value:
    """Emit a float to the power of an integer."""
    base, exponent = values
    exponent = builder.sitofp(narrow(builder, exponent, integer), DOUBLE)
    if base.type == DOUBLE:
        return libm(builder, "pow", [base, exponent])
    found = builder.fptrunc(powf(builder, builder.fpext(base, DOUBLE), exponent), base.type)
    return round_to_element(builder, found, element)


def _is_negative(builder: Builder, value: Value) -> Value:
    """Return whether a number's sign bit is set, also for -0."""
    return builder.icmp_signed("<", builder.bitcast(value, BITS), constant(BITS, 0))


def cbrt(builder: Builder, value: Value) -> Value:
    """Emit `2^(log2(|x|) / 3)`, with the sign of `x`."""
    magnitude = intrinsic(builder, "llvm.fabs", value)
    third = builder.fmul(log2(builder, magnitude), number(1 / 3))
    return copy_sign(builder, exp2(builder, third), value)


def exp(builder: Builder, value: Value) -> Value:
    """Emit `e^x`."""
    return exp2(builder, builder.fmul(value, number(1 / math.log(2))))


def sinh(builder: Builder, value: Value) -> Value:
    """Emit `sinh(x)`: an odd polynomial up to 1/2, `(e^x - e^-x) / 2` elsewhere."""
    near = builder.fmul(value, even_polynomial(builder, _SINE, value))
    magnitude = intrinsic(builder, "llvm.fabs", value)
    large = exp(builder, magnitude)
    far = builder.fsub(large, builder.fdiv(number(1.0), large))
    far = copy_sign(builder, builder.fmul(far, number(0.5)), value)
    return builder.select(builder.fcmp_ordered("<", magnitude, number(0.5)), near, far)


def cosh(builder: Builder, value: Value) -> Value:
    """Emit `cosh(x) = (e^x + e^-x) / 2`."""
    large = exp(builder, intrinsic(builder, "llvm.fabs", value))
    both = builder.fadd(large, builder.fdiv(number(1.0), large))
    return builder.fmul(both, number(0.5))


def _log1p(builder: Builder, value: Value) -> Value:
    """Emit `ln(1 + x)` as `ln(u) + (x - (u - 1)) / u` with the rounded sum `u`."""
    total, lost = one_plus(builder, value)
    return multiply_add(builder, log2(builder, total), number(math.log(2)), lost)


def asinh(builder: Builder, value: Value) -> Value:
    """Emit `asinh(x) = ln(x + sqrt(x^2 + 1))`.

    `sqrt(x^2 + 1) - 1` is computed as `x^2 / (1 + sqrt(x^2 + 1))`.
    """
    one = number(1.0)
    magnitude = intrinsic(builder, "llvm.fabs", value)
    square = builder.fmul(value, value)
    root = intrinsic(builder, "llvm.sqrt", builder.fadd(square, one))
    more = builder.fdiv(square, builder.fadd(root, one))
    more = builder.select(builder.fcmp_ordered("ord", more, more), more, magnitude)
    result = _log1p(builder, builder.fadd(magnitude, more))
    return copy_sign(builder, result, value)


def acosh(builder: Builder, value: Value) -> Value:
    """Emit `acosh(x) = ln(x + sqrt(x^2 - 1))`; NaN below 1."""
    less = builder.fsub(value, number(1.0))
    product = builder.fmul(less, builder.fadd(value, number(1.0)))
    root = intrinsic(builder, "llvm.sqrt", product)
    result = _log1p(builder, builder.fadd(less, root))
    return builder.select(builder.fcmp_ordered(">=", less, number(0.0)), result, number(math.nan))


def atanh(builder: Builder, value: Value) -> Value:
    """Emit `atanh(x) = ln((1 + x) / (1 - x)) / 2`; NaN beyond 1."""
    magnitude = intrinsic(builder, "llvm.fabs", value)
    twice = builder.fadd(magnitude, magnitude)
    quotient = builder.fdiv(twice, builder.fsub(number(1.0), magnitude))
    half = builder.fmul(_log1p(builder, quotient), number(0.5))
    return copy_sign(builder, half, value)

"""Trigonometric functions of `f32` and their inverses, computed in `f64`.

An argument of any size is reduced to a quarter turn exactly (after M. Payne and R. Hanek, "Radian
reduction for trigonometric functions", 1983). The polynomials are minimax approximations.
"""

from __future__ import annotations

import math

from .llvm_doubles import BITS, even_polynomial, flip_sign, nearest, number
from .llvm_functions import copy_sign, multiply_add
from .llvm_values import Builder, Compute, Value, constant, intrinsic

_SINE = (
    *(2.718304170192874e-06, -0.00019839334075773537),
    *(0.008333329383553915, -0.16666666641606648),
)
"""Coefficients of `(sin(x) / x - 1) / x^2` as a polynomial in `x^2`, up to pi / 4."""

_COSINE = (
    *(2.439036838085565e-05, -0.0013886762939623878),
    *(0.04166662329808222, -0.4999999972488463),
)
"""Coefficients of `(cos(x) - 1) / x^2` as a polynomial in `x^2`, up to pi / 4."""

_ARC_TANGENT = (
    *(-0.0379554455070965, 0.0699307695701008, -0.08997274377904102, 0.1110405374986912),
    *(-0.14285426518343308, 0.19999994403681357, -0.33333333296414425),
)
"""Coefficients of `(atan(x) / x - 1) / x^2` as a polynomial in `x^2`, up to `sqrt(2) - 1`."""

_TWO_OVER_PI = 0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE
"""200 bits after the binary point."""

_RANGES = ((0, 50), (27, 77), (54, 104), (81, 131))
"""The ranges of magnitudes, as exponents of 2: a common factor of the numbers, and their bound.

A 24-bit number from the previous bound on is a multiple of the factor, so that whole turns of the
factor can be left out. Below 2^50, none are.
"""


def _quarter_turns(power: int) -> list[float]:
    """Return `2^power` in quarter turns, modulo 4 and divided by `2^power`, in three parts.

    The first two parts have 29 bits each, so that their products with a 24-bit number are exact.
    The parts for power 0 are positive, so that products with -0 keep its sign.
    """
    turns = (_TWO_OVER_PI << power) % (4 << 200)
    rest = turns - (4 << 200 if turns >= 2 << 200 else 0)
    parts: list[int] = []
    for kept in (27, 56):
        unit = 1 << (200 - kept)
        parts.append(rest // unit * unit)
        rest -= parts[-1]
    return [math.ldexp(float(each), -200 - power) for each in (*parts, rest)]


def _reduced(builder: Builder, value: Value) -> tuple[Value, Value]:
    """Reduce an angle to -pi / 4 .. pi / 4; also return the quarter turns left out, modulo 4."""
    magnitude = intrinsic(builder, "llvm.fabs", value)
    parts = [number(each) for each in _quarter_turns(0)]
    for (power, _), (_, limit) in zip(_RANGES[1:], _RANGES, strict=False):
        is_larger = builder.fcmp_ordered(">=", magnitude, number(math.ldexp(1.0, limit)))
        larger = [number(each) for each in _quarter_turns(power)]
        parts = [builder.select(is_larger, *pair) for pair in zip(larger, parts, strict=True)]
    first, second, third = (builder.fmul(value, each) for each in parts)
    whole, count = nearest(builder, first)
    first = builder.fsub(first, whole)
    whole, more = nearest(builder, second)
    second, count = builder.fsub(second, whole), builder.add(count, more)
    whole, more = nearest(builder, builder.fadd(first, second))
    # The remainder of the first two parts is exact where they nearly cancel.
    rest = builder.fadd(builder.fadd(builder.fsub(first, whole), second), third)
    return builder.fmul(rest, number(math.pi / 2)), builder.add(count, more)


def _sine_and_cosine(builder: Builder, angle: Value) -> tuple[Value, Value]:
    """Return the sine and the cosine of an angle between -pi / 4 and pi / 4."""
    sine = builder.fmul(angle, even_polynomial(builder, _SINE, angle))
    return sine, even_polynomial(builder, _COSINE, angle)


def _is_odd(builder: Builder, count: Value) -> Value:
    last = builder.and_(count, constant(BITS, 1))
    return builder.icmp_unsigned("!=", last, constant(BITS, 0))


def sin(builder: Builder, value: Value) -> Value:
    """Emit the sine of an angle in radians; NaN for an infinite one."""
    angle, count = _reduced(builder, value)
    own, other = _sine_and_cosine(builder, angle)
    return flip_sign(builder, builder.select(_is_odd(builder, count), other, own), count, 1)


def cos(builder: Builder, value: Value) -> Value:
    """Emit the cosine of an angle in radians; NaN for an infinite one."""
    angle, count = _reduced(builder, value)
    other, own = _sine_and_cosine(builder, angle)
    # The sign changes after one and after three quarters.
    turned = builder.add(count, constant(BITS, 1))
    return flip_sign(builder, builder.select(_is_odd(builder, count), other, own), turned, 1)


def tan(builder: Builder, value: Value) -> Value:
    """Emit the tangent of an angle in radians; NaN for an infinite one."""
    angle, count = _reduced(builder, value)
    own, other = _sine_and_cosine(builder, angle)
    is_odd = _is_odd(builder, count)
    quotient = builder.fdiv(builder.select(is_odd, other, own), builder.select(is_odd, own, other))
    return flip_sign(builder, quotient, count, 0)


def octant(builder: Builder, y: Value, x: Value) -> tuple[Value, Value]:
    """Return a slope of at most `sqrt(2) - 1`, and a number of quarters of pi.

    Quarters of pi and the slope's angle add up to the angle from the x axis to a point, without its
    sign. So `atan(a)` is `pi / 4 + atan((a - 1) / (a + 1))` above `tan(pi / 8)`.
    """
    height, width = (intrinsic(builder, "llvm.fabs", each) for each in (y, x))
    is_steep = builder.fcmp_ordered(">", height, width)
    large, small = builder.select(is_steep, height, width), builder.select(is_steep, width, height)
    limit = builder.fmul(large, number(math.sqrt(2) - 1))
    is_wide = builder.or_(
        builder.fcmp_ordered(">", small, limit),
        builder.fcmp_ordered("==", small, number(math.inf)),
    )
    over = builder.select(is_wide, builder.fsub(small, large), small)
    under = builder.select(is_wide, builder.fadd(small, large), large)
    # Equal values may both be 0 or infinite.
    is_equal = builder.fcmp_ordered("==", small, large)
    slope = builder.select(is_equal, number(0.0), builder.fdiv(over, under))
    quarters = builder.select(is_wide, number(1.0), number(0.0))
    # The bits are compared, so that -0 counts as negative.
    is_left = builder.icmp_signed("<", builder.bitcast(x, BITS), constant(BITS, 0))
    for is_mirrored, whole in ((is_steep, 2.0), (is_left, 4.0)):
        slope = builder.select(is_mirrored, builder.fneg(slope), slope)
        mirrored = builder.fsub(number(whole), quarters)
        quarters = builder.select(is_mirrored, mirrored, quarters)
    return slope, quarters


def atan2(builder: Builder, y: Value, x: Value) -> Value:
    """Emit `atan2`: the angle from the x axis to a point, from -pi to pi."""
    slope, quarters = octant(builder, y, x)
    offset = builder.fmul(quarters, number(math.pi / 4))
    angle = multiply_add(builder, slope, even_polynomial(builder, _ARC_TANGENT, slope), offset)
    return copy_sign(builder, angle, y)


def arc_functions(atan2: Compute) -> dict[str, Compute]:
    """Return the inverse functions of one argument that follow from an `atan2`."""

    def atan(builder: Builder, value: Value) -> Value:
        return atan2(builder, value, number(1.0))

    def asin(builder: Builder, value: Value) -> Value:
        return atan2(builder, value, _other_leg(builder, value))

    def acos(builder: Builder, value: Value) -> Value:
        return atan2(builder, _other_leg(builder, value), value)

    return {"atan": atan, "asin": asin, "acos": acos}


def _other_leg(builder: Builder, value: Value) -> Value:
    """Emit `sqrt(1 - x^2)`; NaN beyond 1."""
    one = number(1.0)
    product = builder.fmul(builder.fsub(one, value), builder.fadd(one, value))
    return intrinsic(builder, "llvm.sqrt", product)

"""Elementary functions in `f64` without branches, so that loops over them are vectorised.

`log` and `atan` use the polynomials of Sun Microsystems' fdlibm (`e_log.c`, `s_atan.c`, 1993),
`e^x - 1` the first terms of its series. Errors are at most 1 (`exp`, `log`), 1.5 (`log1p`, `cosh`)
and 2.5 (the others) units in the last place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .llvm_doubles import BITS, DOUBLE, ROUNDER_BITS, nearest, number, of_integer
from .llvm_functions import copy_sign, larger, multiply_add, polynomial, smaller, with_limits_of_log
from .llvm_trigonometry import octant
from .llvm_values import Builder, Value, constant, intrinsic

_LN2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
"""ln(2) in two parts. The first has 33 bits, so that its product with an exponent is exact."""

_SERIES = tuple(1 / math.factorial(power) for power in range(13, 1, -1))
"""Coefficients of `(e^r - 1 - r) / r^2`. The next term is below 2^-57 up to ln(2) / 2."""

_LOG = (
    *(1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01),
    *(2.222219843214978396e-01, 2.857142874366239149e-01, 3.999999999940941908e-01),
    *(6.666666666666735130e-01, 0.0),
)
"""Coefficients of `ln((1 + s) / (1 - s)) / s - 2` as a polynomial in `s^2`."""

_ARC_TANGENT = (
    *(1.62858201153657823623e-02, -3.65315727442169155270e-02, 4.97687799461593236017e-02),
    *(-5.83357013379057348645e-02, 6.66107313738753120669e-02, -7.69187620504482999495e-02),
    *(9.09088713343650656196e-02, -1.11111104054623557880e-01, 1.42857142725034663711e-01),
    *(-1.99999999998764832476e-01, 3.33333333333329318027e-01),
)
"""Coefficients of `(1 - atan(x) / x) / x^2` as a polynomial in `x^2`, up to 7/16."""

_QUARTER = (7.85398163397448278999e-01, 3.06161699786838301793e-17)
"""A quarter of pi in two parts."""

_ROOT_OF_HALF = 0x3FE6A09E667F3BCD


@dataclass(frozen=True)
class _Power:
    """`e^x` as `(1 + less) * 2^half * 2^rest`, with `|less| < 0.42`.

    `half` and `rest` are integers. One power of 2 could be infinite or denormal.
    """

    builder: Builder
    less: Value
    half: Value
    rest: Value

    @staticmethod
    def of(builder: Builder, value: Value) -> _Power:
        """Emit the parts for any number; beyond -746 and 712 the result is that of the bound."""
        bounded = larger(builder, smaller(builder, value, 712.0), -746.0)
        whole, bits = nearest(builder, builder.fmul(bounded, number(1 / math.log(2))))
        part = multiply_add(builder, whole, number(-_LN2[0]), bounded)
        part = multiply_add(builder, whole, number(-_LN2[1]), part)
        series = polynomial(builder, _SERIES, part)
        less = multiply_add(builder, series, builder.fmul(part, part), part)
        _, half = nearest(builder, builder.fmul(whole, number(0.5)))
        # The difference is free of the bits that `nearest` leaves in both integers.
        rest = builder.sub(bits, half)
        return _Power(builder, less, builder.sub(half, constant(BITS, ROUNDER_BITS)), rest)

    def times(self, factor: float) -> Value:
        """Emit `factor * e^x`; the factor is a power of 2."""
        builder = self.builder
        result = multiply_add(builder, self.less, number(factor), number(factor))
        for exponent in (self.rest, self.half):
            result = builder.fmul(result, _power_of_two(builder, exponent))
        return result

    def minus_one(self) -> Value:
        """Emit `e^x - 1` from `x = -40` on, as `2^half (2^rest less + (2^rest - 2^-half))`."""
        builder = self.builder
        scale, unit = (
            _power_of_two(builder, each)
            for each in (self.rest, builder.sub(constant(BITS, 0), self.half))
        )
        result = multiply_add(builder, self.less, scale, builder.fsub(scale, unit))
        return builder.fmul(result, _power_of_two(builder, self.half))


def _power_of_two(builder: Builder, exponent: Value) -> Value:
    bits = builder.shl(builder.add(exponent, constant(BITS, 1023)), constant(BITS, 52))
    return builder.bitcast(bits, DOUBLE)


def exp(builder: Builder, value: Value) -> Value:
    """Emit `e^x`."""
    return _Power.of(builder, value).times(1.0)


def expm1(builder: Builder, value: Value) -> Value:
    """Emit `e^x - 1`."""
    result = _Power.of(builder, larger(builder, value, -40.0)).minus_one()
    return builder.select(builder.fcmp_ordered("==", value, number(0.0)), value, result)


def tanh(builder: Builder, value: Value) -> Value:
    """Emit `tanh(x)` as `t / (t + 2)` with `t = e^|2x| - 1`. From 22 on it is 1."""
    magnitude = smaller(builder, intrinsic(builder, "llvm.fabs", value), 22.0)
    more = _Power.of(builder, builder.fadd(magnitude, magnitude)).minus_one()
    return copy_sign(builder, builder.fdiv(more, builder.fadd(more, number(2.0))), value)


def sinh(builder: Builder, value: Value) -> Value:
    """Emit `sinh(x)`: `(t + t / (t + 1)) / 2` with `t = e^|x| - 1` up to 1, or by powers."""
    magnitude = intrinsic(builder, "llvm.fabs", value)
    power = _Power.of(builder, magnitude)
    more, half = power.minus_one(), power.times(0.5)
    near = builder.fadd(more, builder.fdiv(more, builder.fadd(more, number(1.0))))
    far = builder.fsub(half, builder.fdiv(number(0.25), half))
    is_near = builder.fcmp_ordered("<", magnitude, number(1.0))
    near = builder.fmul(near, number(0.5))
    return copy_sign(builder, builder.select(is_near, near, far), value)


def cosh(builder: Builder, value: Value) -> Value:
    """Emit `cosh(x) = h + 1 / 4h` with `h = e^|x| / 2`."""
    half = _Power.of(builder, intrinsic(builder, "llvm.fabs", value)).times(0.5)
    return builder.fadd(half, builder.fdiv(number(0.25), half))


def log(builder: Builder, value: Value) -> Value:
    """Emit `ln(x)` as `n ln(2) + ln(1 + f)` with `sqrt(1/2) <= 1 + f < sqrt(2)`.

    With `s = f / (2 + f)`, `ln(1 + f)` is `2 artanh(s) = f - (f^2 / 2 - s (f^2 / 2 + R))`.
    """
    is_small = builder.fcmp_ordered("<", value, number(math.ldexp(1.0, -1022)))
    normal = builder.select(is_small, builder.fmul(value, number(math.ldexp(1.0, 54))), value)
    bits = builder.bitcast(normal, BITS)
    # Subtracting the bits of sqrt(1/2) moves the mantissa to that range.
    distance = builder.sub(bits, constant(BITS, _ROOT_OF_HALF))
    exponent = builder.ashr(distance, constant(BITS, 52))
    mantissa = builder.sub(bits, builder.shl(exponent, constant(BITS, 52)))
    lost = builder.select(is_small, number(-54.0), number(0.0))
    whole = builder.fadd(of_integer(builder, exponent), lost)
    rest = builder.fsub(builder.bitcast(mantissa, DOUBLE), number(1.0))
    slope = builder.fdiv(rest, builder.fadd(rest, number(2.0)))
    series = polynomial(builder, _LOG, builder.fmul(slope, slope))
    half = builder.fmul(builder.fmul(rest, rest), number(0.5))
    series = builder.fmul(slope, builder.fadd(half, series))
    series = multiply_add(builder, whole, number(_LN2[1]), series)
    result = builder.fsub(rest, builder.fsub(half, series))
    result = multiply_add(builder, whole, number(_LN2[0]), result)
    return with_limits_of_log(builder, value, result)


def atan2(builder: Builder, y: Value, x: Value) -> Value:
    """Emit `atan2`: the angle from the x axis to a point, from -pi to pi."""
    slope, quarters = octant(builder, y, x)
    square = builder.fmul(slope, slope)
    series = builder.fmul(polynomial(builder, _ARC_TANGENT, square), builder.fneg(square))
    lost = builder.fmul(quarters, number(_QUARTER[1]))
    angle = builder.fadd(slope, multiply_add(builder, series, slope, lost))
    return copy_sign(builder, multiply_add(builder, quarters, number(_QUARTER[0]), angle), y)

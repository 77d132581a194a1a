"""Scalar rules of CHLO's special functions, by the formulas and approximations of XLA.

Floats narrower than f32 are computed in f32.
"""

from __future__ import annotations

import math

from xdsl.dialects.arith import MulSIExtendedOp, MulUIExtendedOp
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from ..lowering.element_types import kind, operand_kind
from ..lowering.emitter import Emitter
from ..lowering.lowering import Scalars, scalar_rule
from . import coefficients as c
from .arithmetic import function_rule, operation
from .float_expressions import FloatExpr, chebyshev, on_scalars, polynomial

scalar_rule("chlo.tan")(scalar_rule["stablehlo.tan"])
function_rule("chlo.erf", operation("math.erf"))


@scalar_rule("chlo.conj")
def _conj(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    return e.op("complex.conj", args[0]) if operand_kind(op).name == "complex" else args[0]


# Error functions ---------------------------------------------------------------------------------


def _erfc(x: FloatExpr) -> FloatExpr:
    if kind(x.type).width == 64:
        return x.apply("math.erfc")
    square, size = x * x, abs(x)
    inverse = 1.0 / square
    near = polynomial(inverse, c.ERFC_NEAR_F32)
    far = polynomial(inverse, c.ERFC_FAR_F32)
    tail = (-square).apply("math.exp") * (1.0 / size)
    tail = tail * near.where(size.compare("olt", 2.0), far)
    tail = x.of(0.0).where((-square).compare("olt", -88.7228394), tail)
    tail = (2.0 - tail).where(x.compare("olt", 0.0), tail)
    small = 1.0 - x * polynomial(square, c.ERF_SMALL_F32)
    return small.where(size.compare("olt", 1.0), tail)


def _erf_inv(x: FloatExpr) -> FloatExpr:
    w = -((x * -x).apply("math.log1p"))
    root = w.apply("math.sqrt")
    if kind(x.type).width == 64:
        near = polynomial(w - 3.125, c.ERF_INV_NEAR_F64)
        middle = polynomial(root - 3.25, c.ERF_INV_MIDDLE_F64)
        far = polynomial(root - 5.0, c.ERF_INV_FAR_F64)
        found = middle.where(w.compare("olt", 16.0), far)
        found = near.where(w.compare("olt", 6.25), found)
    else:
        near = polynomial(w - 2.5, c.ERF_INV_NEAR_F32)
        found = near.where(w.compare("olt", 5.0), polynomial(root - 3.0, c.ERF_INV_FAR_F32))
    return (x * math.inf).where(abs(x).compare("oeq", 1.0), found * x)


# Gamma functions ---------------------------------------------------------------------------------

_LANCZOS_GAMMA = 7.0


def _reflected(x: FloatExpr) -> tuple[SSAValue, FloatExpr]:
    """Return whether the reflection formula is used, and where the series is evaluated."""
    reflects = x.compare("olt", 0.5)
    return reflects, (-x).where(reflects, x - 1.0)


def _lgamma(x: FloatExpr) -> FloatExpr:
    reflects, z = _reflected(x)
    series = z.of(c.LANCZOS_BASE)
    for index, coefficient in enumerate(c.LANCZOS):
        series = series + coefficient / (z + (index + 1.0))
    base = _LANCZOS_GAMMA + 0.5
    t = base + z
    log_t = math.log(base) + (z / base).apply("math.log1p")
    log_y = (z + 0.5 - t / log_t) * log_t + 0.5 * math.log(2.0 * math.pi)
    log_y = log_y + series.apply("math.log")
    # log(pi / |sin(pi x)|) - lgamma(1 - x)
    size = abs(x)
    fraction = size - size.apply("math.floor")
    fraction = (1.0 - fraction).where(fraction.compare("ogt", 0.5), fraction)
    log_sine = (math.pi * fraction).apply("math.sin").apply("math.log")
    finite = x.e.op("math.isfinite", log_sine.value, to=IntegerType(1))
    reflection = (math.log(math.pi) - log_sine - log_y).where(finite, -log_sine)
    result = reflection.where(reflects, log_y)
    return x.of(math.inf).where(size.compare("oeq", math.inf), result)


def _digamma(x: FloatExpr) -> FloatExpr:
    reflects, z = _reflected(x)
    series, slope = z.of(c.LANCZOS_BASE), z.of(0.0)
    for index, coefficient in enumerate(c.LANCZOS):
        term = z + (index + 1.0)
        slope = slope - coefficient / (term * term)
        series = series + coefficient / term
    base = _LANCZOS_GAMMA + 0.5
    t = base + z
    log_t = math.log(base) + (z / base).apply("math.log1p")
    y = log_t + slope / series - _LANCZOS_GAMMA / t
    # The argument of the tangent is reduced to near 0, where it is accurate.
    angle = math.pi * (x + abs((x + 0.5).apply("math.floor")))
    tangent = math.pi * angle.apply("math.cos") / angle.apply("math.sin")
    result = (y - tangent).where(reflects, y)
    e = x.e
    whole = x.compare("oeq", x.apply("math.floor"))
    pole = e.both(x.compare("ole", 0.0), whole)
    return x.of(math.nan).where(pole, result)


def _bessel_i1e(x: FloatExpr) -> FloatExpr:
    size = abs(x)
    # The trailing coefficients suffice for f32.
    wide = kind(x.type).width == 64
    near, far = c.BESSEL_I1E_NEAR[0 if wide else -17 :], c.BESSEL_I1E_FAR[0 if wide else -7 :]
    inside = size * chebyshev(0.5 * size - 2.0, near)
    outside = chebyshev(32.0 / size - 2.0, far) / size.apply("math.sqrt")
    return x.sign() * inside.where(size.compare("ole", 8.0), outside)


def _zeta(x: FloatExpr, q: FloatExpr) -> FloatExpr:
    """Emit the Hurwitz zeta function; negative `q` is defined for integer `x` only.

    The sum over all integers k of (k + q)**-x depends only on the fraction of q. What a negative q
    adds to the sum of its fraction is therefore a difference of two sums of positive arguments.
    """
    e = x.e
    fraction = q - q.apply("math.floor")
    even = x.compare("oeq", 2.0 * (x * 0.5).apply("math.floor"))
    even = e.both(even, abs(x).compare("olt", math.inf))
    added = _zeta_above_zero(x, 1.0 - fraction) - _zeta_above_zero(x, 1.0 - q)
    negative = q.compare("olt", 0.0)
    result = _zeta_above_zero(x, fraction.where(negative, q))
    result = (result + added.where(even, -added)).where(negative, result)
    nan = x.of(math.nan)
    result = nan.where(x.compare("olt", 1.0), result)
    whole = q.compare("oeq", q.apply("math.floor"))
    pole = e.both(q.compare("ole", 0.0), whole)
    result = x.of(math.inf).where(e.both(pole, even), nan).where(pole, result)
    between = e.both(negative, x.compare("one", x.apply("math.floor")))
    result = nan.where(between, result)
    return x.of(math.inf).where(x.compare("oeq", 1.0), result)


def _zeta_above_zero(x: FloatExpr, q: FloatExpr) -> FloatExpr:
    """Emit the Hurwitz zeta function of positive `q` by the Euler-Maclaurin formula."""
    e = x.e
    zero = x.of(0.0)
    total = q.apply("math.powf", -x)
    a = q
    power = zero
    for _ in range(9):
        a = a + 1.0
        power = a.apply("math.powf", -x)
        total = total + power
    # If the last power is negligible, so are the following terms, whose factors overflow.
    epsilon = 2.0**-23 if kind(x.type).width == 32 else 2.0**-52
    negligible = abs(power).compare("ole", abs(total) * epsilon)
    # XLA and PyTorch return NaN at infinity.
    negligible = e.both(negligible, q.compare("olt", math.inf))
    powers = total
    remainder = power * a / (x - 1.0)
    total = total + remainder - 0.5 * power
    inverse = 1.0 / (a * a)
    factor = x.of(1.0)
    term = power / a
    tail = zero
    for index, coefficient in enumerate(c.ZETA):
        factor = (
            factor * (x + 2.0 * index)
            if index == 0
            else (factor * (x + (2.0 * index - 1.0)) * (x + 2.0 * index))
        )
        tail = tail + factor * term / coefficient
        term = term * inverse
    return powers.where(negligible, total + tail)


def _polygamma(n: FloatExpr, x: FloatExpr) -> FloatExpr:
    e = n.e
    sign = 2.0 * (n - 2.0 * (n * 0.5).apply("math.floor")) - 1.0
    value = sign * _lgamma(n + 1.0).apply("math.exp") * _zeta(n + 1.0, x)
    value = _digamma(x).where(n.compare("oeq", 0.0), value)
    bad = e.either(n.compare("olt", 0.0), n.compare("one", n.apply("math.floor")))
    return x.of(math.nan).where(bad, value)


for _name, _formula in (
    ("erfc", _erfc),
    ("erf_inv", _erf_inv),
    ("lgamma", _lgamma),
    ("digamma", _digamma),
    ("bessel_i1e", _bessel_i1e),
    ("zeta", _zeta),
    ("polygamma", _polygamma),
):
    function_rule(f"chlo.{_name}", on_scalars(_formula))


# Bits --------------------------------------------------------------------------------------------


@scalar_rule("chlo.next_after")
def _next_after(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    """Emit the neighbouring float of the first argument in the direction of the second."""
    x, y = (FloatExpr(e, each) for each in args)
    bits_type = IntegerType(kind(x.type).width)
    x_bits, y_bits = (e.op("arith.bitcast", each, to=bits_type) for each in args)

    def number(value: int) -> SSAValue:
        return e.constant(value, bits_type)

    width = kind(x.type).width
    sign_mask = number(1 << (width - 1))
    x_size = e.op("arith.andi", x_bits, number((1 << (width - 1)) - 1))
    x_sign, y_sign = (e.op("arith.andi", each, sign_mask) for each in (x_bits, y_bits))
    y_size = e.op("arith.andi", y_bits, number((1 << (width - 1)) - 1))
    from_zero = e.op("arith.ori", y_sign, number(1))
    inwards = e.either(
        e.compare_integers("sgt", x_size, y_size), e.compare_integers("ne", x_sign, y_sign)
    )
    moved = e.op("arith.addi", x_bits, e.select(inwards, number(-1), number(1)))
    result = e.select(e.compare_integers("eq", x_size, number(0)), from_zero, moved)
    result = e.select(x.compare("oeq", y), y_bits, result)
    found = FloatExpr(e, e.op("arith.bitcast", result, to=x.type))
    return x.of(math.nan).where(x.compare("uno", y), found).value


@scalar_rule("chlo.is_inf", "chlo.is_pos_inf", "chlo.is_neg_inf")
def _is_infinite(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    x = FloatExpr(e, args[0])
    if op.name == "chlo.is_inf":
        return abs(x).compare("oeq", math.inf)
    return x.compare("oeq", math.inf if op.name == "chlo.is_pos_inf" else -math.inf)


@scalar_rule("chlo.mulhi")
def _mulhi(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    """Emit the upper half of a product of integers."""
    signed = operand_kind(op).name == "signed"
    multiply = MulSIExtendedOp if signed else MulUIExtendedOp
    return e.add_op(multiply(args[0], args[1])).results[1]

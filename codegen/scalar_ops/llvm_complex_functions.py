"""Functions of complex numbers in LLVM IR, computed of both parts in doubles.

Those of floats are rounded once. Some of doubles are the C library's, as in NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...runtime.abi.elements import Element
from . import llvm_double_functions as doubles
from . import llvm_powers as powers
from . import llvm_trigonometry as trigonometry
from .llvm_complex import (
    choose,
    conjugate,
    create,
    divide,
    library,
    multiply,
    number_like,
    of_parts,
    parts_of,
)
from .llvm_doubles import BITS, DOUBLE, nearest, number
from .llvm_floats import libm_function
from .llvm_functions import one_plus, smaller
from .llvm_values import Builder, Compute, Emit, Value, constant, intrinsic


def _in_doubles(own: Callable[[Builder, Value, Value], list[Value]], name: str = "") -> Emit:
    """Return an emitter of a function of which `own` computes both parts, in doubles.

    Floats are rounded once. For numbers of doubles the function is the C library's of that name, if
    it has one here.
    """

    def emit(builder: Builder, values: Sequence[Value], *elements: Element) -> Value:
        part = values[0].type.element
        if part == DOUBLE and name:
            return library(name)(builder, values, *elements)
        return _narrow(builder, own(builder, *_wide(builder, values[0])), part)

    return emit


def _wide(builder: Builder, value: Value) -> list[Value]:
    """Return the parts of a number in doubles."""
    parts = parts_of(builder, value)
    return [each if each.type == DOUBLE else builder.fpext(each, DOUBLE) for each in parts]


def _narrow(builder: Builder, parts: Sequence[Value], part: Any) -> Value:
    """Return the number of some doubles, rounded to the type of its parts."""
    if part != DOUBLE:
        parts = [builder.fptrunc(each, part) for each in parts]
    return create(builder, parts)


def _exponential(builder: Builder, x: Value, y: Value) -> list[Value]:
    """Emit `exp(x + yi) = exp(x) cos(y) + exp(x) sin(y) i`, with C's results at infinity (G.6.3.1).

    `exp(x)` is that of floats, which is finite, so that its product with 0 is 0.
    """
    zero, infinity = number(0.0), number(math.inf)
    size = powers.exp(builder, x)
    one, other = (
        builder.fmul(size, each(builder, y)) for each in (trigonometry.cos, trigonometry.sin)
    )
    has_angle = builder.fcmp_ordered("<", intrinsic(builder, "llvm.fabs", y), infinity)
    is_none = builder.fcmp_ordered("==", x, builder.fneg(infinity))
    is_endless = builder.fcmp_ordered("==", x, infinity)
    limit = builder.select(is_none, zero, builder.select(is_endless, infinity, one))
    one = builder.select(has_angle, one, limit)
    other = builder.select(_is_zero(builder, y), y, other)
    other = builder.select(builder.and_(is_none, builder.not_(has_angle)), zero, other)
    return [one, other]


@dataclass(frozen=True)
class _Size:
    """The larger and the smaller absolute value of two parts, times a power of 2.

    So that their squares are neither infinite nor lost. Numbers of floats are not scaled.
    """

    large: Value
    small: Value
    is_huge: Value
    is_tiny: Value

    @staticmethod
    def of(builder: Builder, x: Value, y: Value) -> _Size:
        parts = [intrinsic(builder, "llvm.fabs", each) for each in (x, y)]
        is_flat = builder.fcmp_ordered(">", *parts)
        large, small = (
            builder.select(is_flat, *parts),
            builder.select(is_flat, *reversed(parts)),
        )
        is_huge = builder.fcmp_ordered(">", large, number(math.ldexp(1.0, 400)))
        is_tiny = builder.fcmp_ordered("<", large, number(math.ldexp(1.0, -400)))
        size = _Size(large, small, is_huge, is_tiny)
        scale = size.choose(builder, math.ldexp(1.0, -600), 1.0, math.ldexp(1.0, 600))
        return _Size(builder.fmul(large, scale), builder.fmul(small, scale), is_huge, is_tiny)

    def choose(self, builder: Builder, huge: float, usual: float, tiny: float) -> Value:
        """Return the number for this size."""
        rest = builder.select(self.is_tiny, number(tiny), number(usual))
        return builder.select(self.is_huge, number(huge), rest)


def _any_infinite(builder: Builder, x: Value, y: Value) -> Value:
    return builder.or_(*(_is_infinite(builder, each) for each in (x, y)))


def _is_infinite(builder: Builder, value: Value) -> Value:
    size = intrinsic(builder, "llvm.fabs", value)
    return builder.fcmp_ordered("==", size, number(math.inf))


def _is_zero(builder: Builder, value: Value) -> Value:
    return builder.fcmp_ordered("==", value, number(0.0))


def _logarithm(
    builder: Builder, log: Compute, size: _Size, known: tuple[Value, Value] | None = None
) -> Value:
    """Emit `log(|z|) = log(|z|^2) / 2`, near 1 of the difference of the square and 1.

    Squares have twice the bits for it. `known` is a condition, and the difference if it holds.
    """
    (first, lost), (second, more) = (_square(builder, each) for each in (size.large, size.small))
    less = builder.fadd(builder.fsub(first, number(1.0)), second)
    less = builder.fadd(less, builder.fadd(lost, more))
    if known is not None:
        less = builder.select(*known, less)
    near, lost = one_plus(builder, less)
    is_near = builder.fcmp_ordered("<", intrinsic(builder, "llvm.fabs", less), number(0.5))
    found = log(builder, builder.select(is_near, near, builder.fadd(first, second)))
    found = builder.fadd(found, builder.select(is_near, lost, number(0.0)))
    offset = 600 * math.log(2)
    offset = size.choose(builder, offset, 0.0, -offset)
    return builder.fadd(builder.fmul(found, number(0.5)), offset)


def _square(builder: Builder, value: Value) -> tuple[Value, Value]:
    """Return the rounded square, and what it lacks."""
    square = builder.fmul(value, value)
    return square, intrinsic(builder, "llvm.fma", value, value, builder.fneg(square))


def _log_of_float(builder: Builder, value: Value) -> Value:
    return builder.fmul(powers.log2(builder, value), number(math.log(2)))


def _log_functions(part: Any) -> tuple[Compute, Compute]:
    """Return `log` and `atan2` of doubles, as exact as the type of the results needs."""
    if part == DOUBLE:
        return doubles.log, doubles.atan2
    return _log_of_float, trigonometry.atan2


def logarithm(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit `log(z) = log(|z|) + atan2(y, x) i`."""
    part, (x, y) = values[0].type.element, _wide(builder, values[0])
    log, atan2 = _log_functions(part)
    size = _logarithm(builder, log, _Size.of(builder, x, y))
    size = builder.select(_any_infinite(builder, x, y), number(math.inf), size)
    return _narrow(builder, [size, atan2(builder, y, x)], part)


def logarithm_plus_one(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit `log(1 + z)`. Near 0, `|1 + z|^2 - 1` is `x(x + 2) + y^2`."""
    part, (x, y) = values[0].type.element, _wide(builder, values[0])
    log, atan2 = _log_functions(part)
    more = builder.fadd(x, number(1.0))
    size = _Size.of(builder, more, y)
    height = builder.fmul(y, y)
    total = builder.fadd(builder.fmul(x, x), height)
    less = builder.fadd(builder.fmul(x, builder.fadd(x, number(2.0))), height)
    is_near = builder.fcmp_ordered("<", total, number(0.25))
    size = _logarithm(builder, log, size, (is_near, less))
    size = builder.select(_any_infinite(builder, x, y), number(math.inf), size)
    return _narrow(builder, [size, atan2(builder, y, more)], part)


def _square_root(builder: Builder, x: Value, y: Value) -> list[Value]:
    """Emit the square root in the right half plane.

    The larger part is `t = sqrt((|z| + |x|) / 2)`, the other one `|y| / 2t`.
    """
    width, height = (intrinsic(builder, "llvm.fabs", each) for each in (x, y))
    size = _Size.of(builder, x, y)
    scale = size.choose(builder, math.ldexp(1.0, -600), 1.0, math.ldexp(1.0, 600))
    length = builder.fadd(*(builder.fmul(each, each) for each in (size.large, size.small)))
    length = builder.select(_any_infinite(builder, x, y), number(math.inf), length)
    length = builder.fadd(intrinsic(builder, "llvm.sqrt", length), builder.fmul(width, scale))
    large = intrinsic(builder, "llvm.sqrt", builder.fmul(length, number(0.5)))
    scale = size.choose(builder, math.ldexp(1.0, 300), 1.0, math.ldexp(1.0, -300))
    large = builder.fmul(large, scale)
    small = builder.fdiv(height, builder.fadd(large, large))
    small = builder.select(_is_zero(builder, large), height, small)
    is_endless = _is_infinite(builder, height)
    large, small = (builder.select(is_endless, height, each) for each in (large, small))
    is_left = builder.fcmp_ordered("<", x, number(0.0))
    own, other = builder.select(is_left, small, large), builder.select(is_left, large, small)
    return [own, intrinsic(builder, "llvm.copysign", other, y)]


def _inverse_root(builder: Builder, x: Value, y: Value) -> list[Value]:
    """Emit the reciprocal of the square root."""
    root = create(builder, _square_root(builder, x, y))
    return list(parts_of(builder, divide(builder, [number_like(root, 1.0, 0.0), root])))


def power(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit `x^y = exp(y log(x))`, or a product for an integer `|y| < 100`, as in NumPy.

    It is 1 for `y = 0`. Other powers of 0 are 0 if the real part of `y` is positive, and NaN if
    not.
    """
    kind = values[0].type.element
    (a, b), (c, d) = (_wide(builder, each) for each in values)
    size = _logarithm(builder, doubles.log, _Size.of(builder, a, b))
    size = builder.select(_any_infinite(builder, a, b), number(math.inf), size)
    angle = doubles.atan2(builder, b, a)
    # A product with 0 is 0 here, also of infinity.
    is_real = _is_zero(builder, d)
    turned = [builder.select(is_real, number(0.0), builder.fmul(d, each)) for each in (angle, size)]
    exponent = create(
        builder,
        [
            builder.fsub(builder.fmul(c, size), turned[0]),
            builder.fadd(builder.fmul(c, angle), turned[1]),
        ],
    )
    if kind == DOUBLE:
        found = parts_of(builder, library("exp")(builder, [exponent]))
    else:
        found = _exponential(builder, *parts_of(builder, exponent))
    product, is_product = _integer_power(builder, (a, b), c)
    is_product = builder.and_(is_product, is_real)
    found = [
        builder.select(is_product, *pair)
        for pair in zip(parts_of(builder, product), found, strict=True)
    ]
    is_none = builder.and_(_is_zero(builder, a), _is_zero(builder, b))
    is_positive = builder.fcmp_ordered(">", c, number(0.0))
    of_zero = builder.select(is_positive, number(0.0), number(math.nan))
    is_one = builder.and_(_is_zero(builder, c), is_real)
    found = [
        builder.select(is_one, number(one), builder.select(is_none, of_zero, each))
        for one, each in zip((1.0, 0.0), found, strict=True)
    ]
    return _narrow(builder, found, kind)


def _integer_power(builder: Builder, base: Sequence[Value], exponent: Value) -> tuple[Value, Value]:
    """Return the product of `|exponent|` bases, or its reciprocal; and whether that is the power.

    It is not for other exponents than integers below 100, and where a product is not finite.
    """
    size = intrinsic(builder, "llvm.fabs", exponent)
    bounded = smaller(builder, size, 100.0)
    whole, bits = nearest(builder, bounded)
    power = create(builder, base)
    total = number_like(power, 1.0, 0.0)
    for bit in range(7):
        if bit:
            power = multiply(builder, [power, power])
        flag = builder.and_(bits, constant(BITS, 1 << bit))
        is_set = builder.icmp_unsigned("!=", flag, constant(BITS, 0))
        total = choose(builder, is_set, multiply(builder, [total, power]), total)
    inverse = divide(builder, [number_like(total, 1.0, 0.0), total])
    is_negative = builder.fcmp_ordered("<", exponent, number(0.0))
    total = choose(builder, is_negative, inverse, total)
    is_whole = builder.fcmp_ordered("==", whole, size)
    is_small = builder.fcmp_ordered("<", size, number(100.0))
    rests = [builder.fsub(each, each) for each in parts_of(builder, total)]
    is_finite = builder.fcmp_ordered("ord", *rests)
    return total, builder.and_(is_finite, builder.and_(is_whole, is_small))


def exponential_minus_one(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit `exp(x + yi) - 1 = expm1(x) cos(y) - 2 sin(y/2)**2 + exp(x) sin(y) i`."""
    part, (x, y) = values[0].type.element, _wide(builder, values[0])
    sin, cos, exp = trigonometry.sin, trigonometry.cos, powers.exp
    if part == DOUBLE:
        sin, cos, exp = libm_function("sin"), libm_function("cos"), doubles.exp
    half = sin(builder, builder.fmul(y, number(0.5)))
    twice = builder.fmul(builder.fmul(number(2.0), half), half)
    less = builder.fmul(doubles.expm1(builder, x), cos(builder, y))
    other = builder.fmul(exp(builder, x), sin(builder, y))
    other = builder.select(_is_zero(builder, y), y, other)
    return _narrow(builder, [builder.fsub(less, twice), other], part)


def _limited(builder: Builder, value: Value, limit: float) -> Value:
    """Return a number between two limits, or NaN."""
    size = intrinsic(builder, "llvm.fabs", value)
    bound = intrinsic(builder, "llvm.copysign", number(limit), value)
    return builder.select(builder.fcmp_ordered(">", size, number(limit)), bound, value)


def _sine(builder: Builder, x: Value, y: Value) -> list[Value]:
    """Emit `sin(x) cosh(y) + cos(x) sinh(y) i`.

    A product with `e^200` is infinite as a float. C's results at infinity are those of G.6.2.5.
    """
    height = _limited(builder, y, 200.0)
    turned = trigonometry.cos(builder, x)
    one = builder.fmul(trigonometry.sin(builder, x), powers.cosh(builder, height))
    other = builder.fmul(turned, powers.sinh(builder, height))
    is_high = _is_infinite(builder, y)
    limit = builder.select(
        is_high, number(math.inf), builder.select(_is_zero(builder, y), y, other)
    )
    has_angle = builder.fcmp_ordered("ord", turned, turned)
    return [
        builder.select(_is_zero(builder, x), x, one),
        builder.select(has_angle, other, limit),
    ]


def _cosine(builder: Builder, x: Value, y: Value) -> list[Value]:
    """Emit `cos(x) cosh(y) - sin(x) sinh(y) i`, like the sine."""
    height = _limited(builder, y, 200.0)
    turned = trigonometry.sin(builder, x)
    one = builder.fmul(trigonometry.cos(builder, x), powers.cosh(builder, height))
    other = builder.fmul(turned, powers.sinh(builder, height))
    direction = intrinsic(builder, "llvm.copysign", number(1.0), y)
    other = builder.select(_is_zero(builder, x), builder.fmul(x, direction), other)
    has_angle = builder.fcmp_ordered("ord", turned, turned)
    is_real = builder.and_(_is_zero(builder, y), builder.not_(has_angle))
    limit = builder.select(_is_infinite(builder, y), number(math.inf), one)
    return [
        builder.select(has_angle, one, limit),
        builder.fneg(builder.select(is_real, y, other)),
    ]


def _hyperbolic_tangent(builder: Builder, x: Value, y: Value) -> list[Value]:
    """Emit `(b r s + t i) / (1 + b s^2)` with `t = tan(y)`, `b = 1 + t^2` and `s = sinh(x)`.

    `r` is `cosh(x)` (Kahan, "Branch cuts for complex elementary functions", 1987). Beyond 60 the
    real part is 1, and the other less than the least float.
    """
    one = number(1.0)
    slope = trigonometry.tan(builder, y)
    bend = builder.fadd(one, builder.fmul(slope, slope))
    sine = powers.sinh(builder, _limited(builder, x, 60.0))
    square = builder.fmul(sine, sine)
    cosine = intrinsic(builder, "llvm.sqrt", builder.fadd(one, square))
    divisor = builder.fadd(one, builder.fmul(bend, square))
    own = builder.fdiv(builder.fmul(builder.fmul(bend, cosine), sine), divisor)
    other = builder.fdiv(slope, divisor)
    own = builder.select(_is_zero(builder, x), x, own)
    other = builder.select(_is_zero(builder, y), y, other)
    # At infinity the angle does not matter.
    has_angle = builder.fcmp_ordered("<", intrinsic(builder, "llvm.fabs", y), number(math.inf))
    is_end = builder.and_(_is_infinite(builder, x), builder.not_(has_angle))
    limits = [intrinsic(builder, "llvm.copysign", number(n), v) for n, v in ((1.0, x), (0.0, y))]
    return [
        builder.select(is_end, limit, each)
        for limit, each in zip(limits, (own, other), strict=True)
    ]


def _tangent(builder: Builder, x: Value, y: Value) -> list[Value]:
    """Emit `tan(z) = -i tanh(iz)`."""
    other, own = _hyperbolic_tangent(builder, y, x)
    return [own, other]


FUNCTIONS: dict[str, Emit] = {
    "addc": of_parts("fadd"),
    "subc": of_parts("fsub"),
    "mulc": multiply,
    "divc": divide,
    "negc": of_parts("fneg"),
    "conjc": conjugate,
    "powc": power,
    "expm1c": exponential_minus_one,
    "log1pc": logarithm_plus_one,
    "expc": _in_doubles(_exponential, "exp"),
    "logc": logarithm,
    "sqrtc": _in_doubles(_square_root),
    "rsqrtc": _in_doubles(_inverse_root),
    "cosc": _in_doubles(_cosine, "cos"),
    "sinc": _in_doubles(_sine, "sin"),
    "tanc": _in_doubles(_tangent, "tan"),
    "tanhc": _in_doubles(_hyperbolic_tangent, "tanh"),
}
"""Functions from complex numbers to a complex number."""

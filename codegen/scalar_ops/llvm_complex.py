"""Complex numbers in LLVM IR: a register is a vector of the real and the imaginary part.

Division is Smith's algorithm (CACM 5, 8, 1962). Most functions are those of the C library, as in
NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.binding
from llvmlite import ir

from ...runtime.abi.elements import Element
from . import llvm_powers as powers
from . import llvm_trigonometry as trigonometry
from .llvm_doubles import DOUBLE, number
from .llvm_floats import libm
from .llvm_functions import one_plus
from .llvm_values import Builder, Emit, Value, intrinsic, library_function

_I32 = ir.IntType(32)
_REAL, _IMAGINARY = ir.Constant(_I32, 0), ir.Constant(_I32, 1)


def real(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit the real part."""
    return builder.extract_element(values[0], _REAL)


def imaginary(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit the imaginary part."""
    return builder.extract_element(values[0], _IMAGINARY)


def create(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit a number from its parts."""
    zero: Any = ir.Constant(ir.VectorType(values[0].type, 2), [0.0, 0.0])
    first = builder.insert_element(zero, values[0], _REAL)
    return builder.insert_element(first, values[1], _IMAGINARY)


def _parts(builder: Builder, value: Value) -> tuple[Value, Value]:
    return real(builder, [value]), imaginary(builder, [value])


def _number(value: Value, real_part: float, imaginary_part: float) -> Value:
    """Return a constant of another number's type."""
    return ir.Constant(value.type, [real_part, imaginary_part])


def of_parts(name: str) -> Emit:
    """Return an emitter that applies an LLVM instruction to both parts."""

    def emit(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
        pairs = zip(*(_parts(builder, each) for each in values), strict=True)
        return create(builder, [getattr(builder, name)(*each) for each in pairs])

    return emit


def conjugate(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit the complex conjugate."""
    one, other = _parts(builder, values[0])
    return create(builder, [one, builder.fneg(other)])


def multiply(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit the product `(a + bi)(c + di) = (ac - bd) + (ad + bc)i`."""
    (a, b), (c, d) = (_parts(builder, each) for each in values)
    return create(
        builder,
        [
            builder.fsub(builder.fmul(a, c), builder.fmul(b, d)),
            builder.fadd(builder.fmul(a, d), builder.fmul(b, c)),
        ],
    )


def divide(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit the quotient; both parts of the divisor are divided by the larger one to avoid overflow.

    If both parts of the result are NaN, infinite operands are handled as in C's annex G (G.5.1).
    """
    (a, b), (c, d) = (_parts(builder, each) for each in values)
    kind = a.type
    size_c, size_d = (intrinsic(builder, "llvm.fabs", each) for each in (c, d))
    zero, one = ir.Constant(kind, 0.0), ir.Constant(kind, 1.0)

    def ratio_and_scale(large: Value, small: Value) -> tuple[Value, Value]:
        ratio = builder.fdiv(small, large)
        return ratio, builder.fdiv(one, builder.fadd(large, builder.fmul(small, ratio)))

    ratio, scale = ratio_and_scale(c, d)
    by_real = (
        builder.fmul(builder.fadd(a, builder.fmul(b, ratio)), scale),
        builder.fmul(builder.fsub(b, builder.fmul(a, ratio)), scale),
    )
    ratio, scale = ratio_and_scale(d, c)
    by_imaginary = (
        builder.fmul(builder.fadd(builder.fmul(a, ratio), b), scale),
        builder.fmul(builder.fsub(builder.fmul(b, ratio), a), scale),
    )
    is_zero = builder.and_(
        builder.fcmp_ordered("==", size_c, zero), builder.fcmp_ordered("==", size_d, zero)
    )
    is_real = builder.fcmp_ordered(">=", size_c, size_d)
    found = [builder.select(is_real, *ways) for ways in zip(by_real, by_imaginary, strict=True)]
    found = [
        builder.select(is_zero, builder.fdiv(part, c), each)
        for part, each in zip((a, b), found, strict=True)
    ]
    return create(builder, _infinite_quotient(builder, (a, b), (c, d), found))


def _infinite_quotient(
    builder: Builder, divided: Sequence[Value], divisor: Sequence[Value], found: Sequence[Value]
) -> list[Value]:
    """Emit the quotient of an infinite and a finite number, or `found` for other operands."""
    kind = found[0].type
    is_none = builder.and_(*(builder.fcmp_unordered("uno", each, each) for each in found))
    (one, one_infinite, one_finite), (other, other_infinite, other_finite) = (
        _directions(builder, pair) for pair in (divided, divisor)
    )
    for size, left, right, is_so in (
        (float("inf"), one, divisor, builder.and_(one_infinite, other_finite)),
        (0.0, divided, other, builder.and_(one_finite, other_infinite)),
    ):
        (a, b), (c, d) = left, right
        dot = builder.fadd(builder.fmul(a, c), builder.fmul(b, d))
        cross = builder.fsub(builder.fmul(b, c), builder.fmul(a, d))
        chosen = builder.and_(is_none, is_so)
        found = [
            builder.select(chosen, builder.fmul(ir.Constant(kind, size), way), each)
            for way, each in zip((dot, cross), found, strict=True)
        ]
    return list(found)


def _directions(builder: Builder, pair: Sequence[Value]) -> tuple[list[Value], Value, Value]:
    """Return 1 or -1 for infinite parts and 0 for others; whether any part is, and none."""
    kind = pair[0].type
    infinite = ir.Constant(kind, float("inf"))
    sizes = [intrinsic(builder, "llvm.fabs", each) for each in pair]
    is_infinite = [builder.fcmp_ordered("==", size, infinite) for size in sizes]
    ones = [
        intrinsic(
            builder,
            "llvm.copysign",
            builder.select(each, ir.Constant(kind, 1.0), ir.Constant(kind, 0.0)),
            part,
        )
        for each, part in zip(is_infinite, pair, strict=True)
    ]
    is_finite = builder.and_(*(builder.fcmp_ordered("<", size, infinite) for size in sizes))
    return ones, builder.or_(*is_infinite), is_finite


def absolute(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit the absolute value."""
    return _hypotenuse(builder, *_parts(builder, values[0]))


def _hypotenuse(builder: Builder, x: Value, y: Value) -> Value:
    """Emit `sqrt(x**2 + y**2)`, infinite if either part is.

    For floats it is computed in doubles, as in the C library: squares are exact, and sums do not
    overflow. This form is vectorised.
    """
    if isinstance(x.type, ir.DoubleType):
        return libm(builder, "hypot", [x, y])
    wide = [builder.fpext(each, ir.DoubleType()) for each in (x, y)]
    total = builder.fadd(*(builder.fmul(each, each) for each in wide))
    size = builder.fptrunc(intrinsic(builder, "llvm.sqrt", total), x.type)
    infinite = ir.Constant(x.type, float("inf"))
    for each in (x, y):
        is_infinite = builder.fcmp_ordered("==", intrinsic(builder, "llvm.fabs", each), infinite)
        size = builder.select(is_infinite, infinite, size)
    return size


def angle(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit the argument of a number, in radians."""
    one, other = _parts(builder, values[0])
    return libm(builder, "atan2", [other, one])


def equal(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit whether both parts are equal."""
    pairs = zip(*(_parts(builder, each) for each in values), strict=True)
    return builder.and_(*(builder.fcmp_ordered("==", *pair) for pair in pairs))


def unequal(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit whether a part differs."""
    return builder.not_(equal(builder, values))


def library(name: str) -> Emit:
    """Return an emitter of a call of a complex function of the C library.

    On x86-64, a complex number of floats is passed in one vector register, and one of doubles in
    two registers (System V ABI, 3.2.3). On other targets its parts are passed like members of a
    structure.
    """

    def emit(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
        (value,) = values
        part = value.type.element
        llvm: Any = llvmlite.binding
        is_vector = llvm.get_process_triple().startswith("x86_64") and part == ir.FloatType()
        symbol = f"c{name}" if part == ir.DoubleType() else f"c{name}f"
        pair = ir.LiteralStructType([part, part])
        signature = ir.FunctionType(pair, [part, part])
        if is_vector:
            signature = ir.FunctionType(value.type, [value.type])
        function = library_function(builder, symbol, signature)
        if is_vector:
            return builder.call(function, [value])
        found = builder.call(function, _parts(builder, value))
        return create(builder, [builder.extract_value(found, each) for each in (0, 1)])

    return emit


def exponential(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit `exp(x + yi) = exp(x) cos(y) + exp(x) sin(y) i`, with C's results at infinity (G.6.3.1).

    For floats it is computed in doubles, in which `exp(x)` is finite, so that its product with 0 is
    0.
    """
    x, y = _parts(builder, values[0])
    if x.type == DOUBLE:
        return library("exp")(builder, values)
    zero, infinity = ir.Constant(x.type, 0.0), ir.Constant(x.type, float("inf"))
    size = powers.exp(builder, builder.fpext(x, DOUBLE))
    angle = builder.fpext(y, DOUBLE)
    one, other = (
        builder.fptrunc(builder.fmul(size, each(builder, angle)), x.type)
        for each in (trigonometry.cos, trigonometry.sin)
    )
    has_angle = builder.fcmp_ordered("<", intrinsic(builder, "llvm.fabs", y), infinity)
    is_none = builder.fcmp_ordered("==", x, builder.fneg(infinity))
    is_endless = builder.fcmp_ordered("==", x, infinity)
    limit = builder.select(is_none, zero, builder.select(is_endless, infinity, one))
    one = builder.select(has_angle, one, limit)
    is_real = builder.fcmp_ordered("==", y, zero)
    other = builder.select(is_real, y, other)
    other = builder.select(builder.and_(is_none, builder.not_(has_angle)), zero, other)
    return create(builder, [one, other])


def _wide_parts(builder: Builder, value: Value) -> tuple[tuple[Value, Value], Value]:
    """Return the parts in doubles, and whether one of them is infinite."""
    x, y = (builder.fpext(each, DOUBLE) for each in _parts(builder, value))
    infinite = [
        builder.fcmp_ordered("==", intrinsic(builder, "llvm.fabs", each), number(float("inf")))
        for each in (x, y)
    ]
    return (x, y), builder.or_(*infinite)


def _narrow(builder: Builder, kind: Any, parts: Sequence[Value]) -> Value:
    """Return a number of doubles, rounded once."""
    return create(builder, [builder.fptrunc(each, kind) for each in parts])


def logarithm(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit `log(z) = log(|z|^2) / 2 + atan2(y, x) i`, for floats in doubles.

    Near 1, `|z|^2 - 1` is the exact difference of the larger square and 1, plus the other square.
    """
    kind = values[0].type.element
    if kind == DOUBLE:
        return library("log")(builder, values)
    (x, y), is_infinite = _wide_parts(builder, values[0])
    squares = [builder.fmul(each, each) for each in (x, y)]
    is_flat = builder.fcmp_ordered(">", *squares)
    large, small = builder.select(is_flat, *squares), builder.select(is_flat, *reversed(squares))
    total = builder.fadd(large, small)
    less = builder.fadd(builder.fsub(large, number(1.0)), small)
    near, lost = one_plus(builder, less)
    is_near = builder.fcmp_ordered("<", intrinsic(builder, "llvm.fabs", less), number(0.5))
    total = builder.select(is_near, near, total)
    size = builder.fmul(powers.log2(builder, total), number(math.log(2)))
    size = builder.fadd(size, builder.select(is_near, lost, number(0.0)))
    size = builder.select(is_infinite, number(float("inf")), builder.fmul(size, number(0.5)))
    return _narrow(builder, kind, [size, trigonometry.atan2(builder, y, x)])


def square_root(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit the square root in the right half plane, for floats in doubles.

    The larger part is `t = sqrt((|z| + |x|) / 2)`, the other one `|y| / 2t`.
    """
    kind = values[0].type.element
    if kind == DOUBLE:
        return library("sqrt")(builder, values)
    (x, y), is_infinite = _wide_parts(builder, values[0])
    width, height = (intrinsic(builder, "llvm.fabs", each) for each in (x, y))
    size = builder.fadd(builder.fmul(x, x), builder.fmul(y, y))
    size = builder.select(is_infinite, number(float("inf")), size)
    size = builder.fadd(intrinsic(builder, "llvm.sqrt", size), width)
    large = intrinsic(builder, "llvm.sqrt", builder.fmul(size, number(0.5)))
    small = builder.fdiv(height, builder.fadd(large, large))
    is_zero = builder.fcmp_ordered("==", large, number(0.0))
    small = builder.select(is_zero, height, small)
    is_endless = builder.fcmp_ordered("==", height, number(float("inf")))
    large, small = (builder.select(is_endless, height, each) for each in (large, small))
    is_left = builder.fcmp_ordered("<", x, number(0.0))
    own, other = builder.select(is_left, small, large), builder.select(is_left, large, small)
    return _narrow(builder, kind, [own, intrinsic(builder, "llvm.copysign", other, y)])


def inverse_root(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit the reciprocal of the square root."""
    root = square_root(builder, values)
    return divide(builder, [_number(root, 1.0, 0.0), root])


def exponential_minus_one(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit `exp(x + yi) - 1 = expm1(x) cos(y) - 2 sin(y/2)**2 + exp(x) sin(y) i`."""
    x, y = _parts(builder, values[0])
    half = libm(builder, "sin", [builder.fmul(y, ir.Constant(y.type, 0.5))])
    twice = builder.fmul(builder.fmul(ir.Constant(y.type, 2.0), half), half)
    less = builder.fmul(libm(builder, "expm1", [x]), libm(builder, "cos", [y]))
    other = builder.fmul(libm(builder, "exp", [x]), libm(builder, "sin", [y]))
    is_real = builder.fcmp_ordered("==", y, ir.Constant(y.type, 0.0))
    other = builder.select(is_real, y, other)
    return create(builder, [builder.fsub(less, twice), other])


def logarithm_plus_one(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit `log(1 + z) = log(hypot(x + 1, y)) + atan2(y, x + 1) i`.

    Near 0, the real part is `log1p(x(x + 2) + y**2) / 2`, which avoids the rounding error of `x +
    1`.
    """
    x, y = _parts(builder, values[0])
    more = builder.fadd(x, ir.Constant(x.type, 1.0))
    size = libm(builder, "log", [_hypotenuse(builder, more, y)])
    half, two = ir.Constant(x.type, 0.5), ir.Constant(x.type, 2.0)
    square = builder.fmul(x, builder.fadd(x, two))
    square = builder.fadd(square, builder.fmul(y, y))
    near = builder.fmul(half, libm(builder, "log1p", [square]))
    is_near = builder.fcmp_ordered("<", _hypotenuse(builder, x, y), half)
    size = builder.select(is_near, near, size)
    return create(builder, [size, libm(builder, "atan2", [y, more])])


def _in_doubles(name: str, own: Callable[[Builder, Value, Value], list[Value]]) -> Emit:
    """Return an emitter of a function of floats that `own` computes of both parts, in doubles.

    For doubles it is the C library's.
    """

    def emit(builder: Builder, values: Sequence[Value], *elements: Element) -> Value:
        kind = values[0].type.element
        if kind == DOUBLE:
            return library(name)(builder, values, *elements)
        (x, y), _ = _wide_parts(builder, values[0])
        return _narrow(builder, kind, own(builder, x, y))

    return emit


def _limited(builder: Builder, value: Value, limit: float) -> Value:
    """Return a number between two limits, or NaN."""
    size = intrinsic(builder, "llvm.fabs", value)
    bound = intrinsic(builder, "llvm.copysign", number(limit), value)
    return builder.select(builder.fcmp_ordered(">", size, number(limit)), bound, value)


def _is_zero(builder: Builder, value: Value) -> Value:
    return builder.fcmp_ordered("==", value, number(0.0))


def _sine(builder: Builder, x: Value, y: Value) -> list[Value]:
    """Emit `sin(x) cosh(y) + cos(x) sinh(y) i`.

    A product with `e^200` is infinite as a float. C's results at infinity are those of G.6.2.5.
    """
    height = _limited(builder, y, 200.0)
    turned = trigonometry.cos(builder, x)
    one = builder.fmul(trigonometry.sin(builder, x), powers.cosh(builder, height))
    other = builder.fmul(turned, powers.sinh(builder, height))
    infinity = number(float("inf"))
    is_high = builder.fcmp_ordered("==", intrinsic(builder, "llvm.fabs", y), infinity)
    limit = builder.select(is_high, infinity, builder.select(_is_zero(builder, y), y, other))
    has_angle = builder.fcmp_ordered("ord", turned, turned)
    return [
        builder.select(_is_zero(builder, x), x, one),
        builder.select(has_angle, other, limit),
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
    infinite, finite = (
        builder.fcmp_ordered(how, intrinsic(builder, "llvm.fabs", each), number(float("inf")))
        for how, each in (("==", x), ("<", y))
    )
    is_end = builder.and_(infinite, builder.not_(finite))
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
    "rsqrtc": inverse_root,
    "expm1c": exponential_minus_one,
    "log1pc": logarithm_plus_one,
    "expc": exponential,
    "logc": logarithm,
    "sqrtc": square_root,
    "cosc": library("cos"),
    "sinc": _in_doubles("sin", _sine),
    "tanc": _in_doubles("tan", _tangent),
    "tanhc": _in_doubles("tanh", _hyperbolic_tangent),
}
"""Functions from complex numbers to a complex number."""

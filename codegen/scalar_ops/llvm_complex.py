"""Complex numbers in LLVM IR: a register is a vector of the real and the imaginary part.

Division is Smith's algorithm (CACM 5, 8, 1962).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import llvmlite.binding
from llvmlite import ir

from ...runtime.abi.elements import Element
from ...runtime.abi.native_code import call_symbol, cpu_features
from .llvm_floats import libm
from .llvm_values import Builder, Emit, Value, intrinsic

_I32, _I64 = ir.IntType(32), ir.IntType(64)
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


def parts_of(builder: Builder, value: Value) -> tuple[Value, Value]:
    """Return the real and the imaginary part."""
    return real(builder, [value]), imaginary(builder, [value])


def number_like(value: Value, real_part: float, imaginary_part: float) -> Value:
    """Return a constant of another number's type."""
    return ir.Constant(value.type, [real_part, imaginary_part])


def of_parts(name: str) -> Emit:
    """Return an emitter that applies an LLVM instruction to both parts."""

    def emit(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
        pairs = zip(*(parts_of(builder, each) for each in values), strict=True)
        return create(builder, [getattr(builder, name)(*each) for each in pairs])

    return emit


def choose(builder: Builder, condition: Value, one: Value, other: Value) -> Value:
    """Return one of two numbers, part by part, so that loops are vectorised."""
    pairs = zip(parts_of(builder, one), parts_of(builder, other), strict=True)
    return create(builder, [builder.select(condition, *pair) for pair in pairs])


def conjugate(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit the complex conjugate."""
    one, other = parts_of(builder, values[0])
    return create(builder, [one, builder.fneg(other)])


def multiply(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit the product `(a + bi)(c + di) = (ac - bd) + (ad + bc)i`."""
    (a, b), (c, d) = (parts_of(builder, each) for each in values)
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
    (a, b), (c, d) = (parts_of(builder, each) for each in values)
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
    return _hypotenuse(builder, *parts_of(builder, values[0]))


def _hypotenuse(builder: Builder, x: Value, y: Value) -> Value:
    """Emit `sqrt(x**2 + y**2)`, infinite if either part is.

    Without fused multiply-add, the C library computes it for `f64`, and for `f32` it is computed in
    doubles, whose squares are exact and whose sums do not overflow.
    """
    sizes = [intrinsic(builder, "llvm.fabs", each) for each in (x, y)]
    features = cpu_features()
    if features.get("fma") or features.get("neon"):
        found = _fused_hypotenuse(builder, *sizes)
    elif isinstance(x.type, ir.DoubleType):
        return libm(builder, "hypot", [x, y])
    else:
        wide = [builder.fpext(each, ir.DoubleType()) for each in sizes]
        total = builder.fadd(*(builder.fmul(each, each) for each in wide))
        found = builder.fptrunc(intrinsic(builder, "llvm.sqrt", total), x.type)
    infinite = ir.Constant(x.type, math.inf)
    for each in sizes:
        found = builder.select(builder.fcmp_ordered("==", each, infinite), infinite, found)
    return found


def _fused_hypotenuse(builder: Builder, x: Value, y: Value) -> Value:
    """Emit `sqrt(x**2 + y**2)` of numbers that are not negative.

    With the power of two `s` that brings the larger number to [1, 2), the sum of the squares is
    `t + e`, where `e` holds what roundings lose. Its root is `r + (t + e - r**2) / 2r` with
    `r = sqrt(t)`. Results differ from rounded exact ones only where these lie within 2^-20 units of
    the middle between two numbers, or below the least normal number.
    """
    kind = x.type
    bits, width, bias = (_I32, 23, 127) if kind == ir.FloatType() else (_I64, 52, 1023)
    is_less = builder.fcmp_ordered("<", x, y)
    large, small = builder.select(is_less, y, x), builder.select(is_less, x, y)
    exponent = builder.lshr(builder.bitcast(large, bits), bits(width))
    for compared, limit in (("<", bits(1)), (">", bits(2 * bias - 1))):
        is_beyond = builder.icmp_unsigned(compared, exponent, limit)
        exponent = builder.select(is_beyond, limit, exponent)
    scale, inverse = (
        builder.bitcast(builder.shl(each, bits(width)), kind)
        for each in (builder.sub(bits(2 * bias), exponent), exponent)
    )
    large, small = builder.fmul(large, scale), builder.fmul(small, scale)
    squares = [builder.fmul(each, each) for each in (large, small)]
    lost = [
        intrinsic(builder, "llvm.fma", each, each, builder.fneg(square))
        for each, square in zip((large, small), squares, strict=True)
    ]
    total = builder.fadd(*squares)
    rest = builder.fadd(
        builder.fadd(builder.fsub(squares[0], total), squares[1]), builder.fadd(*lost)
    )
    root = intrinsic(builder, "llvm.sqrt", total)
    rest = builder.fadd(intrinsic(builder, "llvm.fma", builder.fneg(root), root, total), rest)
    # The root is 0 only if both numbers are; then so is the rest.
    is_zero = builder.fcmp_ordered("==", root, ir.Constant(kind, 0.0))
    share = builder.fdiv(
        ir.Constant(kind, 0.5), builder.select(is_zero, ir.Constant(kind, 1.0), root)
    )
    return builder.fmul(intrinsic(builder, "llvm.fma", rest, share, root), inverse)


def angle(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit the argument of a number, in radians."""
    one, other = parts_of(builder, values[0])
    return libm(builder, "atan2", [other, one])


def equal(builder: Builder, values: Sequence[Value], *_: Element) -> Value:
    """Emit whether both parts are equal."""
    pairs = zip(*(parts_of(builder, each) for each in values), strict=True)
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
        if is_vector:
            return call_symbol(builder, symbol, value.type, value)
        pair = ir.LiteralStructType([part, part])
        found = call_symbol(builder, symbol, pair, *parts_of(builder, value))
        return create(builder, [builder.extract_value(found, each) for each in (0, 1)])

    return emit

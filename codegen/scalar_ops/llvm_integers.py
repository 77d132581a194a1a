"""Integers of any width in LLVM IR: computed in their true width, held in wider containers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from ...runtime.abi.elements import Element
from ...runtime.abi.native_code import cpu_features
from .llvm_values import Builder, Emit, Value, constant, intrinsic, narrow, widen


def integer(emit: Callable[..., Value]) -> Emit:
    """Return an emitter that applies an operation to integers of their true width."""

    def wrapped(builder: Builder, values: Sequence[Value], element: Element) -> Value:
        narrowed = [narrow(builder, value, element) for value in values]
        return widen(builder, emit(builder, *narrowed), element)

    return wrapped


def method(name: str) -> Emit:
    """Return an emitter of an LLVM instruction, by the name of its `IRBuilder` method."""

    def emit(builder: Builder, *values: Value) -> Value:
        return getattr(builder, name)(*values)

    return integer(emit)


def llvm_integer(name: str, *extra: Value) -> Emit:
    """Return an emitter of an LLVM intrinsic on integers of one type; `extra` are its flags."""

    def emit(builder: Builder, *values: Value) -> Value:
        return intrinsic(builder, name, *values, *extra)

    return integer(emit)


def safe_divisor(builder: Builder, divisor: Value) -> Value:
    """Replace a divisor 0 by 1: division by zero is undefined in MLIR, but must not trap."""
    zero = constant(divisor.type, 0)
    is_zero = builder.icmp_unsigned("==", divisor, zero)
    return builder.select(is_zero, constant(divisor.type, 1), divisor)


def _divided(builder: Builder, left: Value, right: Value, *, signed: bool) -> tuple[Value, Value]:
    """Emit the quotient, rounded to zero, and the remainder. `x / 0` and `min / -1` are undefined.

    CPUs divide vectors only of floats.
    """
    width = left.type.width
    if _is_constant(right) or width > 64 or (width > 32 and not cpu_features().get("avx512dq")):
        if signed:
            return builder.sdiv(left, right), builder.srem(left, right)
        return builder.udiv(left, right), builder.urem(left, right)
    if width <= 32:
        whole = _divided_as_floats(builder, left, right, signed)
    elif signed:
        magnitudes = [_negated_if_negative(builder, each, each) for each in (left, right)]
        whole = _divided_in_steps(builder, *magnitudes)
        whole = _negated_if_negative(builder, whole, builder.xor(left, right))
    else:
        whole = _divided_in_steps(builder, left, right)
    return whole, builder.sub(left, builder.mul(whole, right))


def _negated_if_negative(builder: Builder, value: Value, sign: Value) -> Value:
    zero = constant(value.type, 0)
    return builder.select(builder.icmp_signed("<", sign, zero), builder.sub(zero, value), value)


def _divided_in_steps(builder: Builder, left: Value, right: Value) -> Value:
    """Emit the quotient of unsigned integers of at most 64 bits, rounded down.

    A float quotient is at most 2^-49 of it too small, which leaves a rest below
    `right + left * 2^-49`, thus below `right + 2^15`. Dividing the rest in the same way leaves less
    than `2 * right`: if `right` is at least 2^16, it is less than before; otherwise the first rest
    is below 2^17, and the second at most `right`.
    """
    kind, number = left.type, ir.DoubleType()
    # Errors of the conversions, the reciprocal and the product are less than 2^-51 together.
    inverse = builder.fdiv(ir.Constant(number, 1 - 2.0**-50), builder.uitofp(right, number))
    whole, rest = constant(kind, 0), left
    for _ in range(2):
        found = builder.fmul(builder.uitofp(rest, number), inverse)
        found = builder.fptoui(found, kind)
        whole, rest = builder.add(whole, found), builder.sub(rest, builder.mul(found, right))
    is_due = builder.icmp_unsigned(">=", rest, right)
    return builder.add(whole, builder.zext(is_due, kind))


def _divided_as_floats(builder: Builder, left: Value, right: Value, signed: bool) -> Value:
    """Emit the quotient of integers of at most 32 bits, rounded to zero.

    In a format with more bits than the integers, the rounded quotient is between the same two
    integers as the exact one.
    """
    kind, width = left.type, left.type.width
    number, word = ir.FloatType() if width < 24 else ir.DoubleType(), ir.IntType(32)
    if width < 32:
        # Unsigned numbers are positive in a wider word, which CPUs convert best.
        extend = builder.sext if signed else builder.zext
        left, right, signed = extend(left, word), extend(right, word), True
    to_float = builder.sitofp if signed else builder.uitofp
    whole = builder.fdiv(to_float(left, number), to_float(right, number))
    found = builder.fptosi(whole, word) if signed else builder.fptoui(whole, word)
    return builder.trunc(found, kind) if width < 32 else found


def _is_constant(value: Any) -> bool:
    """Return whether a value is computed from constants alone, so that LLVM knows it."""
    pending, seen = [value], set[int]()
    while pending:
        each = pending.pop()
        if isinstance(each, ir.Constant) or id(each) in seen:
            continue
        if getattr(each, "opname", "") not in _FOLDED:
            return False
        # Visit shared operands once: chains of choices would take exponential time.
        seen.add(id(each))
        pending += each.operands
    return True


_FOLDED = frozenset(
    ("add", "and", "icmp", "mul", "or", "select", "sext", "sub", "trunc", "xor", "zext")
)
"""Instructions that convert, compare and choose integers."""


def unsigned_quotient(builder: Builder, left: Value, right: Value) -> Value:
    """Emit the quotient of unsigned integers, rounded down."""
    return _divided(builder, left, safe_divisor(builder, right), signed=False)[0]


def unsigned_remainder(builder: Builder, left: Value, right: Value) -> Value:
    """Emit the remainder of unsigned integers."""
    return _divided(builder, left, safe_divisor(builder, right), signed=False)[1]


def signed_parts(builder: Builder, left: Value, right: Value) -> tuple[Value, Value]:
    """Emit quotient and remainder, rounded to zero; `min / -1` wraps instead of trapping."""
    right = safe_divisor(builder, right)
    minus_one = builder.icmp_signed("==", right, constant(right.type, -1))
    divisor = builder.select(minus_one, constant(right.type, 1), right)
    whole, rest = _divided(builder, left, divisor, signed=True)
    negated = builder.sub(constant(left.type, 0), left)
    return builder.select(minus_one, negated, whole), rest


def quotient(builder: Builder, left: Value, right: Value) -> Value:
    """Emit the quotient, rounded to zero."""
    return signed_parts(builder, left, right)[0]


def remainder(builder: Builder, left: Value, right: Value) -> Value:
    """Emit the remainder of the quotient rounded to zero."""
    return signed_parts(builder, left, right)[1]


def floor_division(builder: Builder, left: Value, right: Value) -> Value:
    """Emit the quotient, rounded down."""
    whole, is_due = _inexact_quotient(builder, left, right, "<")
    return builder.select(is_due, builder.sub(whole, constant(left.type, 1)), whole)


def ceiling_division(builder: Builder, left: Value, right: Value) -> Value:
    """Emit the quotient, rounded up."""
    whole, is_due = _inexact_quotient(builder, left, right, ">=")
    return builder.select(is_due, builder.add(whole, constant(left.type, 1)), whole)


def _inexact_quotient(
    builder: Builder, left: Value, right: Value, sign: str
) -> tuple[Value, Value]:
    """Emit the quotient rounded to zero, and whether it is inexact and has sign `< 0` or `>= 0`."""
    whole, rest = signed_parts(builder, left, right)
    zero = constant(left.type, 0)
    inexact = builder.icmp_signed("!=", rest, zero)
    return whole, builder.and_(inexact, builder.icmp_signed(sign, builder.xor(rest, right), zero))


def unsigned_ceiling_division(builder: Builder, left: Value, right: Value) -> Value:
    """Emit the quotient of unsigned integers, rounded up."""
    right = safe_divisor(builder, right)
    whole, rest = _divided(builder, left, right, signed=False)
    inexact = builder.icmp_unsigned("!=", rest, constant(left.type, 0))
    return builder.select(inexact, builder.add(whole, constant(left.type, 1)), whole)


def floor_remainder(builder: Builder, left: Value, right: Value) -> Value:
    """Emit the remainder of the quotient rounded down, which has the divisor's sign."""
    return builder.sub(left, builder.mul(floor_division(builder, left, right), right))


def shift(method: str) -> Emit:
    """Return an emitter of a shift; by the width or more, it acts like shifts by one bit each."""

    def emit(builder: Builder, value: Value, amount: Value) -> Value:
        last = constant(value.type, value.type.width - 1)
        beyond = builder.icmp_unsigned(">", amount, last)
        shifted = getattr(builder, method)(value, builder.select(beyond, last, amount))
        if method == "ashr":
            return shifted
        return builder.select(beyond, constant(value.type, 0), shifted)

    return integer(emit)


def integer_comparison(predicate: str, signed: bool) -> Emit:
    """Return an emitter of a comparison; `predicate` is LLVM's operator, such as `<`."""

    def emit(builder: Builder, values: Sequence[Value], element: Element) -> Value:
        left, right = (narrow(builder, value, element) for value in values)
        compare = builder.icmp_signed if signed else builder.icmp_unsigned
        return compare(predicate, left, right)

    return emit


def identity(builder: Builder, values: Sequence[Value], element: Element) -> Value:
    """Return the operand."""
    return values[0]


def high_half(signed: bool) -> Emit:
    """Return an emitter of the upper half of a full product."""

    def emit(builder: Builder, left: Value, right: Value) -> Value:
        width = left.type.width
        double = ir.IntType(2 * width)
        extend = builder.sext if signed else builder.zext
        product = builder.mul(extend(left, double), extend(right, double))
        return builder.trunc(builder.lshr(product, constant(double, width)), left.type)

    return integer(emit)

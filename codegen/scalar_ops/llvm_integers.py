"""Integers of any width in LLVM IR: computed in their true width, held in wider containers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from ...runtime.abi.elements import Element
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


def unsigned_division(method: str) -> Emit:
    """Return an emitter of `udiv` or `urem`."""

    def emit(builder: Builder, left: Value, right: Value) -> Value:
        return getattr(builder, method)(left, safe_divisor(builder, right))

    return integer(emit)


def signed_parts(builder: Builder, left: Value, right: Value) -> tuple[Value, Value]:
    """Emit quotient and remainder, rounded to zero; `min / -1` wraps instead of trapping."""
    right = safe_divisor(builder, right)
    minus_one = builder.icmp_signed("==", right, constant(right.type, -1))
    divisor = builder.select(minus_one, constant(right.type, 1), right)
    quotient = builder.sdiv(left, divisor)
    negated = builder.sub(constant(left.type, 0), left)
    return builder.select(minus_one, negated, quotient), builder.srem(left, divisor)


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
    inexact = builder.icmp_unsigned("!=", builder.urem(left, right), constant(left.type, 0))
    whole = builder.udiv(left, right)
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

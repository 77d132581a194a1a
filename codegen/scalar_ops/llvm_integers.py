"""Integers of any width in LLVM IR: computed in their true width, kept in their containers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from ...runtime.abi.elements import Element
from .llvm_values import Builder, Emit, Value, constant, intrinsic, narrow, widen


def integer(emit: Callable[..., Value]) -> Emit:
    """An operation on integers of the true width."""

    def wrapped(builder: Builder, values: Sequence[Value], element: Element) -> Value:
        narrowed = [narrow(builder, value, element) for value in values]
        return widen(builder, emit(builder, *narrowed), element)

    return wrapped


def method(name: str) -> Emit:
    """The llvmlite builder's instruction of a name."""

    def emit(builder: Builder, *values: Value) -> Value:
        return getattr(builder, name)(*values)

    return integer(emit)


def llvm_integer(name: str, *extra: Value) -> Emit:
    """An intrinsic of LLVM that takes and gives integers of one type; `extra` are its flags."""

    def emit(builder: Builder, *values: Value) -> Value:
        return intrinsic(builder, name, *values, *extra)

    return integer(emit)


def safe_divisor(builder: Builder, divisor: Value) -> Value:
    """1 in place of 0: division by zero has no meaning in MLIR, but must not stop the process."""
    zero = constant(divisor.type, 0)
    is_zero = builder.icmp_unsigned("==", divisor, zero)
    return builder.select(is_zero, constant(divisor.type, 1), divisor)


def unsigned_division(method: str) -> Emit:
    """`udiv` or `urem`."""

    def emit(builder: Builder, left: Value, right: Value) -> Value:
        return getattr(builder, method)(left, safe_divisor(builder, right))

    return integer(emit)


def signed_parts(builder: Builder, left: Value, right: Value) -> tuple[Value, Value]:
    """Quotient and remainder, rounded to zero, where `min / -1` wraps rather than traps."""
    right = safe_divisor(builder, right)
    minus_one = builder.icmp_signed("==", right, constant(right.type, -1))
    divisor = builder.select(minus_one, constant(right.type, 1), right)
    quotient = builder.sdiv(left, divisor)
    negated = builder.sub(constant(left.type, 0), left)
    return builder.select(minus_one, negated, quotient), builder.srem(left, divisor)


def quotient(builder: Builder, left: Value, right: Value) -> Value:
    """The quotient rounded to zero."""
    return signed_parts(builder, left, right)[0]


def remainder(builder: Builder, left: Value, right: Value) -> Value:
    """What the quotient rounded to zero leaves."""
    return signed_parts(builder, left, right)[1]


def floor_division(builder: Builder, left: Value, right: Value) -> Value:
    """The quotient rounded down."""
    whole, is_due = _inexact_quotient(builder, left, right, "<")
    return builder.select(is_due, builder.sub(whole, constant(left.type, 1)), whole)


def ceiling_division(builder: Builder, left: Value, right: Value) -> Value:
    """The quotient rounded up."""
    whole, is_due = _inexact_quotient(builder, left, right, ">=")
    return builder.select(is_due, builder.add(whole, constant(left.type, 1)), whole)


def _inexact_quotient(
    builder: Builder, left: Value, right: Value, sign: str
) -> tuple[Value, Value]:
    """The quotient rounded to zero, and whether it leaves a rest and has a sign: `< 0`, `>= 0`."""
    whole, rest = signed_parts(builder, left, right)
    zero = constant(left.type, 0)
    inexact = builder.icmp_signed("!=", rest, zero)
    return whole, builder.and_(inexact, builder.icmp_signed(sign, builder.xor(rest, right), zero))


def unsigned_ceiling_division(builder: Builder, left: Value, right: Value) -> Value:
    """The quotient of integers without sign, rounded up."""
    right = safe_divisor(builder, right)
    inexact = builder.icmp_unsigned("!=", builder.urem(left, right), constant(left.type, 0))
    whole = builder.udiv(left, right)
    return builder.select(inexact, builder.add(whole, constant(left.type, 1)), whole)


def floor_remainder(builder: Builder, left: Value, right: Value) -> Value:
    """What the quotient rounded down leaves: it has the divisor's sign."""
    return builder.sub(left, builder.mul(floor_division(builder, left, right), right))


def shift(method: str) -> Emit:
    """A shift; by the width or more it gives what shifting bit by bit would."""

    def emit(builder: Builder, value: Value, amount: Value) -> Value:
        last = constant(value.type, value.type.width - 1)
        beyond = builder.icmp_unsigned(">", amount, last)
        shifted = getattr(builder, method)(value, builder.select(beyond, last, amount))
        if method == "ashr":
            return shifted
        return builder.select(beyond, constant(value.type, 0), shifted)

    return integer(emit)


def integer_comparison(predicate: str, signed: bool) -> Emit:
    """A comparison by LLVM's sign for it, `<` and the like."""

    def emit(builder: Builder, values: Sequence[Value], element: Element) -> Value:
        left, right = (narrow(builder, value, element) for value in values)
        compare = builder.icmp_signed if signed else builder.icmp_unsigned
        return compare(predicate, left, right)

    return emit


def select(builder: Builder, values: Sequence[Value], element: Element) -> Value:
    """The second operand where the first is true, else the third."""
    return builder.select(*values)


def identity(builder: Builder, values: Sequence[Value], element: Element) -> Value:
    """The operand itself."""
    return values[0]


def high_half(signed: bool) -> Emit:
    """The upper half of a full product."""

    def emit(builder: Builder, left: Value, right: Value) -> Value:
        width = left.type.width
        double = ir.IntType(2 * width)
        extend = builder.sext if signed else builder.zext
        product = builder.mul(extend(left, double), extend(right, double))
        return builder.trunc(builder.lshr(product, constant(double, width)), left.type)

    return integer(emit)

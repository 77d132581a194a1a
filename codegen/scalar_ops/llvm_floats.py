"""Floats in LLVM IR, and conversions; each result is rounded to its element's format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_

from llvmlite import ir

from ...runtime.abi.elements import Element
from ...runtime.abi.native_code import call_symbol
from .llvm_values import (
    Builder,
    Compute,
    Emit,
    Value,
    as_operand,
    float_type,
    from_storage,
    intrinsic,
    narrow,
    round_double_to_odd,
    round_to_element,
    to_storage,
    widen,
)


def rounded(emit: Callable[..., Value]) -> Emit:
    """Return an emitter that rounds the result of an operation to the element's format."""

    def wrapped(builder: Builder, values: Sequence[Value], element: Element) -> Value:
        return round_to_element(builder, emit(builder, *map(as_operand, values)), element)

    return wrapped


def float_method(name: str, flags: tuple[str, ...] = ()) -> Emit:
    """Return an emitter of an LLVM instruction by its `IRBuilder` method, with fast-math flags."""

    def emit(builder: Builder, *values: Value) -> Value:
        return getattr(builder, name)(*values, flags=flags)

    return rounded(emit)


def llvm_float(name: str) -> Emit:
    """Return an emitter of an LLVM intrinsic on floats of one type."""

    def emit(builder: Builder, *values: Value) -> Value:
        return intrinsic(builder, f"llvm.{name}", *values)

    return rounded(emit)


def llvm_choice(name: str) -> Emit:
    """An intrinsic of LLVM that gives one of its operands, or NaN: there is nothing to round, and a
    reduction by it fills vectors."""

    def emit(builder: Builder, values: Sequence[Value], element: Element) -> Value:
        operands = [*map(as_operand, values)]
        if not any(map(is_, operands, values)):
            # LLVM would choose one of converted `f16` before their conversion, one by one.
            operands[0] = values[0]
        return intrinsic(builder, f"llvm.{name}", *operands)

    return emit


def sign_operation(emit: Compute) -> Emit:
    """Return an emitter of an operation that changes the sign, and neither rounds nor quiets.

    Some floats of at most 8 bits have no sign, or no negative zero: these are rounded.
    """

    def wrapped(builder: Builder, values: Sequence[Value], element: Element) -> Value:
        value = emit(builder, *values)
        return round_to_element(builder, value, element) if element.is_small_float else value

    return wrapped


def copy_sign(builder: Builder, value: Value, sign: Value) -> Value:
    """Emit a value with the sign of another."""
    return intrinsic(builder, "llvm.copysign", value, sign)


def absolute(builder: Builder, value: Value) -> Value:
    """Emit a value without its sign."""
    return intrinsic(builder, "llvm.fabs", value)


def negative(builder: Builder, value: Value) -> Value:
    """Emit a value with the other sign."""
    return builder.fneg(value)


def libm(builder: Builder, name: str, values: Sequence[Value]) -> Value:
    """Call a function of the C mathematics library, which every process has loaded."""
    kind = values[0].type
    symbol = name if isinstance(kind, ir.DoubleType) else f"{name}f"
    return call_symbol(builder, symbol, kind, *values)


def libm_function(name: str) -> Compute:
    """Return a function that calls the C library."""

    def compute(builder: Builder, *values: Value) -> Value:
        return libm(builder, name, values)

    return compute


def libm_float(name: str) -> Emit:
    """Return an emitter of a function of the C library, rounded to the element's format."""
    return rounded(libm_function(name))


def reciprocal_root(builder: Builder, value: Value) -> Value:
    """Emit the reciprocal of the square root."""
    return builder.fdiv(ir.Constant(value.type, 1.0), intrinsic(builder, "llvm.sqrt", value))


def clamp(builder: Builder, value: Value, low: Value, high: Value) -> Value:
    """Emit the value, limited to `low` and `high`; NaN if any of the three is NaN."""
    return intrinsic(builder, "llvm.minimum", intrinsic(builder, "llvm.maximum", value, low), high)


def float_comparison(predicate: str, ordered: bool) -> Emit:
    """Return an emitter of a comparison by LLVM's operator; an ordered one is false for NaN."""

    def emit(builder: Builder, values: Sequence[Value], element: Element) -> Value:
        compare = builder.fcmp_ordered if ordered else builder.fcmp_unordered
        return compare(predicate, *map(as_operand, values))

    return emit


def is_finite(builder: Builder, values: Sequence[Value], element: Element) -> Value:
    """Emit whether a float is neither infinite nor NaN."""
    value = as_operand(values[0])
    difference = builder.fsub(value, value)
    return builder.fcmp_ordered("ord", difference, difference)


def is_infinite(builder: Builder, values: Sequence[Value], element: Element) -> Value:
    """Emit whether a float is infinite."""
    infinity = ir.Constant(values[0].type, float("inf"))
    return builder.fcmp_ordered("==", intrinsic(builder, "llvm.fabs", values[0]), infinity)


def is_nan(builder: Builder, values: Sequence[Value], element: Element) -> Value:
    """Emit whether a float is NaN."""
    return builder.fcmp_unordered("uno", values[0], values[0])


def float_to_float(
    builder: Builder, values: Sequence[Value], source: Element, target: Element
) -> Value:
    """Convert a float to another format, rounded once."""
    value = values[0]
    if target.width == 64:
        return value if source.width == 64 else builder.fpext(value, ir.DoubleType())
    if source.width == 64:
        if target.width == 32:
            return builder.fptrunc(value, ir.FloatType())
        value = round_double_to_odd(builder, value)
    return round_to_element(builder, value, target)


def integer_to_float(signed: bool) -> Emit:
    """Return an emitter that converts an integer to the nearest float, rounded once."""

    def emit(builder: Builder, values: Sequence[Value], source: Element, target: Element) -> Value:
        value = narrow(builder, values[0], source)
        convert = builder.sitofp if signed else builder.uitofp
        if target.is_narrow_float and source.width > 24:
            # Two roundings may differ from one, so that the first one, from double, rounds to odd.
            exact = convert(value, ir.DoubleType())
            return round_to_element(builder, round_double_to_odd(builder, exact), target)
        return round_to_element(builder, convert(value, float_type(target)), target)

    return emit


def float_to_integer(signed: bool) -> Emit:
    """Return an emitter that converts a float to an integer, rounded to zero.

    Floats out of range become the nearest integer of the type, NaN becomes 0. LLVM's
    `llvm.fptosi.sat` does the same, but is not vectorised.
    """

    def emit(builder: Builder, values: Sequence[Value], source: Element, target: Element) -> Value:
        value, width = values[0], target.width
        bits = width - signed
        least, most = -(1 << bits) if signed else 0, (1 << bits) - 1
        precision = 53 if isinstance(value.type, ir.DoubleType) else 24
        # The least integer is a float; the largest one is a float only if it has few enough bits.
        top = (1 << bits) - (1 << max(0, bits - precision))
        low, high = (ir.Constant(value.type, float(limit)) for limit in (least, top))
        inside = builder.select(builder.fcmp_ordered(">", value, low), value, low)
        inside = builder.select(builder.fcmp_ordered("<", inside, high), inside, high)
        if signed:
            is_number = builder.fcmp_ordered("ord", value, value)
            inside = builder.select(is_number, inside, ir.Constant(value.type, 0.0))
        # CPUs convert to 32 bits and more, and best to signed integers.
        kind = ir.IntType(max(width, 32))
        is_positive = not signed and width >= 32
        convert = builder.fptoui if is_positive else builder.fptosi
        number = convert(inside, kind)
        if top != most:
            limit = ir.Constant(value.type, float(most + 1))
            too_large = builder.fcmp_ordered(">=", value, limit)
            number = builder.select(too_large, ir.Constant(kind, most), number)
        if kind.width > width:
            number = builder.trunc(number, ir.IntType(width))
        return widen(builder, number, target)

    return emit


def integer_to_integer(signed: bool) -> Emit:
    """Return an emitter that truncates or extends an integer, by sign or by zeros."""

    def emit(builder: Builder, values: Sequence[Value], source: Element, target: Element) -> Value:
        value = narrow(builder, values[0], source)
        if target.width < source.width:
            value = builder.trunc(value, ir.IntType(target.width))
        elif target.width > source.width:
            extend = builder.sext if signed else builder.zext
            value = extend(value, ir.IntType(target.width))
        return widen(builder, value, target)

    return emit


def bitcast(builder: Builder, values: Sequence[Value], source: Element, target: Element) -> Value:
    """Reinterpret bits as another type of the same width."""
    value = values[0]
    if source.is_float:
        stored = to_storage(builder, value, source)
        bits = builder.bitcast(stored, ir.IntType(source.width)) if source.width >= 32 else stored
        bits = builder.trunc(bits, ir.IntType(source.width)) if source.width < 8 else bits
    else:
        bits = narrow(builder, value, source)
    if target.is_float:
        if target.width >= 32:
            return builder.bitcast(bits, float_type(target))
        bits = builder.zext(bits, ir.IntType(8)) if target.width < 8 else bits
        return from_storage(builder, bits, target)
    return widen(builder, bits, target)

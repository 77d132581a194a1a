"""Elements in LLVM IR: widths, storage, and rounding to narrow floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ...runtime.abi.elements import BF16, Element

Value = Any
Builder = Any
Compute = Callable[..., Value]
"""`(builder, *operands) -> value`, for operands in registers of one type."""

Emit = Callable[..., Value]
"""`(builder, operands, *elements) -> value`."""

_I16 = ir.IntType(16)
_I32 = ir.IntType(32)


def constant(bits: ir.IntType, value: int) -> Value:
    """An integer constant of an LLVM type."""
    return ir.Constant(bits, value)


def float_type(element: Element) -> Any:
    """The LLVM type of the register of a float."""
    return ir.DoubleType() if element.width == 64 else ir.FloatType()


def register_type(element: Element) -> Any:
    """The LLVM type of a register that holds an element."""
    if element.is_complex:
        return ir.VectorType(float_type(element.part), 2)
    return float_type(element) if element.is_float else ir.IntType(element.container_width)


def narrow(builder: Builder, value: Value, element: Element) -> Value:
    """From the container to the true width."""
    if element.container_width == element.width:
        return value
    return builder.trunc(value, ir.IntType(element.width))


def widen(builder: Builder, value: Value, element: Element) -> Value:
    """From the true width to the container, by sign or, for unsigned types, with zeros."""
    if element.container_width == element.width:
        return value
    extend = builder.zext if element.is_unsigned else builder.sext
    return extend(value, ir.IntType(element.container_width))


def from_storage(builder: Builder, stored: Value, element: Element) -> Value:
    """The register of an element that was loaded."""
    if element.is_narrow_float:
        if element is BF16:
            return builder.bitcast(
                builder.shl(builder.zext(stored, _I32), constant(_I32, 16)), ir.FloatType()
            )
        return _half_from_storage(builder, stored)
    if element.container_width == 1:
        return builder.icmp_unsigned("!=", stored, constant(ir.IntType(8), 0))
    return stored


def to_storage(builder: Builder, held: Value, element: Element) -> Value:
    """What to store for a register, which holds a value of the element's type."""
    if element is BF16:
        bits = builder.bitcast(held, _I32)
        return builder.trunc(builder.lshr(bits, constant(_I32, 16)), _I16)
    if element.is_narrow_float:
        return _half_to_storage(builder, held)
    if element.container_width == 1:
        return builder.zext(held, ir.IntType(8))
    return held


def _half_from_storage(builder: Builder, stored: Value) -> Value:
    """An `f16` as an `f32`. What is no number keeps its bits, which `fpext` would make quiet."""
    bits = builder.zext(stored, _I32)
    sign = builder.shl(builder.and_(bits, constant(_I32, 0x8000)), constant(_I32, 16))
    payload = builder.shl(builder.and_(bits, constant(_I32, 0x3FF)), constant(_I32, 13))
    kept = builder.or_(builder.or_(sign, payload), constant(_I32, 0x7F800000))
    magnitude = builder.and_(bits, constant(_I32, 0x7FFF))
    is_nan = builder.icmp_unsigned(">", magnitude, constant(_I32, 0x7C00))
    number = builder.fpext(builder.bitcast(stored, ir.HalfType()), ir.FloatType())
    return builder.select(is_nan, builder.bitcast(kept, ir.FloatType()), number)


def _half_to_storage(builder: Builder, held: Value) -> Value:
    """The bits of an `f16` that is held as an `f32`, of what is no number, too."""
    bits = builder.bitcast(held, _I32)
    sign = builder.and_(builder.lshr(bits, constant(_I32, 16)), constant(_I32, 0x8000))
    payload = builder.and_(builder.lshr(bits, constant(_I32, 13)), constant(_I32, 0x3FF))
    kept = builder.or_(builder.or_(sign, payload), constant(_I32, 0x7C00))
    number = builder.bitcast(builder.fptrunc(held, ir.HalfType()), _I16)
    is_nan = builder.fcmp_unordered("uno", held, held)
    return builder.select(is_nan, builder.trunc(kept, _I16), number)


def round_to_element(builder: Builder, value: Value, element: Element) -> Value:
    """An `f32` rounded to the nearest value of a narrow float, ties to even; `f32` again."""
    if not element.is_narrow_float:
        return value
    if element is not BF16:
        return builder.fpext(builder.fptrunc(value, ir.HalfType()), ir.FloatType())
    bits = builder.bitcast(value, _I32)
    odd = builder.and_(builder.lshr(bits, constant(_I32, 16)), constant(_I32, 1))
    rounded = builder.add(bits, builder.add(odd, constant(_I32, 0x7FFF)))
    quiet = builder.or_(bits, constant(_I32, 0x400000))
    is_nan = builder.fcmp_unordered("uno", value, value)
    kept = builder.and_(builder.select(is_nan, quiet, rounded), constant(_I32, 0xFFFF0000))
    return builder.bitcast(kept, ir.FloatType())


def round_double_to_odd(builder: Builder, value: Value) -> Value:
    """An `f64` as an `f32` whose last bit remembers what was lost.

    Rounding that to a format of at most 22 bits of precision is rounding the `f64` once
    (Boldo and Melquiond, "When double rounding is odd", 2005).
    """
    nearest = builder.fptrunc(value, ir.FloatType())
    back = builder.fpext(nearest, ir.DoubleType())
    bits = builder.bitcast(nearest, _I32)
    one = constant(_I32, 1)
    exact = builder.or_(
        builder.fcmp_ordered("==", back, value), builder.fcmp_unordered("uno", value, value)
    )
    is_odd = builder.icmp_unsigned("!=", builder.and_(bits, one), constant(_I32, 0))
    magnitude = builder.module.declare_intrinsic("llvm.fabs", [ir.DoubleType()])
    too_far = builder.fcmp_ordered(
        ">", builder.call(magnitude, [back]), builder.call(magnitude, [value])
    )
    # An even neighbour was chosen: the odd one lies on the other side of the true value.
    other = builder.select(too_far, builder.sub(bits, one), builder.add(bits, one))
    keep = builder.or_(exact, is_odd)
    return builder.bitcast(builder.select(keep, bits, other), ir.FloatType())

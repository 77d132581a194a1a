"""Elements in LLVM IR: register and storage types, and rounding to narrow floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from ...runtime.abi.elements import BF16, F16, Element
from .llvm_narrow_floats import (
    bits_of,
    bits_of_nan,
    constant,
    float_to_narrow,
    narrow_to_float,
    with_bits,
)

Value = Any
Builder = Any
Compute = Callable[..., Value]
"""`(builder, *operands) -> value`, for operands in registers of one type."""

Emit = Callable[..., Value]
"""`(builder, operands, *elements) -> value`."""

_I16, _I32 = (ir.IntType(width) for width in (16, 32))


def constant_table(
    builder: Builder, name: str, kind: ir.ArrayType, entries: Callable[[], list[Any]]
) -> Value:
    """Return a table of constants, defined once per module, at a multiple of 64 bytes."""
    table: Any = builder.module.globals.get(name)
    if table is None:
        table = ir.GlobalVariable(builder.module, kind, name)
        table.linkage, table.global_constant, table.align = "internal", True, 64
        table.initializer = ir.Constant(kind, entries())
    return table


def intrinsic(builder: Builder, name: str, *values: Value) -> Value:
    """Call an overloaded LLVM intrinsic whose result has the type of its first operand.

    `name` has no type suffix.
    """
    kind = values[0].type
    signature = ir.FunctionType(kind, [value.type for value in values])
    return builder.call(builder.module.declare_intrinsic(name, [kind], signature), values)


def float_type(element: Element) -> Any:
    """Return the LLVM type of a float's register."""
    return ir.DoubleType() if element.width == 64 else ir.FloatType()


def register_type(element: Element) -> Any:
    """Return the LLVM type of a register that holds an element."""
    if element.is_complex:
        return ir.VectorType(float_type(element.part), 2)
    return float_type(element) if element.is_float else ir.IntType(element.container_width)


def narrow(builder: Builder, value: Value, element: Element) -> Value:
    """Truncate an integer from its container to its true width."""
    if element.container_width == element.width:
        return value
    return builder.trunc(value, ir.IntType(element.width))


def widen(builder: Builder, value: Value, element: Element) -> Value:
    """Extend an integer from its true width to its container, by sign or, if unsigned, by zeros."""
    if element.container_width == element.width:
        return value
    extend = builder.zext if element.is_unsigned else builder.sext
    return extend(value, ir.IntType(element.container_width))


def from_storage(builder: Builder, stored: Value, element: Element) -> Value:
    """Convert a loaded element to its register."""
    if element.is_narrow_float:
        if element is BF16:
            return builder.bitcast(
                builder.shl(builder.zext(stored, _I32), constant(_I32, 16)), ir.FloatType()
            )
        if element is F16:
            return _half_from_storage(builder, stored)
        return narrow_to_float(builder, stored, element)
    if element.container_width == 1:
        return builder.icmp_unsigned("!=", stored, constant(ir.IntType(8), 0))
    return stored


def to_storage(builder: Builder, register: Value, element: Element) -> Value:
    """Convert a register, which holds a value of the element's type, to the bits to store."""
    if element is BF16:
        bits = builder.bitcast(register, _I32)
        return builder.trunc(builder.lshr(bits, constant(_I32, 16)), _I16)
    if element.is_narrow_float:
        return _narrow_to_storage(builder, register, element)
    if element.container_width == 1:
        return builder.zext(register, ir.IntType(8))
    return register


def _half_from_storage(builder: Builder, stored: Value) -> Value:
    """Convert the bits of an `f16` to `f32`; a NaN keeps its bits.

    `fpext` would make a signalling NaN quiet.
    """
    bits = builder.zext(stored, _I32)
    sign = builder.shl(builder.and_(bits, constant(_I32, 0x8000)), constant(_I32, 16))
    payload = builder.shl(builder.and_(bits, constant(_I32, 0x3FF)), constant(_I32, 13))
    kept = builder.or_(builder.or_(sign, payload), constant(_I32, 0x7F800000))
    magnitude = builder.and_(bits, constant(_I32, 0x7FFF))
    is_nan = builder.icmp_unsigned(">", magnitude, constant(_I32, 0x7C00))
    number = narrow_to_float(builder, stored, F16)
    found = builder.select(is_nan, builder.bitcast(kept, ir.FloatType()), number)
    found.converted = number
    return with_bits(found, stored)


def _narrow_to_storage(builder: Builder, register: Value, element: Element) -> Value:
    """Return the bits of an `f16` or a smaller float that is held as `f32`; NaNs keep theirs."""
    if (stored := _stored_bits(builder, register, element)) is not None:
        return stored
    number = float_to_narrow(builder, register, element)
    kept = bits_of_nan(builder, register, element)
    if kept is None:
        return number
    is_nan = builder.fcmp_unordered("uno", register, register)
    return builder.select(is_nan, builder.trunc(kept, number.type), number)


def _stored_bits(builder: Builder, value: Any, element: Element) -> Value | None:
    """Return the bits that a value has in memory, if instructions only chose it or set its sign.

    Vectors of 16 bits have twice as many lanes as those that it would be converted in.
    """
    if isinstance(value, ir.Constant):
        held: Any = value
        with np.errstate(over="ignore"):
            rounded = np.float32(held.constant).astype(element.dtype)
        bits = np.dtype(f"u{element.storage_bytes}")
        return constant(ir.IntType(8 * element.storage_bytes), int(rounded.view(bits)))
    if (stored := bits_of(value)) is not None:
        return stored
    name, operands = getattr(value, "opname", ""), list[Any](getattr(value, "operands", ()))
    if name == "call":
        name = operands.pop(0).name
    emit = _ON_BITS.get(name) if element is F16 or name == "select" else None
    if emit is None:
        return None
    conditions = [operands.pop(0)] if name == "select" else []
    found = [_stored_bits(builder, each, element) for each in operands]
    return None if None in found else emit(builder, *conditions, *found)


_SIGN, _MAGNITUDE = constant(_I16, 0x8000), constant(_I16, 0x7FFF)


def _select_bits(builder: Builder, *choice: Value) -> Value:
    return builder.select(*choice)


def _negate_bits(builder: Builder, bits: Value) -> Value:
    return builder.xor(bits, _SIGN)


def _drop_sign(builder: Builder, bits: Value) -> Value:
    return builder.and_(bits, _MAGNITUDE)


def _copy_sign(builder: Builder, bits: Value, sign: Value) -> Value:
    return builder.or_(builder.and_(bits, _MAGNITUDE), builder.and_(sign, _SIGN))


_ON_BITS: dict[str, Emit] = {
    "select": _select_bits,
    "fneg": _negate_bits,
    "llvm.fabs.f32": _drop_sign,
    "llvm.copysign.f32": _copy_sign,
}
"""Instructions on `f32` that choose a value or set its sign, on the bits of `f16`."""


def as_operand(value: Any) -> Value:
    """Return the operand of an operation that makes a NaN quiet, or does not return its operand.

    It is a loaded `f16` as the CPU converts it (`_half_from_storage`).
    """
    return getattr(value, "converted", value)


def round_to_element(builder: Builder, value: Value, element: Element) -> Value:
    """Round an `f32` to the nearest value of a narrow float, ties to even; return it as `f32`."""
    if not element.is_narrow_float:
        return value
    if element is not BF16:
        return narrow_to_float(builder, float_to_narrow(builder, value, element), element)
    bits = builder.bitcast(value, _I32)
    odd = builder.and_(builder.lshr(bits, constant(_I32, 16)), constant(_I32, 1))
    rounded = builder.add(bits, builder.add(odd, constant(_I32, 0x7FFF)))
    quiet = builder.or_(bits, constant(_I32, 0x400000))
    is_nan = builder.fcmp_unordered("uno", value, value)
    kept = builder.and_(builder.select(is_nan, quiet, rounded), constant(_I32, 0xFFFF0000))
    return builder.bitcast(kept, ir.FloatType())


def round_double_to_odd(builder: Builder, value: Value) -> Value:
    """Round an `f64` to `f32` "to odd": the last bit is set if bits were lost.

    Rounding the result to a format of at most 22 bits of precision equals rounding the `f64` once
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
    sizes = (intrinsic(builder, "llvm.fabs", each) for each in (back, value))
    too_far = builder.fcmp_ordered(">", *sizes)
    # An even neighbour was chosen: the odd one is on the other side of the exact value.
    other = builder.select(too_far, builder.sub(bits, one), builder.add(bits, one))
    keep = builder.or_(exact, is_odd)
    return builder.bitcast(builder.select(keep, bits, other), ir.FloatType())

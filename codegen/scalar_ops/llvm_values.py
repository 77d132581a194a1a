"""Elements in LLVM IR: register and storage types, and rounding to narrow floats.

Floats of at most 8 bits have tables: of their values, and of how `bf16` rounds to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from llvmlite import ir

from ...runtime.abi.elements import BF16, F16, Element
from ...runtime.abi.native_code import cpu_features

Value = Any
Builder = Any
Compute = Callable[..., Value]
"""`(builder, *operands) -> value`, for operands in registers of one type."""

Emit = Callable[..., Value]
"""`(builder, operands, *elements) -> value`."""

_I8, _I16, _I32 = (ir.IntType(width) for width in (8, 16, 32))


def constant(bits: ir.IntType, value: int) -> Value:
    """Return an integer constant of an LLVM type."""
    return ir.Constant(bits, value)


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
        return small_to_float(builder, stored, element)
    if element.container_width == 1:
        return builder.icmp_unsigned("!=", stored, constant(ir.IntType(8), 0))
    return stored


def to_storage(builder: Builder, register: Value, element: Element) -> Value:
    """Convert a register, which holds a value of the element's type, to the bits to store."""
    if element is BF16:
        bits = builder.bitcast(register, _I32)
        return builder.trunc(builder.lshr(bits, constant(_I32, 16)), _I16)
    if element is F16:
        return _half_to_storage(builder, register)
    if element.is_narrow_float:
        return float_to_small(builder, register, element)
    if element.container_width == 1:
        return builder.zext(register, ir.IntType(8))
    return register


def _like(kind: Any, element: Any) -> Any:
    """Return a vector of `element` with the lanes of `kind`, or `element` if `kind` is a scalar."""
    if not isinstance(kind, ir.VectorType):
        return element
    lanes: Any = kind
    return ir.VectorType(element, lanes.count)


def _splat(kind: Any, value: float) -> Value:
    """Return a constant with one value in all lanes of a type."""
    vector: Any = kind
    return ir.Constant(kind, [value] * vector.count if isinstance(kind, ir.VectorType) else value)


def has_half_conversions() -> bool:
    """Return whether the CPU converts `f16`.

    Otherwise LLVM would call a function that is not linked.
    """
    return cpu_features().get("f16c", True)


def half_to_float(builder: Builder, stored: Value) -> Value:
    """Convert the bits of one or several `f16` to `f32`."""
    floats, halves = (_like(stored.type, each) for each in (ir.FloatType(), ir.HalfType()))
    if has_half_conversions():
        return builder.fpext(builder.bitcast(stored, halves), floats)
    words = _like(stored.type, _I32)
    bits = builder.zext(stored, words)
    magnitude = builder.shl(builder.and_(bits, _splat(words, 0x7FFF)), _splat(words, 13))
    # The exponent is 112 too small; the product also normalises denormal numbers.
    number = builder.fmul(builder.bitcast(magnitude, floats), _splat(floats, 2.0**112))
    is_finite = builder.icmp_unsigned("<", magnitude, _splat(words, 0x7C00 << 13))
    special = builder.or_(magnitude, _splat(words, 0x7F800000))
    found = builder.select(is_finite, builder.bitcast(number, words), special)
    sign = builder.shl(builder.and_(bits, _splat(words, 0x8000)), _splat(words, 16))
    return builder.bitcast(builder.or_(found, sign), floats)


def float_to_half(builder: Builder, value: Value) -> Value:
    """Round an `f32` to `f16`, ties to even; return its bits."""
    if has_half_conversions():
        return builder.bitcast(builder.fptrunc(value, ir.HalfType()), _I16)
    bits = builder.bitcast(value, _I32)
    magnitude = builder.and_(bits, constant(_I32, 0x7FFFFFFF))
    odd = builder.and_(builder.lshr(magnitude, constant(_I32, 13)), constant(_I32, 1))
    # The exponent decreases by 112; adding half of the cut-off bits rounds.
    moved = builder.add(builder.add(magnitude, constant(_I32, 0xC8000FFF)), odd)
    normal = builder.lshr(moved, constant(_I32, 13))
    # The sum with 1/2 has the bits of a denormal number at its end, rounded.
    half = ir.Constant(ir.FloatType(), 0.5)
    sum_bits = builder.bitcast(builder.fadd(builder.bitcast(magnitude, ir.FloatType()), half), _I32)
    small = builder.sub(sum_bits, constant(_I32, 0x3F000000))
    is_small = builder.icmp_unsigned("<", magnitude, constant(_I32, 0x38800000))
    is_large = builder.icmp_unsigned(">=", magnitude, constant(_I32, 0x47800000))
    is_nan = builder.icmp_unsigned(">", magnitude, constant(_I32, 0x7F800000))
    payload = builder.and_(builder.lshr(magnitude, constant(_I32, 13)), constant(_I32, 0x3FF))
    quiet = builder.or_(payload, constant(_I32, 0x7E00))
    found = builder.select(is_small, small, normal)
    found = builder.select(is_large, constant(_I32, 0x7C00), found)
    found = builder.select(is_nan, quiet, found)
    sign = builder.and_(builder.lshr(bits, constant(_I32, 16)), constant(_I32, 0x8000))
    return builder.trunc(builder.or_(found, sign), _I16)


_LOADED = "loaded_half"
"""The name of the register of an `f16`."""


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
    number = half_to_float(builder, stored)
    return builder.select(is_nan, builder.bitcast(kept, ir.FloatType()), number, name=_LOADED)


def _half_to_storage(builder: Builder, register: Value) -> Value:
    """Return the bits of an `f16` that is held as `f32`; a NaN keeps its payload."""
    if (stored := _bits_of_half(builder, register)) is not None:
        return stored
    bits = builder.bitcast(register, _I32)
    sign = builder.and_(builder.lshr(bits, constant(_I32, 16)), constant(_I32, 0x8000))
    payload = builder.and_(builder.lshr(bits, constant(_I32, 13)), constant(_I32, 0x3FF))
    kept = builder.or_(builder.or_(sign, payload), constant(_I32, 0x7C00))
    number = float_to_half(builder, register)
    is_nan = builder.fcmp_unordered("uno", register, register)
    return builder.select(is_nan, builder.trunc(kept, _I16), number)


def _bits_of_half(builder: Builder, value: Any) -> Value | None:
    """Return the bits of an `f16` that a value is, if instructions only chose it or set its sign.

    Vectors of 16 bits have twice as many lanes as those that it would be converted in.
    """
    if _is_loaded(value):
        is_nan, *_ = value.operands
        magnitude, _ = is_nan.operands
        return magnitude.operands[0].operands[0]
    if isinstance(value, ir.Constant):
        held: Any = value
        with np.errstate(over="ignore"):
            rounded = np.float32(held.constant).astype(np.float16)
        return constant(_I16, int(rounded.view(np.uint16)))
    name, operands = getattr(value, "opname", ""), list[Any](getattr(value, "operands", ()))
    if name == "fpext":
        is_half = operands[0].type == ir.HalfType()
        return builder.bitcast(operands[0], _I16) if is_half else None
    if name == "call":
        name = operands.pop(0).name
    emit = _ON_BITS.get(name)
    if emit is None:
        return None
    conditions = [operands.pop(0)] if name == "select" else []
    bits = [_bits_of_half(builder, each) for each in operands]
    return None if None in bits else emit(builder, *conditions, *bits)


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


def _is_loaded(value: Any) -> bool:
    return getattr(value, "name", "").startswith(_LOADED)


def as_operand(value: Any) -> Value:
    """Return the operand of an operation that makes a NaN quiet, or does not return its operand.

    It is a loaded `f16` as the CPU converts it (`_half_from_storage`).
    """
    return value.operands[2] if _is_loaded(value) else value


def round_to_element(builder: Builder, value: Value, element: Element) -> Value:
    """Round an `f32` to the nearest value of a narrow float, ties to even; return it as `f32`."""
    if not element.is_narrow_float:
        return value
    if element is F16:
        return half_to_float(builder, float_to_half(builder, value))
    if element is not BF16:
        return small_to_float(builder, float_to_small(builder, value, element), element)
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


def small_to_float(builder: Any, stored: Any, element: Element) -> Any:
    """Return the value of a stored element as `f32`."""
    values = np.arange(256, dtype=np.uint8).view(element.dtype).astype(np.float32)
    bits = _entry(builder, f"values_{element.name}", _I32, values.view(np.uint32), stored)
    return builder.bitcast(bits, ir.FloatType())


def float_to_small(builder: Any, value: Any, element: Element) -> Any:
    """Round an `f32` to the nearest element, ties to even; return it as it is stored.

    The `f32` is rounded to `bf16` "to odd" first: the last bit is set if bits were lost. `bf16` has
    so many more bits that both roundings together equal one.
    """
    numbers = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16).astype(np.float32)
    with np.errstate(all="ignore"):
        rounded = numbers.astype(element.dtype).view(np.uint8)
    bits = builder.bitcast(value, _I32)
    is_cut = builder.icmp_unsigned("!=", builder.trunc(bits, _I16), ir.Constant(_I16, 0))
    high = builder.trunc(builder.lshr(bits, ir.Constant(_I32, 16)), _I16)
    number = builder.or_(high, builder.zext(is_cut, _I16))
    return _entry(builder, f"rounded_{element.name}", _I8, rounded, number)


def _entry(builder: Any, name: str, kind: ir.IntType, entries: Any, number: Any) -> Any:
    """Load the entry with a number from a table, which a module has once."""
    array = ir.ArrayType(kind, entries.size)
    table = constant_table(builder, name, array, entries.tolist)
    index = builder.zext(number, _I32)
    return builder.load(builder.gep(table, [ir.Constant(_I32, 0), index]))

"""Conversions between `f32` and floats of at most 16 bits, from and to the bits that are stored.

Those to `f32` also take vectors. Formats of at most 8 bits are described by `SmallFloat`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import ml_dtypes
import numpy as np
from llvmlite import ir

from ...runtime.abi.elements import Element
from ...runtime.abi.native_code import cpu_features

Value = Any
Builder = Any

_I8, _I16, _I32 = (ir.IntType(width) for width in (8, 16, 32))
_MAGNITUDE, _INFINITY, _QUIET_NAN = 0x7FFFFFFF, 0x7F800000, 0x7FC00000
"""Bits of an `f32`."""


def constant(bits: ir.IntType, value: int) -> Value:
    """Return an integer constant of an LLVM type."""
    return ir.Constant(bits, value)


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
        return with_bits(builder.fpext(builder.bitcast(stored, halves), floats), stored)
    words = _like(stored.type, _I32)
    bits = builder.zext(stored, words)
    magnitude = builder.shl(builder.and_(bits, _splat(words, 0x7FFF)), _splat(words, 13))
    # The exponent is 112 too small; the product also normalises denormal numbers.
    number = builder.fmul(builder.bitcast(magnitude, floats), _splat(floats, 2.0**112))
    is_finite = builder.icmp_unsigned("<", magnitude, _splat(words, 0x7C00 << 13))
    special = builder.or_(magnitude, _splat(words, 0x7F800000))
    found = builder.select(is_finite, builder.bitcast(number, words), special)
    sign = builder.shl(builder.and_(bits, _splat(words, 0x8000)), _splat(words, 16))
    return with_bits(builder.bitcast(builder.or_(found, sign), floats), stored)


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


@dataclass(frozen=True, slots=True)
class SmallFloat:
    """A format of at most 8 bits, its numbers in the order of their bits.

    - `width`: the bits of a number, the highest one for its sign (`f8E8M0FNU` has none);
    - `mantissa`: the bits below the exponent;
    - `bias`: the exponent of 1;
    - `last`: the bits of the largest finite number;
    - `beyond`: the bits of what is larger: infinity, NaN, or again the largest number;
    - `nan`: the bits of a NaN, without its sign unless only this one is a NaN, or those that a NaN
      is rounded to;
    - `has_nan`: whether the format has a NaN;
    - `has_payloads`: whether NaNs differ as those of `f32` do;
    - `has_negative_zero`: whether 0 has a sign.
    """

    width: int
    mantissa: int
    bias: int
    last: int
    beyond: int
    nan: int
    has_nan: bool
    has_payloads: bool
    has_negative_zero: bool

    @property
    def sign(self) -> int:
        """The bit of the sign."""
        return 1 << (self.width - 1)

    @property
    def cut(self) -> int:
        """The bits that the mantissa of an `f32` has more."""
        return 23 - self.mantissa


@lru_cache(maxsize=16)
def small_float(element: Element) -> SmallFloat:
    """Return the format of an element, from what `ml_dtypes` knows of it."""
    found = cast(Any, ml_dtypes).finfo(element.dtype)
    rounded = np.array([found.max, np.inf, np.nan, -0.0], np.float32).astype(element.dtype)
    last, beyond, nan, zero = map(int, rounded.view(np.uint8))
    smallest = int(np.array([found.smallest_normal], element.dtype).view(np.uint8)[0])
    return SmallFloat(
        width=element.width,
        mantissa=found.nmant,
        bias=(smallest >> found.nmant) - found.minexp,
        last=last,
        beyond=beyond,
        nan=nan,
        has_nan=bool(np.isnan(rounded[2])),
        has_payloads=bool(np.isinf(rounded[1])),
        has_negative_zero=zero != 0,
    )


def small_to_float(builder: Builder, stored: Value, element: Element) -> Value:
    """Convert the bits of one or several elements of at most 8 bits to `f32`.

    A NaN with a payload keeps it.
    """
    form = small_float(element)
    words, floats = (_like(stored.type, each) for each in (_I32, ir.FloatType()))
    bits = builder.zext(stored, words)
    if element.name == _SCALE:
        power = builder.shl(bits, _splat(words, 23))
        # The least power is a denormal `f32`, and the largest exponent is that of a NaN.
        least = builder.icmp_unsigned("==", bits, _splat(words, 0))
        power = builder.select(least, _splat(words, 1 << 22), power)
        is_nan = builder.icmp_unsigned("==", bits, _splat(words, form.nan))
        found = builder.select(is_nan, _splat(words, _QUIET_NAN), power)
        return with_bits(builder.bitcast(found, floats), stored)
    magnitude = builder.and_(bits, _splat(words, form.sign - 1))
    moved = builder.shl(magnitude, _splat(words, form.cut))
    # The product also normalises denormal numbers.
    scale = _splat(floats, 2.0 ** (127 - form.bias))
    found = builder.bitcast(builder.fmul(builder.bitcast(moved, floats), scale), words)
    if form.has_payloads:
        is_finite = builder.icmp_unsigned("<=", magnitude, _splat(words, form.last))
        found = builder.select(is_finite, found, builder.or_(moved, _splat(words, _INFINITY)))
    elif form.has_nan:
        compared = magnitude if form.nan < form.sign else bits
        is_nan = builder.icmp_unsigned("==", compared, _splat(words, form.nan))
        found = builder.select(is_nan, _splat(words, _QUIET_NAN), found)
    sign = builder.and_(bits, _splat(words, form.sign))
    sign = builder.shl(sign, _splat(words, 32 - form.width))
    return with_bits(builder.bitcast(builder.or_(found, sign), floats), stored)


def float_to_small(builder: Builder, value: Value, element: Element) -> Value:
    """Round an `f32` to the nearest element of at most 8 bits, ties to even; return its bits."""
    form = small_float(element)
    bits = builder.bitcast(value, _I32)
    if element.name == _SCALE:
        return _float_to_scale(builder, bits, form)
    magnitude = builder.and_(bits, constant(_I32, _MAGNITUDE))
    odd = builder.and_(builder.lshr(magnitude, constant(_I32, form.cut)), constant(_I32, 1))
    # The bias changes; adding half of the cut-off bits rounds.
    offset = ((form.bias - 127) << 23) + (1 << (form.cut - 1)) - 1
    moved = builder.add(builder.add(magnitude, constant(_I32, offset & 0xFFFFFFFF)), odd)
    normal = builder.lshr(moved, constant(_I32, form.cut))
    # The sum with a power of two, whose last bit is the least number, has the bits of a denormal
    # number at its end, rounded.
    least = 2.0 ** (24 - form.bias - form.mantissa)
    power = ir.Constant(ir.FloatType(), least)
    total = builder.fadd(builder.bitcast(magnitude, ir.FloatType()), power)
    power_bits = int(np.float32(least).view(np.uint32))
    small = builder.sub(builder.bitcast(total, _I32), constant(_I32, power_bits))
    least_normal = (128 - form.bias) << 23
    is_small = builder.icmp_unsigned("<", magnitude, constant(_I32, least_normal))
    found = builder.select(is_small, small, normal)
    is_large = builder.icmp_unsigned(">", found, constant(_I32, form.last))
    found = builder.select(is_large, constant(_I32, form.beyond), found)
    sign = builder.lshr(bits, constant(_I32, 32 - form.width))
    sign = builder.and_(sign, constant(_I32, form.sign))
    is_nan = builder.icmp_unsigned(">", magnitude, constant(_I32, _INFINITY))
    if form.has_negative_zero:
        found = builder.select(is_nan, constant(_I32, form.nan), found)
        return builder.trunc(builder.xor(found, sign), _I8)
    is_special = builder.or_(is_nan, is_large)
    is_zero = builder.icmp_unsigned("==", found, constant(_I32, 0))
    found = builder.select(is_zero, found, builder.or_(found, sign))
    return builder.trunc(builder.select(is_special, constant(_I32, form.nan), found), _I8)


_SCALE = "f8E8M0FNU"
"""The format of powers of two, without a sign and a zero."""


def _float_to_scale(builder: Builder, bits: Value, form: SmallFloat) -> Value:
    """Round the bits of an `f32` to a power of two, ties up; NaN if it is not positive."""
    is_denormal = builder.icmp_unsigned("<", bits, constant(_I32, 1 << 23))
    half = builder.select(is_denormal, constant(_I32, (1 << 22) - 1), constant(_I32, 1 << 22))
    found = builder.lshr(builder.add(bits, half), constant(_I32, 23))
    # The bits of infinity, of NaNs and of negative numbers are larger.
    beyond = (form.nan << 23) - (1 << 22)
    above = builder.icmp_unsigned(">=", bits, constant(_I32, beyond))
    is_zero = builder.icmp_unsigned("==", bits, constant(_I32, 0))
    is_nan = builder.or_(above, is_zero)
    return builder.trunc(builder.select(is_nan, constant(_I32, form.nan), found), _I8)


def bits_of_nan(builder: Builder, value: Value, element: Element) -> Value | None:
    """Return the bits of a NaN that was converted to `f32`; `None` if its format has only one."""
    if element.is_small_float:
        form = small_float(element)
        if not form.has_payloads:
            return None
        width, cut = form.width, form.cut
    else:
        width, cut = 16, 13
    bits = builder.bitcast(value, _I32)
    magnitude = builder.lshr(bits, constant(_I32, cut))
    kept = builder.and_(magnitude, constant(_I32, (1 << (width - 1)) - 1))
    sign = builder.lshr(bits, constant(_I32, 32 - width))
    return builder.or_(kept, builder.and_(sign, constant(_I32, 1 << (width - 1))))


def with_bits(value: Value, stored: Value) -> Value:
    """Let an `f32` remember the bits of a narrow float that it was converted from."""
    value.stored_bits = stored
    return value


def bits_of(value: Value) -> Value | None:
    """Return the bits of a narrow float that an `f32` was converted from, if it remembers them."""
    return getattr(value, "stored_bits", None)

"""Conversions between `f32` and narrow floats, from and to the bits that are stored.

Those to `f32` also take vectors. `bf16`, which is half of an `f32`, is in `llvm_values.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import ml_dtypes
import numpy as np
from llvmlite import ir

from ...runtime.abi.elements import F16, Element
from ...runtime.abi.native_code import cpu_features

Value = Any
Builder = Any

_I32 = ir.IntType(32)
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


def _is_native(element: Element) -> bool:
    """Return whether the CPU converts an element. For `f16` LLVM would else call a function."""
    return element is F16 and cpu_features().get("f16c", True)


@dataclass(frozen=True, slots=True)
class NarrowFloat:
    """A format of at most 16 bits, its numbers in the order of their bits.

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
def narrow_float(element: Element) -> NarrowFloat:
    """Return the format of an element, from what `ml_dtypes` knows of it."""
    found = cast(Any, ml_dtypes).finfo(element.dtype)
    special = [found.max, np.inf, np.nan, -0.0, found.smallest_normal]
    rounded = np.array(special, np.float32).astype(element.dtype)
    last, beyond, nan, zero, smallest = map(int, rounded.view(f"u{element.storage_bytes}"))
    return NarrowFloat(
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


def narrow_to_float(builder: Builder, stored: Value, element: Element) -> Value:
    """Convert the bits of one or several elements to `f32`.

    A NaN with a payload keeps it; if the CPU converts `f16`, it makes a signalling NaN quiet.
    """
    form = narrow_float(element)
    words, floats = (_like(stored.type, each) for each in (_I32, ir.FloatType()))
    if _is_native(element):
        halves = builder.bitcast(stored, _like(stored.type, ir.HalfType()))
        return with_bits(builder.fpext(halves, floats), stored)
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


def float_to_narrow(builder: Builder, value: Value, element: Element) -> Value:
    """Round an `f32` to the nearest element, ties to even; return its bits."""
    form, kind = narrow_float(element), ir.IntType(8 * element.storage_bytes)
    if _is_native(element):
        return builder.bitcast(builder.fptrunc(value, ir.HalfType()), kind)
    bits = builder.bitcast(value, _I32)
    if element.name == _SCALE:
        return builder.trunc(_float_to_scale(builder, bits, form), kind)
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
        nan = constant(_I32, form.nan)
        if element is F16:
            # The CPU's conversion keeps payloads.
            payload = builder.lshr(magnitude, constant(_I32, form.cut))
            nan = builder.or_(nan, builder.and_(payload, constant(_I32, (1 << form.mantissa) - 1)))
        found = builder.select(is_nan, nan, found)
        return builder.trunc(builder.xor(found, sign), kind)
    is_special = builder.or_(is_nan, is_large)
    is_zero = builder.icmp_unsigned("==", found, constant(_I32, 0))
    found = builder.select(is_zero, found, builder.or_(found, sign))
    return builder.trunc(builder.select(is_special, constant(_I32, form.nan), found), kind)


_SCALE = "f8E8M0FNU"
"""The format of powers of two, without a sign and a zero."""


def _float_to_scale(builder: Builder, bits: Value, form: NarrowFloat) -> Value:
    """Round the bits of an `f32` to a power of two, ties up; NaN if it is not positive."""
    is_denormal = builder.icmp_unsigned("<", bits, constant(_I32, 1 << 23))
    half = builder.select(is_denormal, constant(_I32, (1 << 22) - 1), constant(_I32, 1 << 22))
    found = builder.lshr(builder.add(bits, half), constant(_I32, 23))
    # The bits of infinity, of NaNs and of negative numbers are larger.
    beyond = (form.nan << 23) - (1 << 22)
    above = builder.icmp_unsigned(">=", bits, constant(_I32, beyond))
    is_zero = builder.icmp_unsigned("==", bits, constant(_I32, 0))
    is_nan = builder.or_(above, is_zero)
    return builder.select(is_nan, constant(_I32, form.nan), found)


def bits_of_nan(builder: Builder, value: Value, element: Element) -> Value | None:
    """Return the bits of a NaN that was converted to `f32`; `None` if its format has only one."""
    form = narrow_float(element)
    if not form.has_payloads:
        return None
    bits = builder.bitcast(value, _I32)
    magnitude = builder.lshr(bits, constant(_I32, form.cut))
    kept = builder.and_(magnitude, constant(_I32, form.sign - 1))
    sign = builder.lshr(bits, constant(_I32, 32 - form.width))
    return builder.or_(kept, builder.and_(sign, constant(_I32, form.sign)))


def with_bits(value: Value, stored: Value) -> Value:
    """Let an `f32` remember the bits of a narrow float that it was converted from."""
    value.stored_bits = stored
    return value


def bits_of(value: Value) -> Value | None:
    """Return the bits of a narrow float that an `f32` was converted from, if it remembers them."""
    return getattr(value, "stored_bits", None)

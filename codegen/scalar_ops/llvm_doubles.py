"""Parts of elementary functions of `f32` that are computed in `f64`.

Results are right to about 2^-33 of themselves. They are rounded to `f32` once, so that a function
is off by 0.51 units in its last place at most, and denormal numbers are as good as others. All is
without branches and calls, so that loops over these functions are vectorised.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from .llvm_functions import multiply_add, polynomial
from .llvm_values import Builder, Compute, Value, constant

DOUBLE = ir.DoubleType()
BITS = ir.IntType(64)

_ROUNDER = 6755399441055744.0
"""1.5 * 2^52: added to a number below 2^51, it rounds it to an integer in the sum's low bits."""

_ROUNDER_BITS = 0x4338000000000000


def number(value: float) -> Value:
    """A constant."""
    return ir.Constant(DOUBLE, value)


def of_doubles(function: Compute) -> Compute:
    """A function of doubles as one of `f32`, rounded once."""

    def compute(builder: Builder, *values: Value) -> Value:
        wide = [builder.fpext(each, DOUBLE) for each in values]
        return builder.fptrunc(function(builder, *wide), ir.FloatType())

    return compute


def nearest(builder: Builder, value: Value) -> tuple[Value, Value]:
    """The nearest integer of a number below 2^51, as a number, and as one of 64 bits to whose
    upper bits something is added."""
    biased = builder.fadd(value, number(_ROUNDER))
    return builder.fsub(biased, number(_ROUNDER)), builder.bitcast(biased, BITS)


def of_integer(builder: Builder, value: Value) -> Value:
    """A small integer as a number. Few CPUs convert vectors of 64-bit integers."""
    biased = builder.add(value, constant(BITS, _ROUNDER_BITS))
    return builder.fsub(builder.bitcast(biased, DOUBLE), number(_ROUNDER))


def even(builder: Builder, series: Sequence[float], value: Value) -> Value:
    """`1 + x^2 P(x^2)`."""
    square = builder.fmul(value, value)
    return multiply_add(builder, polynomial(builder, series, square), square, number(1.0))


def flip_sign(builder: Builder, value: Value, bits: Value, bit: int) -> Value:
    """The number with the other sign where a bit is set."""
    flag = builder.and_(bits, constant(BITS, 1 << bit))
    sign = builder.shl(flag, constant(BITS, 63 - bit))
    return builder.bitcast(builder.xor(builder.bitcast(value, BITS), sign), DOUBLE)


def signed_as(builder: Builder, magnitude: Value, value: Value) -> Value:
    """A number that is not negative, with the sign of another.

    With `llvm.copysign`, LLVM rounds to `f16` at once, by a function that is not here.
    """
    sign = builder.and_(builder.bitcast(value, BITS), constant(BITS, 1 << 63))
    return builder.bitcast(builder.or_(builder.bitcast(magnitude, BITS), sign), DOUBLE)

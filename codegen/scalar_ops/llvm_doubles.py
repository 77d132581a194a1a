"""Parts of elementary functions that are computed in `f64`, and the remainder, which is exact.

For functions of `f32` their relative error is about 2^-33. Results are rounded to `f32` once, so
that the error of a function is at most 0.51 units in the last place, also for denormal numbers.
There are no branches and calls, so that loops over these functions are vectorised.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ...runtime.abi.native_code import cpu_features
from .llvm_floats import libm_function
from .llvm_functions import by_precision, copy_sign, multiply_add, polynomial
from .llvm_values import Builder, Compute, Value, constant, intrinsic

DOUBLE = ir.DoubleType()
BITS = ir.IntType(64)

_ROUNDER = 6755399441055744.0
"""1.5 * 2^52: adding it to a number below 2^51 rounds to an integer in the low bits of the sum."""

ROUNDER_BITS = 0x4338000000000000
"""The bits of that number."""


def number(value: float) -> Value:
    """Return a constant."""
    return ir.Constant(DOUBLE, value)


def of_doubles(function: Compute) -> Compute:
    """Return a function of `f32` that computes a function of doubles and rounds once."""

    def compute(builder: Builder, *values: Value) -> Value:
        wide = [builder.fpext(each, DOUBLE) for each in values]
        return builder.fptrunc(function(builder, *wide), ir.FloatType())

    return compute


def nearest(builder: Builder, value: Value) -> tuple[Value, Value]:
    """Round a number below 2^51 to the nearest integer.

    Returns it as a number, and as a 64-bit integer whose upper bits contain the bits of the
    rounder.
    """
    biased = builder.fadd(value, number(_ROUNDER))
    return builder.fsub(biased, number(_ROUNDER)), builder.bitcast(biased, BITS)


def of_integer(builder: Builder, value: Value) -> Value:
    """Convert a small integer to a number. Few CPUs convert vectors of 64-bit integers."""
    biased = builder.add(value, constant(BITS, ROUNDER_BITS))
    return builder.fsub(builder.bitcast(biased, DOUBLE), number(_ROUNDER))


def even_polynomial(builder: Builder, series: Sequence[float], value: Value) -> Value:
    """Return `1 + x^2 P(x^2)`."""
    square = builder.fmul(value, value)
    return multiply_add(builder, polynomial(builder, series, square), square, number(1.0))


def flip_sign(builder: Builder, value: Value, bits: Value, bit: int) -> Value:
    """Negate a number if a bit of an integer is set."""
    flag = builder.and_(bits, constant(BITS, 1 << bit))
    sign = builder.shl(flag, constant(BITS, 63 - bit))
    return builder.bitcast(builder.xor(builder.bitcast(value, BITS), sign), DOUBLE)


_STEPS = 6
"""Steps for any two numbers of `f32`.

Their quotient is below 2^277, and a step divides it by 2^51.
"""


def remainder(builder: Builder, *values: Value) -> Value:
    """Emit `fmod`, which is exact.

    The C library computes it for `f64`, and on CPUs without fused multiply-add.
    """
    features, library = cpu_features(), libm_function("fmod")
    is_fused = features.get("fma") or features.get("neon")
    single = of_doubles(_remainder) if is_fused else library
    return by_precision(library, single)(builder, *values)


def _remainder(builder: Builder, dividend: Value, divisor: Value) -> Value:
    """Emit the remainder of numbers of `f32` in doubles.

    Each step subtracts a multiple of the divisor. The multiple is the quotient by a rounded
    reciprocal, with a relative error of at most 2^-51, so that the difference has few bits and is
    exact. For example, 2^60 modulo 3 is 1: the first multiple is (2^60 - 64) / 3, the rest 64; the
    second one 21, the rest 1, which further steps leave.
    """
    zero = number(0.0)
    size = intrinsic(builder, "llvm.fabs", dividend)
    step = intrinsic(builder, "llvm.fabs", divisor)
    reciprocal = builder.fdiv(number(1.0), step)
    rest = size
    for _ in range(_STEPS):
        multiple = intrinsic(builder, "llvm.trunc", builder.fmul(rest, reciprocal))
        rest = intrinsic(builder, "llvm.fma", builder.fneg(multiple), step, rest)
    # The last multiple may be one too large or too small.
    raised = builder.fadd(rest, step)
    rest = builder.select(builder.fcmp_ordered("<", rest, zero), raised, rest)
    lowered = builder.fsub(rest, step)
    rest = builder.select(builder.fcmp_ordered(">=", rest, step), lowered, rest)
    # Also where the divisor is infinite, for which the steps give NaN.
    rest = builder.select(builder.fcmp_ordered("<", size, step), size, rest)
    return copy_sign(builder, rest, dividend)

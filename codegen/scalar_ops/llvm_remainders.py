"""Remainders of floats without calls, so that loops over them are vectorised."""

from __future__ import annotations

from ...runtime.abi.native_code import cpu_features
from .llvm_doubles import number, of_doubles
from .llvm_floats import libm_function
from .llvm_functions import by_precision, copy_sign
from .llvm_values import Builder, Value, intrinsic

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

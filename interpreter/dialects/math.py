"""Execute the `math` dialect. Floats narrower than f32 are computed in f32 and rounded once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
from xdsl.ir import Operation

from ...ir.attribute_access import operation_name
from ...runtime.abi.arrays import Array, Value, arithmetic_dtype
from ...runtime.abi.values import signed, unsigned
from ..frames import Frame
from ..numbers import maximum, minimum, rounded, width_of, wrapped
from ..registry import Results, impl

Unary = Callable[[Array], Array]


def _of_each(function: Callable[[float], float]) -> Unary:
    """Vectorise a function of Python's `math`, in f64.

    SciPy's are faster, but take 0.1 s to import.
    """
    of_all = np.vectorize(function, otypes=[np.float64])
    return lambda value: np.asarray(of_all(value), value.dtype)


def _round_half_away(value: Array) -> Array:
    whole = np.trunc(value)
    away = np.abs(value - whole) >= 0.5
    return np.where(away, whole + np.copysign(1.0, value).astype(value.dtype), whole)


UNARY: dict[str, Unary] = {
    "absf": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": _of_each(math.erf),
    "erfc": _of_each(math.erfc),
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "floor": np.floor,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "round": _round_half_away,
    "roundeven": np.rint,
    "rsqrt": lambda value: value.dtype.type(1) / np.sqrt(value),
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
}
"""Functions of one float, by operation name without `math.`."""


def apply_float(function: Callable[..., Array], *operands: Value) -> Array:
    """Apply a function to floats of one type, and round the result to that type."""
    arrays = [np.asarray(operand) for operand in operands]
    dtype = arrays[0].dtype
    wide = arithmetic_dtype(dtype)
    return rounded(function(*(array.astype(wide, copy=False) for array in arrays)), dtype)


def _fused_multiply_add(left: Array, right: Array, addend: Array) -> Array:
    # The product of two f32 is exact in f64. The product of two f64 is nearly so in x86's 80 bits.
    wide = np.float64 if left.dtype == np.float32 else np.longdouble
    return left.astype(wide) * right.astype(wide) + addend.astype(wide)


def _clamp(value: Array, low: Array, high: Array) -> Array:
    return minimum(maximum(value, low), high)


_FUNCTIONS: dict[str, Callable[..., Array]] = {
    **UNARY,
    "atan2": np.arctan2,
    "clampf": _clamp,
    "copysign": np.copysign,
    "fma": _fused_multiply_add,
    "powf": np.power,
}


@impl(*(f"math.{name}" for name in _FUNCTIONS), pointwise=True)
def _float_function(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (apply_float(_FUNCTIONS[operation_name(op).removeprefix("math.")], *operands),)


@impl("math.sincos", pointwise=True)
def _sine_and_cosine(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return apply_float(np.sin, operands[0]), apply_float(np.cos, operands[0])


@impl("math.fpowi", pointwise=True)
def _float_to_integer_power(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    base = np.asarray(operands[0])
    exponent = signed(operands[1], width_of(op, op.operands[1].type))
    power = np.power(base.astype(np.float64), exponent.astype(np.float64))
    return (rounded(power, base.dtype),)


@impl("math.ipowi", pointwise=True)
def _integer_power(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    width = width_of(op, op.operands[0].type)
    base, exponent = (signed(operand, width).astype(np.int64) for operand in operands)
    base, exponent = np.broadcast_arrays(base, exponent)
    result = np.ones_like(base)
    square, rest = base.copy(), np.maximum(exponent, 0)
    while np.any(rest):
        result = np.where(rest & 1, result * square, result)
        square, rest = square * square, rest >> 1
    # A negative power is the truncated inverse: 0 unless the base is 1 or -1.
    sign = np.where((base == -1) & (exponent % 2 != 0), -1, 1)
    inverse = np.where(np.abs(base) == 1, sign, 0)
    return (wrapped(np.where(exponent < 0, inverse, result), op.results[0].type),)


@impl("math.absi", pointwise=True)
def _absolute(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    width = width_of(op, op.operands[0].type)
    return (wrapped(np.abs(signed(operands[0], width)), op.results[0].type),)


@impl("math.ctpop", "math.ctlz", "math.cttz", "tosa.clz", pointwise=True)
def _count_bits(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    width = width_of(op, op.operands[0].type)
    bits = unsigned(operands[0], width).astype(np.uint64)
    if operation_name(op) == "math.ctpop":
        count = np.bitwise_count(bits)
    elif operation_name(op) != "math.cttz":
        for shift in (1, 2, 4, 8, 16, 32):
            bits = bits | (bits >> np.uint64(shift))
        count = np.uint8(width) - np.bitwise_count(bits)
    else:
        below = ~bits & (bits - np.uint64(1))
        count = np.minimum(np.bitwise_count(below), np.uint8(width))
    return (wrapped(np.asarray(count).astype(np.int64), op.results[0].type),)


_CLASSES: dict[str, Unary] = {
    "math.isfinite": np.isfinite,
    "math.isinf": np.isinf,
    "math.isnan": np.isnan,
}


@impl(*_CLASSES, "math.isnormal", pointwise=True)
def _classify(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    value = np.asarray(operands[0])
    if operation_name(op) in _CLASSES:
        return (np.asarray(_CLASSES[operation_name(op)](value)),)
    import ml_dtypes

    smallest = cast(float, ml_dtypes.finfo(value.dtype).smallest_normal)  # pyright: ignore[reportUnknownMemberType]
    return (np.asarray(np.isfinite(value) & (np.abs(value) >= smallest)),)

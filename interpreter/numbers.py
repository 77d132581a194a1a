"""Arithmetic on arrays of numbers of several dialects: integers wrap, floats are rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import Attribute, Operation

from ..ir.diagnostics import OperationError
from ..runtime.abi.arrays import Array, Value, is_narrow_float, wrap
from ..runtime.abi.values import element_type, integer_width, is_unsigned, undefined


def width_of(op: Operation, value_type: Attribute) -> int:
    """Return the bit width of an integer operand or result.

    Raises OperationError for other types.
    """
    width = integer_width(value_type)
    if width is None:
        raise OperationError(op, f"expects integers, found {value_type}")
    return width


def wrapped(value: Array, value_type: Attribute) -> Array:
    """Wrap native integers to the width and signedness of an integer type.

    Raises ValueError for other types.
    """
    width = integer_width(value_type)
    if width is None:
        raise ValueError(f"{value_type} is not an integer type")
    return wrap(np.asarray(value), width, to_unsigned=is_unsigned(value_type))


def truncated_quotient(left: Array, right: Array) -> Array:
    """Divide and round towards zero. No divisor may be zero."""
    quotient = left // right
    inexact = quotient * right != left
    return quotient + (inexact & ((left < 0) != (right < 0))).astype(left.dtype)


def maximum(left: Array, right: Array) -> Array:
    """Return the IEEE 754-2019 maximum: NaN if either is NaN, and +0 is greater than -0."""
    result = np.maximum(left, right)
    zeros = (left == 0) & (right == 0)
    # -0 + +0 is +0, and -0 + -0 is -0: the sum of two zeros is their maximum.
    return np.where(zeros, left + right, result) if np.any(zeros) else result


def minimum(left: Array, right: Array) -> Array:
    """Return the IEEE 754-2019 minimum: NaN if either is NaN, and -0 is less than +0."""
    result = np.minimum(left, right)
    zeros = (left == 0) & (right == 0)
    return np.where(zeros, -(-left - right), result) if np.any(zeros) else result


def rounded(value: Value, dtype: np.dtype[Any]) -> Array:
    """Round a float result to the precision of `dtype`."""
    return np.asarray(value).astype(dtype, copy=False)


def to_float(value: Array, dtype: np.dtype[Any]) -> Array:
    """Convert numbers to a float type, with one rounding.

    Conversions to types narrower than f32 go through f32. To avoid a second rounding, wider values
    are rounded to odd in f32 first (Boldo and Melquiond, 2008).
    """
    if not is_narrow_float(dtype) or dtype == np.float16 or is_narrow_float(value.dtype):
        return value.astype(dtype)
    if value.dtype == np.float32 or value.dtype.itemsize < 4:
        return value.astype(np.float32).astype(dtype)
    exact = np.asarray(value.astype(np.float64))
    single = exact.astype(np.float32)
    error = exact - single.astype(np.float64)
    bits = single.view(np.uint32)
    even = ((bits & 1) == 0) & (error != 0) & np.isfinite(single) & (single != 0)
    # Step one unit towards the exact value: away from zero if its magnitude is larger.
    outward = (error > 0) == (single > 0)
    odd = np.where(outward, bits + np.uint32(1), bits - np.uint32(bits > 0)).view(np.float32)
    return np.where(even, odd, single).astype(dtype)


def float_to_integer(value: Array, result_type: Attribute, width: int, *, is_signed: bool) -> Array:
    """Round floats towards zero to integers. Values that do not fit, and NaN, become undefined."""
    whole = np.trunc(value.astype(np.float64))
    low = -(2.0 ** (width - 1)) if is_signed else 0.0
    high = 2.0 ** (width - 1 if is_signed else width)
    fits = (whole >= low) & (whole < high)
    native = np.dtype(np.int64 if is_signed else np.uint64)
    result = wrapped(np.where(fits, whole, 0.0).astype(native), result_type)
    if fits.all():
        return result
    return np.where(fits, result, undefined((), element_type(result_type)))

"""Execute the `complex` dialect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from ...ir.attribute_access import operation_name
from ...runtime.abi.arrays import Array, Value
from ...runtime.abi.values import dtype_of
from ..frames import Frame
from ..registry import Results, impl


def _create(real: Array, imaginary: Array) -> Array:
    result = np.empty(np.broadcast_shapes(real.shape, imaginary.shape), np.complex128)
    result.real, result.imag = real, imaginary
    return result


def _multiply(one: Array, other: Array) -> Array:
    """Compute `(a + bi)(c + di) = (ac - bd) + (ad + bc)i`.

    Unlike this, NumPy's product may use fused multiply-adds.
    """
    a, b, c, d = np.real(one), np.imag(one), np.real(other), np.imag(other)
    result = np.empty(np.broadcast_shapes(one.shape, other.shape), one.dtype)
    result.real, result.imag = a * c - b * d, a * d + b * c
    return result


def _divide(one: Array, other: Array) -> Array:
    """Divide with NumPy, and correct the results of which both parts are NaN.

    Infinite operands and zero divisors then give the infinities and zeros of C's annex G (5.2).
    """
    found = np.divide(one, other)
    x, y = np.real(found), np.imag(found)
    zero = other == 0
    x = np.where(zero, np.real(one) / np.real(other), x)
    y = np.where(zero, np.imag(one) / np.real(other), y)
    is_none = np.isnan(x) & np.isnan(y)
    for size, left, right, is_so in (
        (np.inf, _directions(one), other, np.isinf(one) & np.isfinite(other)),
        (0.0, one, _directions(other), np.isfinite(one) & np.isinf(other)),
    ):
        a, b, c, d = np.real(left), np.imag(left), np.real(right), np.imag(right)
        chosen = is_none & is_so
        x = np.where(chosen, size * (a * c + b * d), x)
        y = np.where(chosen, size * (b * c - a * d), y)
    return _create(x, y)


def _directions(value: Array) -> Array:
    """Return 1 or -1 (with the part's sign) for infinite parts, and signed zeros for others."""
    pair = (np.real(value), np.imag(value))
    return _create(*(np.copysign(np.isinf(part), part) for part in pair))


def _exponential_minus_one(value: Array) -> Array:
    found, imaginary = np.expm1(value), np.imag(value)
    return _create(np.real(found), np.where(imaginary == 0, imaginary, np.imag(found)))


def _logarithm_plus_one(value: Array) -> Array:
    """Compute `log(1 + z)` without the cancellation of `1 + z` near 0."""
    x, y = np.real(value), np.imag(value)
    found = np.log(_create(x + 1, y))  # `np.log1p` overflows where the magnitude does.
    near = 0.5 * np.log1p(x * (x + 2) + y * y)
    return _create(np.where(np.hypot(x, y) < 0.5, near, np.real(found)), np.imag(found))


def _absolute(value: Array) -> Array:
    return np.hypot(np.real(value), np.imag(value))


def _angle_of(y: Array, x: Array) -> Array:
    """Return the complex arc tangent of y / x, in the quadrant of (x, y)."""
    return -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))


def _inverse_root(value: Array) -> Array:
    return _divide(np.ones_like(value), np.sqrt(value))


def _power(base: Array, exponent: Array) -> Any:
    """Compute powers with NumPy, but as `exp(y log(x))` where one of the numbers is not finite.

    A product with 0 is 0 there, so that powers of infinity with a real exponent are no NaN.
    """
    logarithm = np.log(base)
    size, angle = np.real(logarithm), np.imag(logarithm)
    c, d = np.real(exponent), np.imag(exponent)
    turned = [np.where(d == 0, 0.0, d * each) for each in (angle, size)]
    other = np.exp(_create(c * size - turned[0], c * angle + turned[1]))
    found = np.power(base, exponent)
    is_finite = np.isfinite(base) & np.isfinite(exponent) & np.isfinite(found)
    return np.where(is_finite | (base == 0) | (exponent == 0), found, other)


def _sign(value: Array) -> Array:
    return np.where(value == 0, value, value / np.abs(value))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "complex.abs": _absolute,
    "complex.add": np.add,
    "complex.angle": np.angle,
    "complex.conj": np.conj,
    "complex.create": _create,
    "complex.div": _divide,
    "complex.eq": np.equal,
    "complex.im": np.imag,
    "complex.mul": _multiply,
    "complex.neg": np.negative,
    "complex.neq": np.not_equal,
    "complex.re": np.real,
    "complex.sign": _sign,
    "complex.sub": np.subtract,
}
_ELEMENTARY: dict[str, Callable[..., Any]] = {
    "complex.atan2": _angle_of,
    "complex.cos": np.cos,
    "complex.exp": np.exp,
    "complex.expm1": _exponential_minus_one,
    "complex.log": np.log,
    "complex.log1p": _logarithm_plus_one,
    "complex.pow": _power,
    "complex.rsqrt": _inverse_root,
    "complex.sin": np.sin,
    "complex.sqrt": np.sqrt,
    "complex.tan": np.tan,
    "complex.tanh": np.tanh,
}
"""Functions that are computed in doubles, and then rounded."""


@impl(*_FUNCTIONS, *_ELEMENTARY, pointwise=True)
def _elementwise(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    arrays, name = [np.asarray(operand) for operand in operands], operation_name(op)
    if name in _ELEMENTARY:
        result = _ELEMENTARY[name](*(each.astype(np.complex128) for each in arrays))
    else:
        result = _FUNCTIONS[name](*arrays)
    return (np.asarray(result).astype(dtype_of(op.results[0].type), copy=False),)

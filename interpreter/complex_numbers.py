"""Execute the `complex` dialect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from ..ir.attribute_access import required
from ..runtime.abi.arrays import Array, Value
from ..runtime.abi.values import dtype_of
from .constants import constant_array
from .frames import Frame
from .registry import Results, impl


def _elementwise(name: str, function: Callable[..., Any]) -> None:
    @impl(name, pointwise=True)
    def execute(  # pyright: ignore[reportUnusedFunction]
        op: Operation, operands: Sequence[Value], frame: Frame
    ) -> Results:
        result = function(*(np.asarray(operand) for operand in operands))
        return (np.asarray(result).astype(dtype_of(op.results[0].type), copy=False),)


def _in_doubles(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of complex numbers that is computed in doubles; the result is rounded."""

    def compute(*operands: Array) -> Any:
        return function(*(each.astype(np.complex128) for each in operands))

    return compute


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
    "abs": _absolute,
    "add": np.add,
    "angle": np.angle,
    "conj": np.conj,
    "create": _create,
    "div": _divide,
    "eq": np.equal,
    "im": np.imag,
    "mul": _multiply,
    "neg": np.negative,
    "neq": np.not_equal,
    "re": np.real,
    "sign": _sign,
    "sub": np.subtract,
}
_ELEMENTARY: dict[str, Callable[..., Any]] = {
    "atan2": _angle_of,
    "cos": np.cos,
    "exp": np.exp,
    "expm1": _exponential_minus_one,
    "log": np.log,
    "log1p": _logarithm_plus_one,
    "pow": _power,
    "rsqrt": _inverse_root,
    "sin": np.sin,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
}
for _name, _function in _FUNCTIONS.items():
    _elementwise(f"complex.{_name}", _function)
for _name, _function in _ELEMENTARY.items():
    _elementwise(f"complex.{_name}", _in_doubles(_function))


@impl("complex.constant", pointwise=True)
def _constant(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (constant_array(op, required(op, "value")),)

"""The `complex` dialect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from ..ir.attribute_access import required
from ..runtime.abi.values import Array, Value, dtype_of
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


def _create(real: Array, imaginary: Array) -> Array:
    result = np.empty(np.broadcast_shapes(real.shape, imaginary.shape), np.complex128)
    result.real, result.imag = real, imaginary
    return result


def _multiply(one: Array, other: Array) -> Array:
    """`(a + bi)(c + di) = (ac - bd) + (ad + bc)i`. NumPy fuses a product with the sum where the
    CPU can."""
    a, b, c, d = np.real(one), np.imag(one), np.real(other), np.imag(other)
    result = np.empty(np.broadcast_shapes(one.shape, other.shape), one.dtype)
    result.real, result.imag = a * c - b * d, a * d + b * c
    return result


def _absolute(value: Array) -> Array:
    return np.hypot(np.real(value), np.imag(value))


def _angle_of(y: Array, x: Array) -> Array:
    """The complex arc tangent of y / x, in the quadrant of both."""
    return -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))


def _inverse_root(value: Array) -> Array:
    return 1 / np.sqrt(value)


def _sign(value: Array) -> Array:
    return np.where(value == 0, value, value / np.abs(value))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": _absolute,
    "add": np.add,
    "angle": np.angle,
    "atan2": _angle_of,
    "conj": np.conj,
    "cos": np.cos,
    "create": _create,
    "div": np.divide,
    "eq": np.equal,
    "exp": np.exp,
    "expm1": np.expm1,
    "im": np.imag,
    "log": np.log,
    "log1p": np.log1p,
    "mul": _multiply,
    "neg": np.negative,
    "neq": np.not_equal,
    "pow": np.power,
    "re": np.real,
    "rsqrt": _inverse_root,
    "sign": _sign,
    "sin": np.sin,
    "sqrt": np.sqrt,
    "sub": np.subtract,
    "tan": np.tan,
    "tanh": np.tanh,
}
for _name, _function in _FUNCTIONS.items():
    _elementwise(f"complex.{_name}", _function)


@impl("complex.constant", pointwise=True)
def _constant(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (constant_array(op, required(op, "value")),)

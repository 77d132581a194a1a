"""Execute the `arith` dialect on scalars, tensors and vectorised loop bodies.

Integers wrap at their width. Undefined behaviour (division by zero, `INT_MIN / -1`) raises an
OperationError at the operation. Poison (a shift by the width or more, a float that does not fit an
integer) becomes an arbitrary value, on which nothing may depend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Operation

from ..dialects.arith.flags import rounding_mode, rounds_to_nearest_even
from ..ir.attribute_access import attribute, integer, operation_name
from ..ir.diagnostics import OperationError
from ..runtime.abi.arrays import Array, Value, is_narrow_float, wrap
from ..runtime.abi.values import (
    choose,
    dtype_of,
    element_type,
    integer_width,
    is_unsigned,
    reinterpreted,
    signed,
    undefined,
    unsigned,
)
from .constants import constant_array
from .frames import Frame
from .registry import Results, impl

Binary = Callable[[Array, Array], Array]


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


@impl("arith.constant", "flow.tensor.constant", "flow.tensor.dynamic_constant", pointwise=True)
def _constant(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    constants = frame.process.program.constants
    found = constants.get(op)
    if found is None:
        found = constant_array(op, attribute(op, "value"))
        if found.ndim == 0:
            constants[op] = found
    return (found,)


# --------------------------------------------------------------------------------------------
# Integers


def _integer_binary(name: str, function: Binary, *, is_signed: bool) -> None:
    read = signed if is_signed else unsigned

    @impl(name, pointwise=True)
    def execute(  # pyright: ignore[reportUnusedFunction]
        op: Operation, operands: Sequence[Value], frame: Frame
    ) -> Results:
        width = width_of(op, op.operands[0].type)
        result = function(read(operands[0], width), read(operands[1], width))
        return (wrapped(result, op.results[0].type),)


for _name, _function in {
    "addi": np.add,
    "subi": np.subtract,
    "muli": np.multiply,
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
    "maxsi": np.maximum,
    "minsi": np.minimum,
}.items():
    _integer_binary(f"arith.{_name}", _function, is_signed=True)
_integer_binary("arith.maxui", np.maximum, is_signed=False)
_integer_binary("arith.minui", np.minimum, is_signed=False)


def truncated_quotient(left: Array, right: Array) -> Array:
    """Divide and round towards zero. No divisor may be zero."""
    quotient = left // right
    inexact = quotient * right != left
    return quotient + (inexact & ((left < 0) != (right < 0))).astype(left.dtype)


def _truncated_remainder(left: Array, right: Array) -> Array:
    return left - truncated_quotient(left, right) * right


def _ceiling_quotient(left: Array, right: Array) -> Array:
    quotient = left // right
    return quotient + (quotient * right != left).astype(left.dtype)


_DIVISIONS: dict[str, tuple[Binary, bool]] = {
    "divsi": (truncated_quotient, True),
    "divui": (np.floor_divide, False),
    "remsi": (_truncated_remainder, True),
    "remui": (np.remainder, False),
    "floordivsi": (np.floor_divide, True),
    "ceildivsi": (_ceiling_quotient, True),
    "ceildivui": (_ceiling_quotient, False),
}
"""For each division: its function, and whether it is signed."""


@impl(*(f"arith.{name}" for name in _DIVISIONS), pointwise=True)
def _divide(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    name = operation_name(op).removeprefix("arith.")
    function, is_signed = _DIVISIONS[name]
    width = width_of(op, op.operands[0].type)
    read = signed if is_signed else unsigned
    left, right = read(operands[0], width), read(operands[1], width)
    if np.any(right == 0):
        raise OperationError(op, "divides by zero")
    lowest = -(1 << (width - 1))
    if is_signed and np.any((right == -1) & (left == lowest)):
        if name != "remsi":
            raise OperationError(op, f"divides {lowest} by -1, which overflows")
        right = np.where(right == -1, right.dtype.type(1), right)
    return (wrapped(function(left, right), op.results[0].type),)


@impl("arith.shli", "arith.shrsi", "arith.shrui", pointwise=True)
def _shift(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    width = width_of(op, op.operands[0].type)
    amount = unsigned(operands[1], width)
    beyond = amount >= width
    read = signed if operation_name(op) == "arith.shrsi" else unsigned
    value = read(operands[0], width)
    safe = np.where(beyond, 0, amount).astype(value.dtype)
    shifted = value << safe if operation_name(op) == "arith.shli" else value >> safe
    result = wrapped(shifted, op.results[0].type)
    if beyond.any():
        result = np.where(beyond, undefined((), element_type(op.results[0].type)), result)
    return (result,)


@impl("arith.addui_extended", pointwise=True)
def _add_extended(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    width = width_of(op, op.operands[0].type)
    left, right = (unsigned(operand, width) for operand in operands)
    total = unsigned(wrap(left + right, width), width)
    return wrapped(total, op.results[0].type), total < left


@impl("arith.mulsi_extended", "arith.mului_extended", pointwise=True)
def _multiply_extended(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    width = width_of(op, op.operands[0].type)
    read = signed if operation_name(op) == "arith.mulsi_extended" else unsigned
    # The product of two 64-bit integers needs Python's integers. Narrower products would fit into
    # 64 bits, but the operation is too rare for a second path.
    left, right = (np.asarray(read(operand, width)).astype(object) for operand in operands)
    product = np.asarray(left * right, dtype=object)
    mask = (1 << width) - 1

    def part(shift: int) -> Array:
        bits = np.asarray((product >> shift) & mask, dtype=object)
        return wrapped(bits.astype(np.uint64), op.results[0].type)

    return part(0), part(width)


_COMPARISONS: tuple[tuple[Binary, bool], ...] = (
    (np.equal, True),
    (np.not_equal, True),
    (np.less, True),
    (np.less_equal, True),
    (np.greater, True),
    (np.greater_equal, True),
    (np.less, False),
    (np.less_equal, False),
    (np.greater, False),
    (np.greater_equal, False),
)
"""For each predicate number of `arith.cmpi` (eq ne slt sle sgt sge ult ule ugt uge): the
comparison, and whether it is signed."""


@impl("arith.cmpi", pointwise=True)
def _compare_integers(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    compare, is_signed = _COMPARISONS[integer(op, "predicate")]
    width = width_of(op, op.operands[0].type)
    read = signed if is_signed else unsigned
    return (np.asarray(compare(read(operands[0], width), read(operands[1], width))),)


_RESIZES = {
    "arith.extsi": signed,
    "arith.extui": unsigned,
    "arith.index_cast": signed,
    "arith.index_castui": unsigned,
    "arith.trunci": signed,
}
"""For each conversion between integer types, how it reads its operand."""


@impl(*_RESIZES, pointwise=True)
def _resize(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    read = _RESIZES[operation_name(op)]
    wide = read(operands[0], width_of(op, op.operands[0].type)).astype(np.int64)
    return (wrapped(wide, op.results[0].type),)


# --------------------------------------------------------------------------------------------
# Floats


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


def _float_binary(name: str, function: Binary) -> None:
    @impl(name, pointwise=True)
    def execute(  # pyright: ignore[reportUnusedFunction]
        op: Operation, operands: Sequence[Value], frame: Frame
    ) -> Results:
        left, right = np.asarray(operands[0]), np.asarray(operands[1])
        return (rounded(function(left, right), left.dtype),)


def rounded(value: Value, dtype: np.dtype[Any]) -> Array:
    """Round a float result to the precision of `dtype`."""
    return np.asarray(value).astype(dtype, copy=False)


for _name, _function in {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "remf": np.fmod,
    "maximumf": maximum,
    "minimumf": minimum,
    "maxnumf": np.fmax,
    "minnumf": np.fmin,
}.items():
    _float_binary(f"arith.{_name}", _function)


@impl("arith.negf", pointwise=True)
def _negate(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    value = np.asarray(operands[0])
    return (rounded(np.negative(value), value.dtype),)


def _never(left: Array, right: Array) -> Array:
    return np.zeros(np.broadcast_shapes(left.shape, right.shape), np.bool_)


def _distinct(left: Array, right: Array) -> Array:
    return (left < right) | (left > right)


_FLOAT_COMPARISONS: tuple[Binary, ...] = (
    _never,
    np.equal,
    np.greater,
    np.greater_equal,
    np.less,
    np.less_equal,
    _distinct,
)
"""The ordered predicates of `arith.cmpf` by number (false oeq ogt oge olt ole one)."""
_ORDERED = 7


@impl("arith.cmpf", pointwise=True)
def _compare_floats(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    # Predicate 7 is ord; ueq ugt uge ult ule une uno true follow. An unordered predicate is true
    # for NaN and otherwise equal to its ordered counterpart.
    predicate = integer(op, "predicate")
    left, right = np.asarray(operands[0]), np.asarray(operands[1])
    unordered = np.asarray(np.isnan(left) | np.isnan(right))
    if predicate < _ORDERED:
        return (np.asarray(_FLOAT_COMPARISONS[predicate](left, right)),)
    if predicate == _ORDERED:
        return (~unordered,)
    if predicate == 14:
        return (unordered,)
    if predicate == 15:
        return (np.ones_like(unordered),)
    return (unordered | _FLOAT_COMPARISONS[predicate - _ORDERED](left, right),)


@impl("arith.extf", "arith.scaling_extf", pointwise=True)
def _extend(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    value = np.asarray(operands[0]).astype(dtype_of(op.results[0].type))
    if len(operands) > 1:
        value = value * np.asarray(operands[1]).astype(value.dtype)
    return (value,)


@impl("arith.truncf", "arith.scaling_truncf", pointwise=True)
def _truncate(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    if not rounds_to_nearest_even(op):
        raise OperationError(op, f"has rounding mode {rounding_mode(op)}, expected to_nearest_even")
    value = np.asarray(operands[0])
    if len(operands) > 1:
        # Divide in the wide type, whose range has all powers of two that scales are.
        value = value / np.asarray(operands[1]).astype(value.dtype)
    return (to_float(value, dtype_of(op.results[0].type)),)


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


@impl("arith.sitofp", "arith.uitofp", pointwise=True)
def _from_integer(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    width = width_of(op, op.operands[0].type)
    read = signed if operation_name(op) == "arith.sitofp" else unsigned
    return (to_float(read(operands[0], width), dtype_of(op.results[0].type)),)


@impl("arith.fptosi", "arith.fptoui", pointwise=True)
def _to_integer(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    result_type = op.results[0].type
    width = width_of(op, result_type)
    is_signed = operation_name(op) == "arith.fptosi"
    return (float_to_integer(np.asarray(operands[0]), result_type, width, is_signed=is_signed),)


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


@impl("arith.bitcast", "complex.bitcast", "tensor.bitcast", pointwise=True)
def _bitcast(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source, target = op.operands[0].type, op.results[0].type
    value = np.asarray(operands[0])
    if integer_width(source) is not None and integer_width(target) is not None:
        return (wrapped(signed(value, width_of(op, source)), target),)
    if value.dtype.itemsize != dtype_of(target).itemsize:
        raise OperationError(op, f"cannot bitcast {source} to {target}")
    return (reinterpreted(value, source, target).reshape(value.shape),)


# --------------------------------------------------------------------------------------------


@impl("arith.select", pointwise=True)
def _select(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    condition, left, right = operands
    if np.ndim(condition) == 0:
        return (left if condition else right,)
    return (choose(condition, left, right),)

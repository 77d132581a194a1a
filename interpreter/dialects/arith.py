"""Execute the `arith` dialect on scalars, tensors and vectorised loop bodies.

Integers wrap at their width. Undefined behaviour (division by zero, `INT_MIN / -1`) raises an
OperationError at the operation. Poison (a shift by the width or more, a float that does not fit an
integer) becomes an arbitrary value, on which nothing may depend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.ir import Operation

from ...dialects.arith.flags import rounding_mode, rounds_to_nearest_even
from ...ir.attribute_access import attribute, integer, operation_name
from ...ir.diagnostics import OperationError
from ...runtime.abi.arrays import Array, Value, wrap
from ...runtime.abi.values import (
    choose,
    dtype_of,
    element_type,
    integer_width,
    reinterpreted,
    signed,
    undefined,
    unsigned,
)
from ..constants import constant_array
from ..frames import Frame
from ..numbers import (
    float_to_integer,
    maximum,
    minimum,
    rounded,
    to_float,
    truncated_quotient,
    width_of,
    wrapped,
)
from ..registry import Results, impl

Binary = Callable[[Array, Array], Array]


@impl(
    *("arith.constant", "complex.constant"),
    *("flow.tensor.constant", "flow.tensor.dynamic_constant"),
    pointwise=True,
)
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


def _read(op: Operation, operands: Sequence[Value], *, is_signed: bool) -> list[Array]:
    """Return integer operands of the first one's type as native integers."""
    read, width = signed if is_signed else unsigned, width_of(op, op.operands[0].type)
    return [read(operand, width) for operand in operands]


_INTEGER_BINARY: dict[str, tuple[Binary, bool]] = {
    "arith.addi": (np.add, True),
    "arith.andi": (np.bitwise_and, True),
    "arith.maxsi": (np.maximum, True),
    "arith.maxui": (np.maximum, False),
    "arith.minsi": (np.minimum, True),
    "arith.minui": (np.minimum, False),
    "arith.muli": (np.multiply, True),
    "arith.ori": (np.bitwise_or, True),
    "arith.subi": (np.subtract, True),
    "arith.xori": (np.bitwise_xor, True),
}
"""For each operation: its function, and whether it is signed."""


@impl(*_INTEGER_BINARY, pointwise=True)
def _integer_binary(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    function, is_signed = _INTEGER_BINARY[operation_name(op)]
    result = function(*_read(op, operands, is_signed=is_signed))
    return (wrapped(result, op.results[0].type),)


def _truncated_remainder(left: Array, right: Array) -> Array:
    return left - truncated_quotient(left, right) * right


def _ceiling_quotient(left: Array, right: Array) -> Array:
    quotient = left // right
    return quotient + (quotient * right != left).astype(left.dtype)


_DIVISIONS: dict[str, tuple[Binary, bool]] = {
    "arith.ceildivsi": (_ceiling_quotient, True),
    "arith.ceildivui": (_ceiling_quotient, False),
    "arith.divsi": (truncated_quotient, True),
    "arith.divui": (np.floor_divide, False),
    "arith.floordivsi": (np.floor_divide, True),
    "arith.remsi": (_truncated_remainder, True),
    "arith.remui": (np.remainder, False),
}
"""For each division: its function, and whether it is signed."""


@impl(*_DIVISIONS, pointwise=True)
def _divide(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    function, is_signed = _DIVISIONS[operation_name(op)]
    left, right = _read(op, operands, is_signed=is_signed)
    if np.any(right == 0):
        raise OperationError(op, "divides by zero")
    lowest = -(1 << (width_of(op, op.operands[0].type) - 1))
    if is_signed and np.any((right == -1) & (left == lowest)):
        if function is not _truncated_remainder:
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
    left, right = _read(op, operands, is_signed=False)
    width = width_of(op, op.operands[0].type)
    total = unsigned(wrap(left + right, width), width)
    return wrapped(total, op.results[0].type), total < left


@impl("arith.mulsi_extended", "arith.mului_extended", pointwise=True)
def _multiply_extended(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    width = width_of(op, op.operands[0].type)
    factors = _read(op, operands, is_signed=operation_name(op) == "arith.mulsi_extended")
    # The product of two 64-bit integers needs Python's integers. Narrower products would fit into
    # 64 bits, but the operation is too rare for a second path.
    left, right = (factor.astype(object) for factor in factors)
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
    return (np.asarray(compare(*_read(op, operands, is_signed=is_signed))),)


_RESIZES = {
    "arith.extsi": True,
    "arith.extui": False,
    "arith.index_cast": True,
    "arith.index_castui": False,
    "arith.trunci": True,
}
"""For each conversion between integer types, whether it reads its operand as signed."""


@impl(*_RESIZES, pointwise=True)
def _resize(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (value,) = _read(op, operands, is_signed=_RESIZES[operation_name(op)])
    return (wrapped(value.astype(np.int64), op.results[0].type),)


# --------------------------------------------------------------------------------------------
# Floats


_FLOAT_BINARY: dict[str, Binary] = {
    "arith.addf": np.add,
    "arith.divf": np.divide,
    "arith.maximumf": maximum,
    "arith.maxnumf": np.fmax,
    "arith.minimumf": minimum,
    "arith.minnumf": np.fmin,
    "arith.mulf": np.multiply,
    "arith.remf": np.fmod,
    "arith.subf": np.subtract,
}


@impl(*_FLOAT_BINARY, pointwise=True)
def _float_binary(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    left, right = np.asarray(operands[0]), np.asarray(operands[1])
    return (rounded(_FLOAT_BINARY[operation_name(op)](left, right), left.dtype),)


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


@impl("arith.sitofp", "arith.uitofp", pointwise=True)
def _from_integer(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    (value,) = _read(op, operands, is_signed=operation_name(op) == "arith.sitofp")
    return (to_float(value, dtype_of(op.results[0].type)),)


@impl("arith.fptosi", "arith.fptoui", pointwise=True)
def _to_integer(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    result_type = op.results[0].type
    width = width_of(op, result_type)
    is_signed = operation_name(op) == "arith.fptosi"
    return (float_to_integer(np.asarray(operands[0]), result_type, width, is_signed=is_signed),)


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

"""Execute the `tosa` dialect: elementwise operations, reductions, products, control flow.

Dimensions of extent 1 broadcast. The semantics are those of the TOSA 1.0 specification. Data
movement and shapes are in `data`, convolutions and pooling in `windows`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Operation

from ....ir.attribute_access import attribute, flag, integer, operation_name, text
from ....ir.diagnostics import OperationError
from ....runtime.abi.arrays import Array, Value, arithmetic_dtype, shape_phrase, shape_text, wrap
from ....runtime.abi.values import choose, dtype_of, integer_width, is_unsigned, signed, unsigned
from ....tiling.element_types import integer_range
from ...constants import constant_array
from ...frames import Exit, Frame
from ...numbers import maximum, minimum, rounded, to_float, truncated_quotient, width_of, wrapped
from ...registry import Results, Routine, impl, impl_with_regions, terminates
from ..math import UNARY, apply_float

terminates("tosa.yield")


@impl("tosa.const", "tosa.const_shape")
def _const(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (constant_array(op, attribute(op, "values")),)


# --------------------------------------------------------------------------------------------
# Elementwise


def _sigmoid(value: Array) -> Array:
    # Use exp(-|x|), which does not overflow, for both signs.
    power = np.exp(-np.abs(value))
    one = value.dtype.type(1)
    above, below = one / (one + power), power / (one + power)
    return choose(value >= 0, above, below)


_FLOAT_UNARY: dict[str, Callable[[Array], Array]] = {
    **{name: UNARY[name] for name in ("ceil", "cos", "erf", "exp", "floor", "log", "rsqrt")},
    **{name: UNARY[name] for name in ("sin", "tanh")},
    "reciprocal": lambda value: value.dtype.type(1) / value,
    "sigmoid": _sigmoid,
}


@impl(*(f"tosa.{name}" for name in _FLOAT_UNARY))
def _float_unary(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    if np.asarray(operands[0]).dtype.kind in "biu":
        raise OperationError(op, "is not defined on integers")
    return (apply_float(_FLOAT_UNARY[operation_name(op).removeprefix("tosa.")], operands[0]),)


@impl("tosa.abs")
def _absolute(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    width = integer_width(op.operands[0].type)
    if width is None:
        return (np.abs(np.asarray(operands[0])),)
    return (wrapped(np.abs(signed(operands[0], width)), op.results[0].type),)


@impl("tosa.negate")
def _negate(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    value = np.asarray(operands[0])
    width = integer_width(op.operands[0].type)
    if width is None:
        return (rounded(np.negative(value), value.dtype),)
    zero_points = [
        signed(one_element(op, operands, position), width).astype(np.int64) for position in (1, 2)
    ]
    source, target = zero_points
    result = target - (signed(value, width).astype(np.int64) - source)
    if width < 32:
        result = saturated(result, width)
    return (wrapped(np.asarray(result), op.results[0].type),)


def saturated(value: Array, width: int, *, to_unsigned: bool = False) -> Array:
    """Clamp integers to the range of a bit width."""
    return np.clip(value, *integer_range(width, is_signed=not to_unsigned))


@impl("tosa.bitwise_not", "tosa.logical_not")
def _invert(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    width = width_of(op, op.operands[0].type)
    return (wrapped(~signed(operands[0], width), op.results[0].type),)


_INTEGER_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "arithmetic_right_shift": np.right_shift,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "logical_and": np.bitwise_and,
    "logical_left_shift": np.left_shift,
    "logical_or": np.bitwise_or,
    "logical_xor": np.bitwise_xor,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "sub": np.subtract,
}
_FLOAT_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "maximum": maximum,
    "minimum": minimum,
    "pow": np.power,
    "sub": np.subtract,
}
_FLOAT_BINARY_WITHOUT_NAN: dict[str, Callable[[Array, Array], Array]] = {
    "maximum": np.fmax,
    "minimum": np.fmin,
}
_SHIFTS = frozenset({"arithmetic_right_shift", "logical_left_shift"})


@impl(*(f"tosa.{name}" for name in {**_INTEGER_BINARY, **_FLOAT_BINARY}))
def _binary(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    name = operation_name(op).removeprefix("tosa.")
    width = integer_width(op.operands[0].type)
    _check_broadcast(op, operands)
    if width is None:
        function = _FLOAT_BINARY.get(name)
        if function is None:
            raise OperationError(op, "is not defined on floats")
        if ignores_nan(op):
            function = _FLOAT_BINARY_WITHOUT_NAN.get(name, function)
        return (apply_float(function, *operands),)
    left, right = (signed(operand, width) for operand in operands)
    if name in _SHIFTS:
        _check_shift(op, right, width)
    combine = _INTEGER_BINARY.get(name)
    if combine is None:
        raise OperationError(op, "is not defined on integers")
    result = combine(left, right)
    if name == "arithmetic_right_shift" and flag(op, "round"):
        # Half a unit of the result is added before the shift.
        lost = np.where(right > 0, left >> np.maximum(right - 1, 0), 0) & 1
        result = result + lost.astype(result.dtype)
    return (wrapped(result, op.results[0].type),)


@impl("tosa.logical_right_shift")
def _logical_right_shift(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    width = width_of(op, op.operands[0].type)
    left, right = (unsigned(operand, width) for operand in operands)
    _check_shift(op, right, width)
    return (wrapped(left >> right, op.results[0].type),)


def ignores_nan(op: Operation) -> bool:
    """Return whether minima and maxima ignore NaN."""
    return "IGNORE" in text(op, "nan_mode").upper()


def _check_shift(op: Operation, amount: Array, width: int) -> None:
    if np.any((amount < 0) | (amount >= width)):
        raise OperationError(
            op, f"shifts {width}-bit integers by less than 0 or more than {width - 1}"
        )


def _check_broadcast(op: Operation, operands: Sequence[Value]) -> None:
    shapes = [np.shape(operand) for operand in operands]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError as error:
        texts = " and ".join(map(shape_text, shapes))
        raise OperationError(op, f"cannot broadcast {texts}") from error


def one_element(op: Operation, operands: Sequence[Value], position: int) -> Array:
    """Return an operand that must have one element as a scalar. Raises OperationError."""
    array = np.asarray(operands[position])
    if array.size != 1:
        raise OperationError(
            op, f"has operand #{position} of {shape_phrase(array.shape)}, expected one element"
        )
    return array.reshape(())


@impl("tosa.intdiv")
def _divide(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    width = width_of(op, op.operands[0].type)
    _check_broadcast(op, operands)
    left, right = (signed(operand, width) for operand in operands)
    if np.any(right == 0):
        raise OperationError(op, "divides by zero")
    return (wrapped(truncated_quotient(left, right), op.results[0].type),)


@impl("tosa.mul")
def _multiply(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    width = integer_width(op.operands[0].type)
    _check_broadcast(op, operands[:2])
    if width is None:
        return (apply_float(np.multiply, *operands[:2]),)
    left, right = (signed(operand, width).astype(np.int64) for operand in operands[:2])
    product = left * right
    shift = int(one_element(op, operands, 2))
    if shift:
        product = (product + (1 << (shift - 1))) >> shift
    return (wrapped(product, op.results[0].type),)


_COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "equal": np.equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}


@impl(*(f"tosa.{name}" for name in _COMPARISONS))
def _compare(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    _check_broadcast(op, operands)
    width = integer_width(op.operands[0].type)
    left, right = operands if width is None else (signed(each, width) for each in operands)
    return (np.asarray(_COMPARISONS[operation_name(op).removeprefix("tosa.")](left, right)),)


@impl("tosa.select")
def _select(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    _check_broadcast(op, operands)
    condition, left, right = operands
    return (choose(condition, left, right),)


@impl("tosa.clamp")
def _clamp(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    value = np.asarray(operands[0])
    low, high = (constant_array(op, attribute(op, f"{side}_val")) for side in ("min", "max"))
    if integer_width(op.operands[0].type) is not None:
        return (np.clip(value, low.astype(value.dtype), high.astype(value.dtype)),)
    low, high = rounded(low, value.dtype), rounded(high, value.dtype)
    # NaN is passed on by default; in the `ignore` mode it becomes the lower bound.
    if ignores_nan(op):
        return (np.minimum(np.fmax(value, low), high),)
    return (np.minimum(np.maximum(value, low), high),)


@impl("tosa.cast")
def _cast(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source, target = op.operands[0].type, op.results[0].type
    from_width, to_width = integer_width(source), integer_width(target)
    value = np.asarray(operands[0])
    if to_width == 1:
        return (np.asarray(value != 0),)
    if from_width is not None:
        # Booleans convert to 0 and 1, not to 0 and -1.
        wide = (unsigned if from_width == 1 or is_unsigned(source) else signed)(value, from_width)
        return (
            (
                to_float(wide, dtype_of(target))
                if to_width is None
                else wrapped(wide.astype(np.int64), target)
            ),
        )
    if to_width is None:
        return (to_float(value, dtype_of(target)),)
    # Round to nearest, ties to even, and saturate; NaN becomes 0.
    whole = np.nan_to_num(np.rint(value.astype(np.float64)), posinf=np.inf, neginf=-np.inf)
    limit = 2.0 ** (to_width - 1)
    inside = np.where((whole > -limit) & (whole < limit), whole, 0.0).astype(np.int64)
    result = np.where(whole >= limit, (1 << (to_width - 1)) - 1, inside)
    result = np.where(whole <= -limit, -(1 << (to_width - 1)), result)
    return (wrapped(result, target),)


@impl("tosa.rescale")
def _rescale(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    value, multiplier, shift, *_ = operands
    width, result_width = (width_of(op, each.type) for each in (op.operands[0], op.results[0]))
    read, write = (
        unsigned if flag(op, f"{side}_unsigned") else signed for side in ("input", "output")
    )
    source = read(one_element(op, operands, 3), width).astype(np.int64)
    target = write(one_element(op, operands, 4), result_width).astype(np.int64)
    centred = read(value, width).astype(np.int64) - source
    factor = np.asarray(multiplier).astype(np.int64)
    amount = np.asarray(shift).astype(np.int64)
    scaled = _scaled(op, centred, factor, amount) + target
    bounded = saturated(scaled, result_width, to_unsigned=flag(op, "output_unsigned"))
    return (wrapped(bounded, op.results[0].type),)


@impl("tosa.apply_scale", pointwise=True)
def _apply_scale(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    value, factor, amount = (np.asarray(each).astype(np.int64) for each in operands)
    if ((amount < 2) | (amount > 62)).any():
        raise OperationError(op, "shifts by less than 2 or by more than 62 bits")
    if (factor < 0).any():
        raise OperationError(op, "has a negative multiplier")
    bound = np.int64(1) << (amount - 1)
    if ((value < -bound) | (value >= bound)).any():
        raise OperationError(op, "has a value that does not fit in the bits that are shifted out")
    return (wrapped(_scaled(op, value, factor, amount), op.results[0].type),)


def _scaled(op: Operation, value: Array, factor: Array, amount: Array) -> Array:
    """Compute `value * factor / 2**amount`, rounded."""
    half = np.int64(1) << (amount - 1)
    if "DOUBLE" in text(op, "rounding_mode").upper():
        # Double rounding: also round the bits that a 32-bit multiplication would have shifted out.
        extra = np.where(value >= 0, 1 << 30, -(1 << 30))
        half = half + np.where(amount > 31, extra, 0)
    return (value * factor + half) >> amount


@impl("tosa.table")
def _table(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    value, table = np.asarray(operands[0]), np.asarray(operands[1])
    if integer_width(op.operands[0].type) == 8:
        return (table[value.astype(np.int64) + 128],)
    # 16 bits select one of 512 intervals and one of 128 positions in it (TOSA 1.0, TABLE).
    place, fraction = (value.astype(np.int64) >> 7) + 256, value.astype(np.int64) & 127
    base, following = table[place].astype(np.int64), table[place + 1].astype(np.int64)
    return (((base << 7) + (following - base) * fraction).astype(np.int32),)


# --------------------------------------------------------------------------------------------
# Reductions


_REDUCTIONS: dict[str, Any] = {
    "reduce_all": np.logical_and,
    "reduce_any": np.logical_or,
    "reduce_max": np.maximum,
    "reduce_min": np.minimum,
    "reduce_product": np.multiply,
    "reduce_sum": np.add,
}
_REDUCTIONS_WITHOUT_NAN: dict[str, Any] = {"reduce_max": np.fmax, "reduce_min": np.fmin}


@impl(*(f"tosa.{name}" for name in _REDUCTIONS))
def _reduce(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    name, axis = operation_name(op).removeprefix("tosa."), integer(op, "axis")
    value = np.asarray(operands[0])
    if value.shape[axis] == 0 and name in _REDUCTIONS_WITHOUT_NAN:
        raise OperationError(
            op, f"reduces dimension {axis} of {shape_text(value.shape)}, which has no elements"
        )
    ignore_nan = ignores_nan(op) and name in _REDUCTIONS_WITHOUT_NAN
    function = (_REDUCTIONS_WITHOUT_NAN if ignore_nan else _REDUCTIONS)[name]
    if name in ("reduce_sum", "reduce_product"):
        return (_accumulated(function, value, axis, op.results[0].type),)
    return (function.reduce(value, axis=axis, keepdims=True).astype(value.dtype),)


def _accumulated(function: Any, value: Array, axis: int, result_type: Attribute) -> Array:
    width = integer_width(result_type)
    if width is not None:
        total = function.reduce(value.astype(np.int64), axis=axis, keepdims=True)
        return wrap(total, width)
    wide = value.astype(arithmetic_dtype(value.dtype))
    return function.reduce(wide, axis=axis, keepdims=True).astype(value.dtype)


@impl("tosa.argmax")
def _argmax(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    value, axis = np.asarray(operands[0]), integer(op, "axis")
    value = value.astype(arithmetic_dtype(value.dtype), copy=False)
    if ignores_nan(op) and value.shape[axis]:
        # The first index of the largest number; 0 if all are NaN.
        value = value == np.fmax.reduce(value, axis=axis, keepdims=True)
    return (np.argmax(value, axis=axis).astype(dtype_of(op.results[0].type)),)


# --------------------------------------------------------------------------------------------
# Matrix product


@impl("tosa.matmul")
def _matmul(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    left, right = (centred(op, operands, position, 2 + position) for position in range(2))
    if left.shape[0] != right.shape[0] or left.shape[2] != right.shape[1]:
        shapes = shape_text(left.shape), shape_text(right.shape)
        raise OperationError(op, f"cannot multiply {shapes[0]} by {shapes[1]}")
    return (narrowed(left @ right, op.results[0].type),)


def centred(op: Operation, operands: Sequence[Value], position: int, zero_point: int) -> Array:
    """Subtract the zero point from an operand, in a type wide enough to accumulate products."""
    value = np.asarray(operands[position])
    width = integer_width(op.operands[position].type)
    zero = one_element(op, operands, zero_point)
    if width is None:
        return value.astype(arithmetic_dtype(value.dtype))
    return signed(value, width).astype(np.int64) - signed(zero, width).astype(np.int64)


def narrowed(total: Array, result_type: Attribute) -> Array:
    """Convert an accumulated sum to the result's type."""
    if integer_width(result_type) is not None:
        return wrapped(total, result_type)
    return total.astype(dtype_of(result_type))


# --------------------------------------------------------------------------------------------
# Control flow


@impl_with_regions("tosa.cond_if")
def _if(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    region = op.regions[0] if np.asarray(operands[0]).reshape(()) else op.regions[1]
    arguments = operands[1:] if region.blocks and region.blocks[0].args else ()
    exit_: Exit = yield frame.run_region(region, arguments)
    return exit_.values


@impl_with_regions("tosa.while_loop")
def _while(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    values: Sequence[Value] = operands
    while True:
        condition: Exit = yield frame.run_region(op.regions[0], values)
        if not np.asarray(condition.values[0]).reshape(()):
            return values
        exit_: Exit = yield frame.run_region(op.regions[1], values)
        values = exit_.values

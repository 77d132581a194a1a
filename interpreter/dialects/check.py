"""Execute the `check` dialect: comparisons in test programs.

The errors name the largest difference and its position.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation

from ...dialects.check import filled_message
from ...ir.attribute_access import attribute, element_type, flag, integer, text
from ...ir.diagnostics import OperationError
from ...runtime.abi.arrays import Array, Value, is_float_dtype
from ..frames import Frame
from ..registry import Results, impl

MAX_ULPS = 3
"""The default limit of `close`, in units in the last place."""
TOLERANCE = 1e-3
"""The default absolute tolerance of `almost_eq`."""


@impl("check.agree")
def _agree(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    """Raise OperationError at the position of the largest difference if the values differ."""
    actual, expected = (np.asarray(operand) for operand in operands)
    if actual.shape != expected.shape:
        raise OperationError(
            op, f"finds a tensor of shape {actual.shape}, expected one of {expected.shape}"
        )
    how = text(op, "how")
    compare = {"eq": _equal, "almost_eq": _almost_equal, "close": _close}.get(how)
    if compare is None:
        raise OperationError(op, f"compares by '{how}', expected eq, almost_eq or close")
    wrong, distance, unit = compare(op, actual, expected)
    if wrong.any():
        place = tuple(
            map(int, np.unravel_index(np.where(wrong, distance, -1).argmax(), wrong.shape))
        )
        found, wanted = (_shown(op, each[place]) for each in (actual, expected))
        raise OperationError(
            op,
            f"finds {found} at {list(place)}, expected {wanted}: {int(wrong.sum())} of "
            f"{wrong.size} elements differ, this one by {distance[place]:g}{unit}",
        )
    return (np.array(True),)


@impl("check.holds", pointwise=True)
def _holds(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    """Raise OperationError with the values in its message if the condition does not hold."""
    condition, *values = operands
    if not np.all(condition):
        raise OperationError(op, f"does not hold: {filled_message(op, values)}")
    return ()


@impl("check.probe")
def _probe(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    """Keep the operand under the probe's name, or print it if there is no name."""
    value = np.array(operands[0])
    name = attribute(op, "probe_id")
    if name is None:
        print(f"{op.operands[0].type} {value.tolist()}", file=sys.stderr)
    else:
        frame.process.memory.setdefault(_PROBES, {}).setdefault(name, []).append(value)
    return ()


@impl("check.probed")
def _probed(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    """Return what a probe was given at one of its runs. Raises OperationError if it did not run."""
    name, run = attribute(op, "probe_id"), integer(op, "iteration", 0)
    seen = frame.process.memory.get(_PROBES, {}).get(name, [])
    if not 0 <= run < len(seen):
        raise OperationError(
            op, f"expects run {run} of the probe {name}, which has run {len(seen)} times"
        )
    return (seen[run],)


_PROBES = "check.probes"


Verdict = tuple[Array, Array, str]
"""For each element: whether it differs, and by how much; then the unit of the distance."""


def _shown(op: Operation, value: Any) -> str:
    element = element_type(op.operands[0].type)
    if flag(op, "is_unsigned") and isinstance(element, IntegerType):
        width = cast(int, element.width.data)  # pyright: ignore
        return str(int(value) & (1 << width) - 1)
    return str(value)


def _parts(values: Array) -> list[Array]:
    numbers: Any = values
    return [numbers.real, numbers.imag] if values.dtype.kind == "c" else [values]


def _is_nan(values: Array) -> Array:
    # np.isnan does not accept the types of ml_dtypes that NumPy does not know.
    return np.asarray(values != values)  # noqa: PLR0124


def _differences(actual: Array, expected: Array, *, unseen: float) -> Array:
    """Return the distances between numbers: 0 for equal ones and for two NaN.

    The distance between NaN and a number is infinity. Large integers that differ may be equal as
    f64: their distance is `unseen`.
    """
    with np.errstate(all="ignore"):
        total = np.zeros(actual.shape)
        for one, other in zip(_parts(actual), _parts(expected), strict=True):
            same = (one == other) | (_is_nan(one) & _is_nan(other))
            apart = np.abs(one.astype(np.float64) - other.astype(np.float64))
            apart = np.where(np.isnan(apart), np.inf, apart)
            apart = np.where(apart == 0, unseen, apart)
            total = np.maximum(total, np.where(same, 0.0, apart))
    return total


def _equal(op: Operation, actual: Array, expected: Array) -> Verdict:
    distance = _differences(actual, expected, unseen=1.0)
    return distance > 0, distance, ""


def _almost_equal(op: Operation, actual: Array, expected: Array) -> Verdict:
    absolute, relative = _number(op, "tolerance", TOLERANCE), _number(op, "rtol", 0.0)
    distance = _differences(actual, expected, unseen=0.0)
    with np.errstate(all="ignore"):
        size = np.max([np.abs(each.astype(np.float64)) for each in _parts(expected)], axis=0)
        # The distance from infinity is infinite, as is what it allows.
        limit = absolute + (relative * np.where(np.isfinite(size), size, 0.0) if relative else 0.0)
    return distance > limit, distance, ""


def _number(op: Operation, name: str, default: float) -> float:
    found: Any = attribute(op, name)
    return default if found is None else float(found.value.data)


def _ordered(values: Array) -> Array:
    """Map floats to integers in the same order, so that neighbouring floats differ by one."""
    bits = values.view(np.dtype(f"i{values.dtype.itemsize}")).astype(object)
    least = -(1 << (8 * values.dtype.itemsize - 1))
    return np.asarray(np.where(bits < 0, least - bits, bits))


def _close(op: Operation, actual: Array, expected: Array) -> Verdict:
    if not all(is_float_dtype(part.dtype) for part in _parts(actual)):
        return _equal(op, actual, expected)
    least = integer(op, "min_ulp_difference", 0)
    most = integer(op, "max_ulp_difference", MAX_ULPS)
    with np.errstate(all="ignore"):
        wrong = np.zeros(actual.shape, np.bool_)
        distance = np.zeros(actual.shape)
        for one, other in zip(_parts(actual), _parts(expected), strict=True):
            first, second = (np.ascontiguousarray(each) for each in (one, other))
            apart = np.abs(_ordered(first) - _ordered(second)).astype(np.float64)
            apart = apart.reshape(actual.shape)
            both = _is_nan(one) & _is_nan(other)
            apart = np.where(both, 0.0, np.where(_is_nan(one) | _is_nan(other), np.inf, apart))
            wrong |= (apart > most) | (apart < least)
            distance = np.maximum(distance, apart)
    return wrong, distance, " units in the last place"

"""Evaluate loop nests on whole arrays: affine accesses become strided views, bodies are vectorised.

A loop nest with extents `(n0, n1, ...)` is evaluated on arrays whose axes are the loops. An operand
that does not depend on a loop has extent 1 there and broadcasts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)

from ...ir.attribute_access import integer
from ...ir.diagnostics import OperationError
from ...ir.linear_forms import Linear, linear
from ...runtime.abi.arrays import Array, Value, shape_text
from ...runtime.abi.values import index_message
from ..frames import Frame, Plan

Extents = tuple[int, ...]


def evaluate(
    expression: AffineExpr, dimensions: Sequence[Array], symbols: Sequence[Array] = ()
) -> Array:
    """Evaluate an affine expression on integers or arrays of integers.

    Raises ValueError if it divides by a number that is not positive.
    """
    if isinstance(expression, AffineConstantExpr):
        return np.asarray(expression.value, np.int64)
    if isinstance(expression, AffineDimExpr):
        return dimensions[expression.position]
    if isinstance(expression, AffineSymExpr):
        return symbols[expression.position]
    if not isinstance(expression, AffineBinaryOpExpr):
        raise ValueError(f"{expression} is not an affine expression")
    left = evaluate(expression.lhs, dimensions, symbols)
    right = evaluate(expression.rhs, dimensions, symbols)
    match expression.kind:
        case AffineBinaryOpKind.Add:
            return left + right
        case AffineBinaryOpKind.Mul:
            return left * right
        case _ if np.any(right <= 0):
            raise ValueError(f"{expression} divides by a number that is not positive")
        case AffineBinaryOpKind.Mod:
            return left % right
        case AffineBinaryOpKind.FloorDiv:
            return left // right
        case AffineBinaryOpKind.CeilDiv:
            return -(-left // right)


def evaluate_map(
    op: Operation, affine_map: AffineMap, dimensions: Sequence[Array], symbols: Sequence[Array] = ()
) -> list[Array]:
    """Evaluate all results of an affine map. Raises OperationError where `evaluate` fails."""
    try:
        return [evaluate(result, dimensions, symbols) for result in affine_map.results]
    except ValueError as error:
        raise OperationError(op, str(error)) from error


@dataclass(frozen=True, slots=True)
class LoopNest:
    """A body that is run at each point of some loops, and arrays over these loops."""

    plan: Plan
    reads: Sequence[Array]
    writes: Sequence[Array]
    """What the body updates: initial values, then results."""
    parallel: Sequence[int]
    """The loops along which no two points share an element of any output."""
    extents: Extents
    frame: Frame

    @property
    def sequential(self) -> list[int]:
        """The other loops."""
        return [loop for loop in range(len(self.extents)) if loop not in self.parallel]

    def index(self, loop: int) -> Array:
        """Return the index of a loop at every point."""
        return loop_index(loop, self.extents)


def loop_index(loop: int, extents: Extents) -> Array:
    """Return the index of a loop at every point, with extent 1 along the other loops."""
    shape = [1] * len(extents)
    shape[loop] = extents[loop]
    return np.arange(extents[loop], dtype=np.int64).reshape(shape)


def loop_extents(
    op: Operation, loops: int, maps: Sequence[AffineMap], shapes: Sequence[tuple[int, ...]]
) -> Extents:
    """Return the trip count of each loop, from the operand dimensions that it alone indexes.

    Raises OperationError if two operands disagree, or none determines a loop.
    """
    extents: list[int | None] = [None] * loops
    for indexing_map, shape in zip(maps, shapes, strict=True):
        if len(indexing_map.results) != len(shape):
            raise OperationError(
                op, f"indexes a value of shape {shape_text(shape)} by {indexing_map}"
            )
        for result, extent in zip(indexing_map.results, shape, strict=True):
            if not isinstance(result, AffineDimExpr):
                continue
            known = extents[result.position]
            if known is not None and known != extent:
                raise OperationError(
                    op,
                    f"has operands with the extents {known} and {extent} of loop "
                    f"d{result.position}",
                )
            extents[result.position] = extent
    unknown = next((loop for loop, extent in enumerate(extents) if extent is None), None)
    if unknown is not None:
        raise OperationError(op, f"has no operand that determines the extent of loop d{unknown}")
    return tuple(extent for extent in extents if extent is not None)


def view(op: Operation, array: Array, indexing_map: AffineMap, extents: Extents) -> Array:
    """Return `array[map(point)]` for all points of the loops, which must not be empty.

    Linear maps give a view without copying. Raises OperationError if a point is out of bounds.
    """
    if array.shape == () and not indexing_map.results:
        return array.reshape((1,) * len(extents))
    parts = [linear(result) for result in indexing_map.results]
    exact = [part for part in parts if part is not None]
    if len(exact) < len(parts):
        return _gathered(op, array, indexing_map, extents)
    check_linear(op, exact, array.shape, extents)
    used = {loop for part in exact for loop in part.coefficients}
    shape = tuple(extent if loop in used else 1 for loop, extent in enumerate(extents))
    strides = [0] * len(extents)
    for axis, part in enumerate(exact):
        for loop, coefficient in part.coefficients.items():
            strides[loop] += coefficient * array.strides[axis]
    part = array[tuple(slice(part.constant, None) for part in exact)]
    if shape == part.shape and tuple(strides) == part.strides:
        return part
    if part.dtype.kind in "fV" and part.dtype.isbuiltin != 1:
        # as_strided supports only NumPy's own types, not f8.
        bits = np.dtype(f"u{part.dtype.itemsize}")
        return as_strided(part.view(bits), shape, strides).view(part.dtype)
    return as_strided(part, shape, strides)


def check_linear(
    op: Operation, parts: Sequence[Linear], shape: tuple[int, ...], extents: Extents
) -> None:
    """Raise OperationError if linear indices exceed an array of this shape."""
    for axis, part in enumerate(parts):
        low, high = part.bounds(extents)
        if low < 0 or high >= shape[axis]:
            raise OperationError(
                op,
                f"reads indices {low} to {high} of dimension {axis}, which has extent"
                f" {shape[axis]}",
            )


def slice_over_loops(array: Array, point: tuple[slice, ...]) -> Array:
    """Slice an array over loops. Dimensions of extent 1, which do not depend on a loop, stay."""
    parts = (
        slice(None) if extent == 1 else part
        for part, extent in zip(point, array.shape, strict=True)
    )
    # The ellipsis keeps an array of rank 0 an array.
    return array[(*parts, ...)]


def _gathered(op: Operation, array: Array, indexing_map: AffineMap, extents: Extents) -> Array:
    points = [loop_index(loop, extents) for loop in range(len(extents))]
    indices = evaluate_map(op, indexing_map, points)
    check_indices(op, indices, array.shape)
    return np.asarray(array[tuple(np.broadcast_arrays(*indices))])


def check_indices(op: Operation, indices: Sequence[Value], shape: tuple[int, ...]) -> None:
    """Raise OperationError if an index is out of bounds for an array of this shape."""
    if len(indices) != len(shape):
        raise OperationError(op, f"has {len(indices)} indices for shape {shape_text(shape)}")
    for axis, (index, extent) in enumerate(zip(indices, shape, strict=True)):
        array = np.asarray(index)
        if array.ndim == 0 and 0 <= int(array) < extent:
            continue
        wrong = (array < 0) | (array >= extent)
        if wrong.any():
            raise OperationError(op, index_message(int(array[wrong].flat[0]), axis, extent))


def element(op: Operation, array: Value, indices: Sequence[Value]) -> Array:
    """Return an element of an array. Raises OperationError if an index is out of bounds."""
    check_indices(op, indices, np.shape(array))
    return np.asarray(np.asarray(array)[tuple(indices)])


def set_element(op: Operation, array: Array, indices: Sequence[Value], value: Value) -> None:
    """Write an element of an array. Raises OperationError if an index is out of bounds."""
    check_indices(op, indices, array.shape)
    array[tuple(indices)] = value


def with_element(op: Operation, array: Value, indices: Sequence[Value], value: Value) -> Array:
    """Return a copy of an array with one element replaced. Raises OperationError likewise."""
    result = np.array(array)
    set_element(op, result, indices, value)
    return result


# --------------------------------------------------------------------------------------------
# Bodies


def is_pointwise(plan: Plan) -> bool:
    """Return whether a body can run on whole arrays: all its operations are elementwise."""
    return all(step.pointwise or step.name == "linalg.index" for step in plan.steps)


def run_body(
    plan: Plan, arguments: Sequence[Value], frame: Frame, index: Callable[[int], Value]
) -> list[Value]:
    """Run a pointwise body on arrays and return the values that it yields.

    `index` returns the indices of a loop at the points. Values from outside the body are read from
    the frame.
    """
    local: dict[SSAValue, Value] = dict(zip(plan.arguments, arguments, strict=False))
    outer = frame.values
    for step in plan.steps:
        operands = [
            local[operand] if operand in local else outer[operand] for operand in step.operands
        ]
        if step.name == "linalg.index":
            results = (index(integer(step.operation, "dim")),)
        elif step.execute is not None:
            results = step.execute(step.operation, operands, frame)
        else:
            raise ValueError(f"{step.name} does not only compute")
        local.update(zip(step.results, results, strict=True))
    if plan.terminator is None:
        return []
    return [
        local[operand] if operand in local else outer[operand]
        for operand in plan.terminator.operands
    ]

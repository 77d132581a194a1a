"""Check that a structured operation accesses its operands in bounds, for known sizes.

Types may leave sizes dynamic, and maps need not be monotone. Two operands' dynamic sizes may
disagree. The errors are those of the interpreter.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.ir import Operation
from xdsl.ir.affine import AffineBinaryOpExpr, AffineDimExpr, AffineExpr, AffineMap

from ....dialects.linalg.structured_view import StructuredView
from ....interpreter.nests.loops import Extents, check_linear, evaluate, linear, loop_extents
from ....interpreter.nests.structured import check_output_map
from ....ir.diagnostics import OperationError
from ....ir.intervals import Interval, affine_interval
from ....runtime.abi.values import index_message

Shape = tuple[int, ...]

FEW_POINTS = 1 << 14
"""The number of loop points that are evaluated at once."""


def check_accesses(view: StructuredView, shapes: Sequence[Shape]) -> None:
    """Raise OperationError if operands of these shapes do not fit together."""
    op = view.operation
    extents = loop_extents(op, len(view.iterators), view.maps, shapes)
    if 0 in extents:
        return
    for number, (indexing_map, shape) in enumerate(zip(view.maps, shapes, strict=True)):
        if number >= len(view.inputs):
            check_output_map(op, indexing_map)
        _check_map(op, indexing_map, shape, extents)


def _check_map(op: Operation, indexing_map: AffineMap, shape: Shape, extents: Extents) -> None:
    parts = [linear(each) for each in indexing_map.results]
    exact = [part for part in parts if part is not None]
    if len(exact) == len(parts):
        check_linear(op, exact, shape, extents)
        return
    for axis, (expression, extent) in enumerate(zip(indexing_map.results, shape, strict=True)):
        try:
            index = first_outside(expression, extents, extent)
        except ValueError as error:
            raise OperationError(op, str(error)) from error
        if index is not None:
            raise OperationError(op, index_message(index, axis, extent))


def first_outside(expression: AffineExpr, extents: Extents, size: int) -> int | None:
    """Return the first out-of-bounds index, over non-empty loops in their order; `None` if all fit.

    Interval arithmetic decides if it can. Where the intervals are too wide, the loops are bisected
    until few points are left, which are evaluated. Raises ValueError for a divisor that is not
    positive.
    """
    used = sorted(_loops(expression))

    def search(box: dict[int, Interval]) -> int | None:
        ranges = [box.get(loop, Interval(0, 0)) for loop in range(len(extents))]
        found = affine_interval(expression, ranges)
        if found is not None and found.is_within(size):
            return None
        if prod(each.high - each.low + 1 for each in box.values()) <= FEW_POINTS:
            return _first_of_points(expression, ranges, size)
        # The outermost loop is cut first, so that the halves keep the order of the points.
        loop = next(each for each in used if box[each].low < box[each].high)
        low, high = box[loop].low, box[loop].high
        middle = (low + high) // 2
        first = search({**box, loop: Interval(low, middle)})
        return search({**box, loop: Interval(middle + 1, high)}) if first is None else first

    return search({loop: Interval(0, extents[loop] - 1) for loop in used})


def _loops(expression: AffineExpr) -> set[int]:
    if isinstance(expression, AffineDimExpr):
        return {expression.position}
    if isinstance(expression, AffineBinaryOpExpr):
        return _loops(expression.lhs) | _loops(expression.rhs)
    return set()


def _first_of_points(expression: AffineExpr, ranges: Sequence[Interval], size: int) -> int | None:
    lengths = [each.high - each.low + 1 for each in ranges]
    points = [
        each.low
        + np.arange(length).reshape([-1 if axis == loop else 1 for axis in range(len(ranges))])
        for loop, (each, length) in enumerate(zip(ranges, lengths, strict=True))
    ]
    indices = evaluate(expression, points)
    wrong = (indices < 0) | (indices >= size)
    return int(indices[wrong].flat[0]) if wrong.any() else None

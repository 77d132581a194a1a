"""Execute the `affine` dialect: affine maps of indices, loops and conditions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr
from xdsl.ir import Operation
from xdsl.ir.affine import AffineMap

from ...dialects.atomic_kinds import kind_names
from ...ir.attribute_access import attribute, integer, integers, mixed, operand_groups, required
from ...ir.diagnostics import OperationError
from ...runtime.abi.arrays import Array, Value
from ..atomic_kinds import combined, neutral
from ..frames import Exit, Frame
from ..nests.loops import element, evaluate_map, set_element
from ..registry import Results, Routine, impl, impl_with_regions, terminates

terminates("affine.yield")


def _map(op: Operation, name: str = "map") -> AffineMap:
    found = required(op, name)
    if not isinstance(found, AffineMapAttr):
        raise OperationError(op, f"expects an affine map '{name}', found {found}")
    return found.data


def _images(op: Operation, affine_map: AffineMap, operands: Sequence[Value]) -> list[Array]:
    count = affine_map.num_dims
    arrays = [np.asarray(operand) for operand in operands]
    if len(arrays) != count + affine_map.num_symbols:
        raise OperationError(
            op,
            f"expects {count + affine_map.num_symbols} operands for {affine_map}, found "
            f"{len(arrays)}",
        )
    images = evaluate_map(op, affine_map, arrays[:count], arrays[count:])
    return [np.asarray(image) for image in images]


@impl("affine.apply", pointwise=True)
def _apply(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return _images(op, _map(op), operands)


@impl("affine.min", pointwise=True)
def _min(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (reduce(np.minimum, _images(op, _map(op), operands)),)


@impl("affine.max", pointwise=True)
def _max(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (reduce(np.maximum, _images(op, _map(op), operands)),)


@impl("affine.delinearize_index", pointwise=True)
def _delinearize(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    basis = mixed(op, "static_basis", operands[1:])
    # The basis may omit the outermost bound: then it has one element fewer than there are results.
    inner = basis[1:] if len(basis) == len(op.results) else basis
    rest = np.asarray(operands[0])
    indices: list[Array] = []
    for extent in reversed(inner):
        indices.append(rest % extent)
        rest = rest // extent
    return [rest, *reversed(indices)]


@impl("affine.linearize_index", pointwise=True)
def _linearize(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    indices, dynamic = operand_groups(op, operands)
    basis = mixed(op, "static_basis", dynamic)
    inner = basis[1:] if len(basis) == len(indices) else basis
    total = np.asarray(indices[0])
    for index, extent in zip(indices[1:], inner, strict=True):
        total = total * extent + index
    return (np.asarray(total),)


@impl_with_regions("affine.for")
def _for(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    lows, highs, carried = operand_groups(op, operands)
    low = max(int(bound) for bound in _images(op, _map(op, "lowerBoundMap"), lows))
    high = min(int(bound) for bound in _images(op, _map(op, "upperBoundMap"), highs))
    values = carried
    for index in range(low, high, integer(op, "step", 1)):
        exit_: Exit = yield frame.run_region(op.regions[0], [np.int64(index), *values])
        values = exit_.values
    return values


@impl_with_regions("affine.parallel")
def _parallel(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    lower, upper = _map(op, "lowerBoundsMap"), _map(op, "upperBoundsMap")
    count = lower.num_dims + lower.num_symbols
    lows = _grouped(_images(op, lower, operands[:count]), integers(op, "lowerBoundsGroups"), max)
    highs = _grouped(_images(op, upper, operands[count:]), integers(op, "upperBoundsGroups"), min)
    kinds, types = kind_names(attribute(op, "reductions")), [each.type for each in op.results]
    totals = [neutral(*each) for each in zip(kinds, types, strict=True)]
    for point in product(*map(range, lows, highs, integers(op, "steps"))):
        exit_: Exit = yield frame.run_region(op.regions[0], [np.int64(index) for index in point])
        terms = zip(kinds, totals, exit_.values, types, strict=True)
        totals = [combined(op, *each) for each in terms]
    return totals


def _grouped(bounds: Sequence[Array], groups: Sequence[int], choose: Any) -> list[int]:
    numbers = iter([int(bound) for bound in bounds])
    return [choose(next(numbers) for _ in range(size)) for size in groups]


@impl_with_regions("affine.if")
def _if(op: Operation, operands: Sequence[Value], frame: Frame) -> Routine:
    condition = required(op, "condition")
    if not isinstance(condition, AffineSetAttr):
        raise OperationError(op, f"expects an integer set 'condition', found {condition}")
    constraints = condition.data
    sides = (side for each in constraints.constraints for side in (each.lhs, each.rhs))
    sides = AffineMap(constraints.num_dims, constraints.num_symbols, tuple(sides))
    numbers = iter([int(image) for image in _images(op, sides, operands)])
    holds = True
    for constraint, left, right in zip(constraints.constraints, numbers, numbers, strict=True):
        kind = cast(str, constraint.kind.value)
        holds = holds and {"==": left == right, ">=": left >= right, "<=": left <= right}[kind]
    exit_: Exit = yield frame.run_region(op.regions[0 if holds else 1], ())
    return exit_.values


@impl("affine.load")
def _load(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    return (element(op, operands[0], _images(op, _map(op), operands[1:])),)


@impl("affine.store")
def _store(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    value, array, *rest = operands
    set_element(op, array, _images(op, _map(op), rest), value)
    return ()

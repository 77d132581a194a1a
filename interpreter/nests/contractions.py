"""Evaluate sums of products (matrix products, convolutions and others) as one dense product.

Floats narrower than f32 are multiplied and added in f32 and rounded once. Integers are exact: they
are computed in f64 where every partial sum fits its 53-bit significand, otherwise in i64 with
wraparound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ...runtime.abi.arrays import Array, arithmetic_dtype, wrap
from ...runtime.abi.values import integer_width, is_unsigned
from ..frames import Plan, Step
from .loops import Extents, LoopNest, run_body

_SUMS = {
    "arith.addf": "arith.mulf",
    "arith.addi": "arith.muli",
    "complex.add": "complex.mul",
}
"""Maps an addition to the multiplication that distributes over it."""

_MAXIMAL_FACTOR = 1 << 24
"""Maximal number of elements of a factor. Larger ones are not materialised: `contract` returns
`None`."""


def product_factors(plan: Plan, input_count: int) -> tuple[Plan, ...] | None:
    """Return the plans of at least two factors whose product a body adds to its output.

    Return `None` for other bodies.
    """
    end = plan.terminator
    if end is None or len(end.operands) != 1 or len(plan.arguments) != input_count + 1:
        return None
    output = plan.arguments[input_count]
    makers = {result: step for step in plan.steps for result in step.results}
    addition = makers.get(end.operands[0])
    if addition is None or addition.name not in _SUMS or output not in addition.operands:
        return None
    if integer_width(output.type) == 1:
        return None
    rest = [operand for operand in addition.operands if operand is not output]
    if len(rest) != 1:
        return None
    factors = _factors(rest[0], _SUMS[addition.name], makers)
    plans = tuple(sub_plan(plan, factor, makers) for factor in factors)
    if len(plans) < 2 or any(depends_on(each, output) for each in plans):
        return None
    return plans


def _factors(value: SSAValue, multiplication: str, makers: dict[SSAValue, Step]) -> list[SSAValue]:
    step = makers.get(value)
    if step is None or step.name != multiplication:
        return [value]
    left, right = step.operands
    return _factors(left, multiplication, makers) + _factors(right, multiplication, makers)


def sub_plan(plan: Plan, value: SSAValue, makers: dict[SSAValue, Step]) -> Plan:
    """Return the steps of a body that one value depends on, as a plan that yields this value."""
    needed: set[SSAValue] = set()
    pending = [value]
    while pending:
        wanted = pending.pop()
        if wanted not in needed:
            needed.add(wanted)
            step = makers.get(wanted)
            pending.extend(step.operands if step else ())
    steps = tuple(step for step in plan.steps if any(result in needed for result in step.results))
    end = plan.terminator
    return Plan(None, plan.arguments, steps, replace(end, operands=(value,)) if end else None)


def depends_on(plan: Plan, value: SSAValue) -> bool:
    """Return whether a plan reads a value."""
    read = {operand for step in plan.steps for operand in step.operands}
    read.update(plan.terminator.operands if plan.terminator else ())
    return value in read


def contract(factor_plans: Sequence[Plan], nest: LoopNest) -> Array | None:
    """Evaluate a body that adds the product of its factors, over all loops but the parallel ones.

    Returns `None` if a factor is too large.
    """
    (start,), parallel, extents = nest.writes, nest.parallel, nest.extents
    output_type = nest.plan.arguments[len(nest.reads)].type
    factors: list[Array] = []
    for factor in factor_plans:
        if _size(factor, nest) > _MAXIMAL_FACTOR:
            return None
        (value,) = run_body(factor, [*nest.reads, start], nest.frame, nest.index)
        array = np.asarray(value)
        factors.append(array.reshape((1,) * (len(extents) - array.ndim) + array.shape))
    repeated = prod(
        extent
        for loop, extent in enumerate(extents)
        if loop not in parallel and all(factor.shape[loop] == 1 for factor in factors)
    )
    width = integer_width(output_type)
    if width is not None:
        total = _integer_sum(factors, parallel, repeated, extents).astype(np.int64)
        result = start.astype(np.int64) + total
        return wrap(result, width, to_unsigned=is_unsigned(output_type))
    compute = arithmetic_dtype(start.dtype)
    wide = [factor.astype(compute, copy=False) for factor in factors]
    total = _dense_product(wide, parallel) * compute.type(repeated)
    return (start.astype(compute, copy=False) + total).astype(start.dtype)


def _size(factor: Plan, nest: LoopNest) -> int:
    shapes = [
        read.shape
        for argument, read in zip(nest.plan.arguments, nest.reads, strict=False)
        if depends_on(factor, argument)
    ]
    if any(step.name == "linalg.index" for step in factor.steps):
        shapes.append(nest.extents)
    return prod(np.broadcast_shapes(*shapes)) if len(shapes) > 1 else 0


def _integer_sum(
    factors: Sequence[Array], parallel: Sequence[int], repeated: int, extents: Extents
) -> Array:
    terms = prod(extents)
    bound = float(terms) * prod(_magnitude(factor) for factor in factors)
    if bound < 2.0**53:
        return (
            _dense_product([factor.astype(np.float64) for factor in factors], parallel) * repeated
        )
    return _dense_product([factor.astype(np.int64) for factor in factors], parallel) * repeated


def _magnitude(factor: Array) -> float:
    return max(abs(float(factor.max())), abs(float(factor.min())), 1.0)


def _dense_product(factors: Sequence[Array], parallel: Sequence[int]) -> Array:
    """Multiply arrays over loops, and sum over all loops except `parallel`."""
    result = factors[0]
    for position, factor in enumerate(factors[1:], start=2):
        later = factors[position:]
        kept = {
            loop
            for loop in range(result.ndim)
            if loop in parallel or any(other.shape[loop] != 1 for other in later)
        }
        result = _pair(result, factor, kept)
    return result


def _pair(left: Array, right: Array, kept: set[int]) -> Array:
    """Multiply two arrays over loops, and sum over the loops that are not kept."""
    loops = range(left.ndim)
    in_left = {loop for loop in loops if left.shape[loop] != 1}
    in_right = {loop for loop in loops if right.shape[loop] != 1}
    left = _sum_away(left, in_left - in_right - kept)
    right = _sum_away(right, in_right - in_left - kept)
    batch = [loop for loop in loops if loop in in_left & in_right & kept]
    rows = [loop for loop in loops if loop in (in_left - in_right) & kept]
    columns = [loop for loop in loops if loop in (in_right - in_left) & kept]
    inner = [loop for loop in loops if loop in (in_left & in_right) - kept]
    product = _matrix(left, batch, rows, inner) @ _matrix(right, batch, inner, columns)
    order = [*batch, *rows, *columns]
    shape = [left.shape[loop] if loop in in_left else right.shape[loop] for loop in order]
    rest = [loop for loop in loops if loop not in order]
    full = product.reshape(shape + [1] * len(rest))
    return np.transpose(full, np.argsort([*order, *rest]))


def _sum_away(array: Array, loops: set[int]) -> Array:
    return array.sum(axis=tuple(loops), keepdims=True, dtype=array.dtype) if loops else array


def _matrix(
    array: Array, batch: Sequence[int], rows: Sequence[int], columns: Sequence[int]
) -> np.ndarray[Any, Any]:
    """Reshape an array over loops to a stack of matrices."""
    order = [*batch, *rows, *columns]
    rest = [loop for loop in range(array.ndim) if loop not in order]

    def size(loops: Sequence[int]) -> int:
        return prod(array.shape[loop] for loop in loops)

    return np.transpose(array, [*order, *rest]).reshape(size(batch), size(rows), size(columns))

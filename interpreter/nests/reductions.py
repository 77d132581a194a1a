"""Evaluate reductions by one associative, commutative operation: combine halves repeatedly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ...ir.combiners import COMBINERS
from ...runtime.abi.arrays import Array, is_narrow_float
from ..frames import Frame, Plan, Step
from .contractions import depends_on, sub_plan
from .loops import Extents, LoopNest, run_body, slice_over_loops

ASSOCIATIVE = frozenset({*COMBINERS, "complex.mul"})
"""Operations whose order in a reduction does not matter (for floats: up to rounding)."""

_MAXIMAL_PIECE = 1 << 22
"""Number of loop points that are evaluated at once."""

_WIDE: dict[str, Callable[[Array, Array], Array]] = {
    "arith.addf": np.add,
    "arith.mulf": np.multiply,
}
"""Operations that accumulate narrow floats in f32 and round at the end."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """One output, `combiner(output, term)`, where the term does not depend on any output."""

    combiner: Step
    term: Plan


def find_reductions(plan: Plan, input_count: int) -> tuple[Reduction, ...] | None:
    """Match each output of a body as a reduction; return `None` if one of them is not."""
    outputs = plan.arguments[input_count:]
    if plan.terminator is None or len(plan.terminator.operands) != len(outputs):
        return None
    makers = {result: step for step in plan.steps for result in step.results}
    reductions: list[Reduction] = []
    for output, value in zip(outputs, plan.terminator.operands, strict=True):
        combiner = makers.get(value)
        if combiner is None or combiner.name not in ASSOCIATIVE:
            return None
        rest = [operand for operand in combiner.operands if operand is not output]
        if len(rest) != 1 or len(combiner.operands) != 2:
            return None
        term = sub_plan(plan, rest[0], makers)
        if any(depends_on(term, each) for each in outputs):
            return None
        reductions.append(Reduction(combiner, term))
    return tuple(reductions)


def reduce_by_halves(reductions: Sequence[Reduction], nest: LoopNest) -> list[Array]:
    """Return the outputs after all loops, with extent 1 along the sequential ones."""
    starts, sequential, extents, frame = nest.writes, nest.sequential, nest.extents, nest.frame
    indices = [nest.index(loop) for loop in range(len(extents))]
    longest = max(sequential, key=lambda loop: extents[loop])
    others = prod(extents) // extents[longest]
    piece = max(1, _MAXIMAL_PIECE // max(others, 1))
    totals: list[Array | None] = [None] * len(reductions)
    for begin in range(0, extents[longest], piece):
        end = min(begin + piece, extents[longest])
        span = tuple(
            slice(begin, end) if loop == longest else slice(None) for loop in range(len(extents))
        )
        shape = tuple(end - begin if loop == longest else n for loop, n in enumerate(extents))
        arguments = [slice_over_loops(read, span) for read in nest.reads] + list(starts)

        def index(loop: int, span: tuple[slice, ...] = span) -> Array:
            return slice_over_loops(indices[loop], span)

        for position, reduction in enumerate(reductions):
            (term,) = run_body(reduction.term, arguments, frame, index)
            combine = _combiner(reduction, starts[position], frame)
            part = _fold(_widened(reduction, np.asarray(term)), shape, sequential, combine)
            total = totals[position]
            totals[position] = part if total is None else combine(total, part)
    results: list[Array] = []
    for reduction, start, total in zip(reductions, starts, totals, strict=True):
        if total is not None:
            combine = _combiner(reduction, start, frame)
            results.append(combine(_widened(reduction, start), total).astype(start.dtype))
    return results


def _widened(reduction: Reduction, array: Array) -> Array:
    if reduction.combiner.name in _WIDE and is_narrow_float(array.dtype):
        return array.astype(np.float32)
    return array


def _combiner(reduction: Reduction, start: Array, frame: Frame) -> Callable[[Array, Array], Array]:
    step = reduction.combiner
    wide = _WIDE.get(step.name)
    if wide is not None and is_narrow_float(start.dtype):
        return wide
    execute = step.execute
    if execute is None:
        raise ValueError(f"{step.name} only computes")
    return lambda left, right: np.asarray(execute(step.operation, (left, right), frame)[0])


def _fold(
    term: Array,
    shape: Extents,
    sequential: Sequence[int],
    combine: Callable[[Array, Array], Array],
) -> Array:
    """Reduce an array over loops along the sequential ones, which keep extent 1."""
    full = tuple(
        shape[loop] if loop in sequential else (term.shape[loop] if term.ndim else 1)
        for loop in range(len(shape))
    )
    kept = [loop for loop in range(len(shape)) if loop not in sequential]
    ordered = np.transpose(np.broadcast_to(term, full), [*kept, *sequential])
    rest = ordered.reshape(*(full[loop] for loop in kept), -1)
    while rest.shape[-1] > 1:
        half = rest.shape[-1] // 2
        odd = rest[..., 2 * half :]
        rest = combine(rest[..., :half], rest[..., half : 2 * half])
        if odd.shape[-1]:
            first = combine(rest[..., :1], odd)
            rest = np.concatenate([first, rest[..., 1:]], axis=-1)
    return rest.reshape(tuple(1 if loop in sequential else n for loop, n in enumerate(full)))

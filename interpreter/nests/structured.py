"""Evaluate the structured operations of linalg: loop nests on whole arrays.

Loops along which every output element is distinct are evaluated at once, whatever their iterator
type. The other loops (reductions) are evaluated, in this order of preference,

1. as a contraction, if the body is a sum of products (`contractions`);
2. in one pass over terms and results, if each result combines the terms up to it (`running_nest`);
3. by combining halves, if the body combines the output with a value that does not depend on
   it, by an associative and commutative operation (`reductions`);
4. one point after the other.

The order of a reduction is not part of an operation's semantics, so 1 and 3 may round floats
differently than 4. Sums in types narrower than f32 are accumulated in f32.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np
from xdsl.ir import Operation
from xdsl.ir.affine import AffineMap

from ...dialects.linalg.running_nests import RunningNest, running_nest
from ...dialects.linalg.structured_view import StructuredView
from ...ir.diagnostics import OperationError
from ...ir.linear_forms import linear
from ...runtime.abi.arrays import Array, Value
from ..frames import Exit, Frame
from ..registry import Routine
from .contractions import contract, product_factors
from .loops import LoopNest, is_pointwise, loop_extents, run_body, slice_over_loops, view
from .reductions import find_reductions, reduce_by_halves


def run_structured(nest: StructuredView, operands: Sequence[Value], frame: Frame) -> Routine:
    """Evaluate a structured operation and return one array per output."""
    op = nest.operation
    arrays = [np.asarray(operand) for operand in operands]
    inputs = arrays[: len(nest.inputs)]
    results = [array.copy() for array in arrays[len(nest.inputs) :]]
    extents = loop_extents(op, len(nest.iterators), nest.maps, [a.shape for a in arrays])
    if 0 in extents:
        return results
    reads = [
        view(op, array, indexing_map, extents)
        for array, indexing_map in zip(inputs, nest.input_maps, strict=True)
    ]
    for indexing_map in nest.output_maps:
        check_output_map(op, indexing_map)
    writes = [
        view(op, array, indexing_map, extents)
        for array, indexing_map in zip(results, nest.output_maps, strict=True)
    ]
    plan = frame.process.program.plan(nest.body)
    parallel = parallel_loops(nest.output_maps, len(extents))
    loops = LoopNest(plan, reads, writes, parallel, extents, frame)
    if not is_pointwise(plan):
        yield _run_each_point(loops)
    elif (running := running_nest(nest)) is not None:
        _run_in_one_pass(loops, running)
    elif len(parallel) == len(extents) or not _run_reduction(loops):
        _run_sequentially(loops)
    return results


def parallel_loops(output_maps: Sequence[AffineMap], loops: int) -> tuple[int, ...]:
    """Return the loops along which no two points share an element of any output."""
    kept = set(range(loops))
    for output_map in output_maps:
        parts = [linear(result) for result in output_map.results]
        kept &= {part.plain_loop for part in parts if part is not None}
    return tuple(sorted(kept))


def check_output_map(op: Operation, indexing_map: AffineMap) -> None:
    """Raise OperationError if an output map is not linear: no strided view can follow it."""
    if any(linear(result) is None for result in indexing_map.results):
        raise OperationError(op, f"writes at {indexing_map}, which is not a linear map")


def _run_reduction(nest: LoopNest) -> bool:
    """Evaluate a contraction or another known reduction; return False for other bodies."""
    if any(write.shape[loop] != 1 for write in nest.writes for loop in nest.sequential):
        return False
    factors = product_factors(nest.plan, len(nest.reads))
    if factors is not None:
        total = contract(factors, nest)
        if total is not None:
            nest.writes[0][...] = total
            return True
    reductions = find_reductions(nest.plan, len(nest.reads))
    if reductions is None:
        return False
    for write, total in zip(nest.writes, reduce_by_halves(reductions, nest), strict=True):
        write[...] = total
    return True


def _run_sequentially(nest: LoopNest) -> None:
    """Run the body on whole arrays, once for each point of the loops that are not parallel."""
    indices = [nest.index(loop) for loop in range(len(nest.extents))]
    spans = [
        [slice(None)] if loop in nest.parallel else [slice(i, i + 1) for i in range(extent)]
        for loop, extent in enumerate(nest.extents)
    ]
    for point in product(*spans):
        targets = [slice_over_loops(write, point) for write in nest.writes]
        arguments = [slice_over_loops(read, point) for read in nest.reads] + targets

        def index(loop: int, point: tuple[slice, ...] = point) -> Array:
            return slice_over_loops(indices[loop], point)

        values = run_body(nest.plan, arguments, nest.frame, index)
        if len(targets) > 1:
            # A value yielded for one output may be a view of another output, which is overwritten.
            values = [np.array(value) for value in values]
        for target, value in zip(targets, values, strict=True):
            target[...] = value


def _run_in_one_pass(nest: LoopNest, running: RunningNest) -> None:
    """Combine one term after the other, and write each result when all its terms are combined."""
    extents, indices = nest.extents, [nest.index(loop) for loop in range(len(nest.extents))]
    size = extents[running.term]

    def at(term: int, place: int) -> tuple[slice, ...]:
        here = {running.term: slice(term, term + 1), running.place: slice(place, place + 1)}
        return tuple(here.get(loop, slice(None)) for loop in range(len(extents)))

    def combined(term: int, place: int) -> list[Value]:
        here = at(term, 0)
        arguments = [slice_over_loops(read, here) for read in nest.reads] + totals

        def index(loop: int) -> Value:
            is_place = loop == running.place
            return np.int64(place) if is_place else slice_over_loops(indices[loop], here)

        return run_body(nest.plan, arguments, nest.frame, index)

    totals = [slice_over_loops(write, at(0, 0)).copy() for write in nest.writes]
    places = range(size, -1, -1) if running.is_reversed else range(size + 1)
    places = [each - running.is_reversed for each in places]
    for term, (place, following) in enumerate(pairwise(places)):
        found = combined(term, place)
        for write, value in zip(nest.writes, found, strict=True):
            slice_over_loops(write, at(term, place))[...] = value
        held = found if running.is_inclusive else combined(term, following)
        for total, value in zip(totals, [np.array(each) for each in held], strict=True):
            total[...] = value


def _run_each_point(nest: LoopNest) -> Routine:
    """Run a body with regions or calls, one point after the other."""
    plan, frame = nest.plan, nest.frame
    if plan.block is None:
        raise ValueError("a body without a block cannot be run point by point")
    for point in product(*(range(extent) for extent in nest.extents)):
        here = tuple(slice(i, i + 1) for i in point)
        targets = [slice_over_loops(write, here) for write in nest.writes]
        sources = [slice_over_loops(read, here) for read in nest.reads] + targets
        arguments = [source.reshape(())[()] for source in sources]
        frame.points.append(point)
        exit_: Exit = yield frame.run_block(plan.block, arguments[: len(plan.arguments)])
        frame.points.pop()
        for target, value in zip(targets, exit_.values, strict=True):
            target[...] = value

"""Reductions along dimensions and in windows."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...dialects.stablehlo.windows import Window, reduction_windows
from ...ir.attribute_access import attribute, number_list
from ...ir.diagnostics import OperationError
from ...ir.index import IndexOrInt
from .combiners import Combiner, combiner
from .elements import Kind, kind
from .emitter import BOOL, PARALLEL, REDUCTION, Emitter, dims, shape
from .lowering import Lowering
from .rules import tensor_rule
from .running_reductions import running_dimension, running_reduction
from .shapes import pad, reverse
from .window_loops import combine_windows

Tensors = Sequence[SSAValue]

SHORT_WINDOW = 32
"""Windows of so many elements are summed in their own type, as StableHLO's interpreter does it."""


def element_kinds(op: Operation, first: int, count: int) -> list[Kind]:
    """The kinds of the elements of some operands."""
    return [kind(each) for each in op.operand_types[first : first + count]]


@tensor_rule("stablehlo.reduce")
def _reduce(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    half = len(operands) // 2
    reduced = number_list(attribute(op, "dimensions"))
    return reduce(lowering, op, operands, reduced, combiner(lowering, op, op.regions[0], half))


def reduce(
    lowering: Lowering,
    op: Operation,
    operands: Tensors,
    reduced: Sequence[int],
    combined: Combiner,
) -> list[SSAValue]:
    """Combine the elements along some dimensions."""
    e = lowering.emit
    half = len(operands) // 2
    inputs, given = operands[:half], element_kinds(op, 0, half)
    initial = [e.element(value) for value in operands[half:]]
    starts = combined.start(e, initial, element_kinds(op, half, half))
    rank = len(shape(inputs[0]))
    kept = [place for place in range(rank) if place not in reduced]
    sizes = e.common_sizes(inputs)
    outputs = [e.fill(start, [sizes[place] for place in kept]) for start in starts]

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return combined.combine(inner, args[half:], args[:half], given)

    results = e.loops(
        inputs,
        None,
        outputs,
        [dims(*kept, loops=rank)] * half,
        body,
        [REDUCTION if place in reduced else PARALLEL for place in range(rank)],
    )
    return combined.finish(e, results)


@tensor_rule("stablehlo.map")
def _map(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    region = op.regions[0]

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return lowering.scalars(region, args[: len(operands)], inner)

    return [lowering.emit.pointwise(operands, kind(op.result_types[0]).type, body)]


# Windows -----------------------------------------------------------------------------------------


def windows_of(op: Operation) -> list[Window]:
    """The windows of an operation. Raises OperationError where they do not fit."""
    try:
        return reduction_windows(op)
    except VerifyException as problem:
        raise OperationError(op, str(problem)) from problem


@tensor_rule("stablehlo.reduce_window")
def _reduce_window(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    half = len(operands) // 2
    windows = windows_of(op)
    size = prod(window.size for window in windows)
    running = running_dimension(op, windows)
    combined = combiner(
        lowering,
        op,
        op.regions[0],
        half,
        widen=size > SHORT_WINDOW,
        # From behind, what comes is what stands before.
        elements_first=running is not None and running[1],
    )
    given, of_initial = element_kinds(op, 0, half), element_kinds(op, half, half)
    initial = [e.element(value) for value in operands[half:]]
    if running is not None:
        place, from_behind = running
        value = reverse(e, operands[0], [place]) if from_behind else operands[0]
        found = given[0], of_initial[0]
        value = running_reduction(e, combined, value, initial[0], found, place)
        return combined.finish(e, [reverse(e, value, [place]) if from_behind else value])
    starts = combined.start(e, initial, of_initial)
    low, high = [w.low for w in windows], [w.high for w in windows]
    between = [w.base_dilation - 1 for w in windows]
    padded = [
        pad(e, value, start, low, high, between)
        for value, start in zip(operands[:half], initial, strict=True)
    ]
    return combined.finish(e, combine_windows(e, combined, padded, windows, starts, given))


# select_and_scatter ------------------------------------------------------------------------------


@tensor_rule("stablehlo.select_and_scatter")
def _select_and_scatter(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """First where the chosen element of each window is, then what is scattered to each place."""
    e = lowering.emit
    combined = combiner(lowering, op, op.regions[1], 1, widen=False)
    (start,) = combined.start(e, [e.element(operands[2])], element_kinds(op, 2, 1))
    output = e.fill(start, e.sizes(operands[0]))
    if 0 in (*shape(operands[0]), *shape(operands[1])):
        return [output]
    windows = windows_of(op)
    chosen = _choose(lowering, op, operands[0], e.sizes(operands[1]), windows)
    return [_scatter_chosen(e, combined, output, operands[1], chosen, windows)]


def _choose(
    lowering: Lowering,
    op: Operation,
    operand: SSAValue,
    counts: Sequence[IndexOrInt],
    windows: Sequence[Window],
) -> SSAValue:
    """The row-major position of each window's element; -1 for windows without elements.

    Dimensions in which windows are single elements are read along the loops, and do not count.
    """
    e = lowering.emit
    rank = len(windows)
    element = kind(operand.type).type
    sizes = [e.index(size) for size in e.sizes(operand)]
    best = e.fill(e.constant(0, element), counts)
    where = e.fill(e.constant(-1, i64), counts)

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        _, before, position = args
        inside = inner.constant(1, BOOL)
        indices: list[SSAValue] = []
        linear: IndexOrInt = 0
        for place, each in enumerate(windows):
            if each.is_plain:
                indices.append(inner.loop_index(place))
                continue
            index = inner.add(
                inner.multiply(inner.loop_index(place), each.stride),
                inner.loop_index(rank + place),
            )
            at = inner.index(inner.subtract(index, each.low))
            is_one, bounded = inner.nearest(at, sizes[place])
            inside = inner.both(inside, is_one)
            indices.append(bounded)
            linear = inner.add(inner.multiply(linear, sizes[place]), bounded)
        value = inner.element(operand, indices)
        kept = lowering.scalars(op.regions[0], [before, value], inner)[0]
        empty = inner.compare_integers("slt", position, inner.constant(0, i64))
        new = inner.both(inside, inner.either(empty, _negated(inner, kept)))
        here = inner.from_index(inner.index(linear), i64)
        return [inner.select(new, value, before), inner.select(new, here, position)]

    return e.window_loops([w.size for w in windows], [best, where], body)[1]


def _negated(e: Emitter, truth: SSAValue) -> SSAValue:
    return e.op("arith.xori", truth, e.constant(1, BOOL))


def _scatter_chosen(
    e: Emitter,
    combined: Combiner,
    output: SSAValue,
    source: SSAValue,
    chosen: SSAValue,
    windows: Sequence[Window],
) -> SSAValue:
    rank, sizes = len(windows), e.sizes(output)
    given = element_kinds(combined.operation, 1, 1)
    counts = [e.index(size) for size in e.sizes(source)]

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        hit = inner.constant(1, BOOL)
        indices: list[SSAValue] = []
        linear: IndexOrInt = 0
        for place, each in enumerate(windows):
            own = inner.loop_index(place)
            if each.is_plain:
                indices.append(own)
                continue
            linear = inner.add(inner.multiply(linear, sizes[place]), own)
            # Windows are looked at from the first on: their offsets go down.
            offset = inner.subtract(each.size - 1, inner.loop_index(rank + place))
            distance = inner.index(inner.subtract(inner.add(own, each.low), offset))
            stride = inner.index(each.stride)
            inside, index = inner.strided_place(distance, stride, counts[place])
            hit = inner.both(hit, inside)
            indices.append(index)
        here = inner.from_index(inner.index(linear), i64)
        at = inner.element(chosen, indices)
        hit = inner.both(hit, inner.compare_integers("eq", at, here))
        value = inner.element(source, indices)
        added = combined.combine(inner, [args[1]], [value], given)
        return [inner.select(hit, added[0], args[1])]

    return e.window_loops([w.size for w in windows], [output], body)[0]

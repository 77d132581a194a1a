"""Convert reductions along dimensions and over windows, and `map`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.ir import Operation, SSAValue

from ....dialects.stablehlo.windows import reduction_windows
from ....ir.attribute_access import attribute, number_list
from ..data_movement.shapes import pad
from ..lowering.element_types import element_kinds, kind
from ..lowering.emitter import Emitter, dims, shape
from ..lowering.lowering import Lowering, Tensors, tensor_rule
from .combiners import Combiner, combiner
from .running_reductions import running_dimension, running_reduction
from .window_loops import combine_windows, windows_of


@tensor_rule("stablehlo.reduce")
def _reduce(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    half = len(operands) // 2
    reduced = number_list(attribute(op, "dimensions"))
    return reduce(lowering, op, operands, reduced, combiner(lowering, op, op.regions[0], half))


def reduce(
    lowering: Lowering, op: Operation, operands: Tensors, reduced: Sequence[int], combined: Combiner
) -> list[SSAValue]:
    """Return the reductions of inputs along some dimensions.

    `operands` are the inputs, then their initial values. `op` has these as its first operands.
    Raises OperationError if the body does not work element by element.
    """
    e = lowering.emit
    half = len(operands) // 2
    inputs, given = operands[:half], element_kinds(op, 0, half)
    initial = [e.element(value) for value in operands[half:]]
    starts = combined.to_carried(e, initial, element_kinds(op, half, half))
    rank = len(shape(inputs[0]))
    kept = [dimension for dimension in range(rank) if dimension not in reduced]
    sizes = e.common_sizes(inputs)
    outputs = [e.fill(start, [sizes[dimension] for dimension in kept]) for start in starts]

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return combined.combine(inner, args[half:], args[:half], given)

    results = e.loops(
        inputs,
        None,
        outputs,
        [dims(*kept, loops=rank)] * half,
        body,
    )
    return combined.finish(e, results)


@tensor_rule("stablehlo.map")
def _map(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    region = op.regions[0]

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return lowering.inline_on_scalars(region, args[: len(operands)], inner)

    return [lowering.emit.pointwise(operands, kind(op.result_types[0]).type, body)]


# Windows -----------------------------------------------------------------------------------------


@tensor_rule("stablehlo.reduce_window")
def _reduce_window(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    half = len(operands) // 2
    windows = windows_of(op, reduction_windows)
    running = running_dimension(op, windows)
    combined = combiner(
        lowering,
        op,
        op.regions[0],
        half,
        # Terms are taken from behind, so the next element stands before the accumulated ones.
        elements_first=running is not None and running[1],
    )
    given, of_initial = element_kinds(op, 0, half), element_kinds(op, half, half)
    initial = [e.element(value) for value in operands[half:]]
    if running is not None:
        dimension, is_reversed = running
        found = running_reduction(
            *(e, combined, operands[:half], initial, (given, of_initial), dimension),
            is_reversed=is_reversed,
        )
        return combined.finish(e, found)
    starts = combined.to_carried(e, initial, of_initial)
    low, high = [w.low for w in windows], [w.high for w in windows]
    between = [w.base_dilation - 1 for w in windows]
    padded = [
        pad(e, value, start, low, high, between, for_windows=True)
        for value, start in zip(operands[:half], initial, strict=True)
    ]
    combine = partial(combined.combine, given=given)
    return combined.finish(e, combine_windows(e, combine, padded, windows, starts))

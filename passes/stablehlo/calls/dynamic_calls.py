"""Convert ops whose windows and sizes are dynamic values, as `jax.export` writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, SymbolRefAttr
from xdsl.ir import Operation, SSAValue

from ....dialects.stablehlo.windows import convolution_numbers, convolution_windows
from ....ir.attribute_access import attribute, element_type
from ....ir.diagnostics import OperationError
from ....ir.index import IndexOrInt
from ..data_movement.shapes import dynamic_pad, index_values
from ..elementwise.random_bits import random_bits
from ..lowering.element_types import element_kinds
from ..lowering.emitter import BOOL, Emitter, dims, shape
from ..lowering.lowering import Lowering, Tensors, call_rule, tensor_rule
from ..products.convolution import ConvolutionForm, convolve
from ..reduction.combiners import combiner
from ..reduction.window_loops import windows_of
from ..sorting.sorting import top_k


@call_rule("stablehlo.dynamic_reduce_window")
def _dynamic_reduce_window(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Convert a reduction whose window is given by operands.

    Operands are the inputs, initial values, then sizes, strides, base dilations, dilations and
    padding.
    """
    e = lowering.emit
    half = len(op.results)
    if len(operands) != 2 * half + 5:
        raise OperationError(op, f"expected {2 * half + 5} operands, got {len(operands)}")
    inputs = operands[:half]
    rank = len(shape(inputs[0]))
    lists = [index_values(e, operands[2 * half + i], rank) for i in range(4)]
    sizes, strides, base, dilations = lists
    padding = operands[2 * half + 4]
    low, high = (
        [e.to_index(e.element(padding, [dimension, side])) for dimension in range(rank)]
        for side in (0, 1)
    )
    combined = combiner(lowering, op, _called(lowering, op).body, half)
    given, of_initial = element_kinds(op, 0, half), element_kinds(op, half, half)
    starts = combined.to_carried(e, [e.element(v) for v in operands[half : 2 * half]], of_initial)
    own = [e.index(size) for size in e.common_sizes(inputs)]
    counts: list[IndexOrInt] = []
    for dimension, size in enumerate(shape(op.results[0])):
        spread = e.add(e.multiply(e.add(own[dimension], -1), base[dimension]), 1)
        room = e.add(spread, e.add(low[dimension], high[dimension]))
        reach = e.add(e.multiply(e.add(sizes[dimension], -1), dilations[dimension]), 1)
        count = e.add(e.divide(e.subtract(room, reach), strides[dimension]), 1)
        counts.append(size if size >= 0 else count)

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        hit = inner.constant(1, BOOL)
        indices: list[SSAValue] = []
        for dimension in range(rank):
            start = inner.multiply(inner.loop_index(dimension), strides[dimension])
            offset = inner.multiply(inner.loop_index(rank + dimension), dilations[dimension])
            distance = inner.index(inner.subtract(inner.add(start, offset), low[dimension]))
            inside, index = inner.strided_index(distance, base[dimension], own[dimension])
            hit = inner.both(hit, inside)
            indices.append(index)
        values = [inner.element(value, indices) for value in inputs]
        added = combined.combine(inner, args[1:], values, given)
        return [inner.select(hit, new, old) for new, old in zip(added, args[1:], strict=True)]

    results = e.loops(
        # It has no contents, and gives the window's sizes.
        [e.empty(sizes, BOOL)],
        [dims(*range(rank, 2 * rank), loops=2 * rank)],
        [e.fill(start, counts) for start in starts],
        [dims(*range(rank), loops=2 * rank)] * half,
        body,
    )
    return combined.finish(e, results)


def _called(lowering: Lowering, op: Operation) -> Any:
    """Return the function that `called_computations` names."""
    found = attribute(op, "called_computations")
    names = cast("ArrayAttr[Any]", found).data if isinstance(found, ArrayAttr) else ()
    if len(names) == 1 and isinstance(names[0], SymbolRefAttr):
        function = lowering.function(names[0].string_value())
        if function is not None:
            return function
    raise OperationError(op, f"needs one function as called_computations, found {found}")


@call_rule("stablehlo.dynamic_top_k")
def _dynamic_top_k(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    return top_k(lowering, op, operands[0], e.to_index(e.element(operands[1])))


@call_rule("stablehlo.dynamic_rng_bit_generator")
def _dynamic_rng_bit_generator(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Convert a bit generator; its operands are the state and the sizes of the bits."""
    if len(operands) != 2 or len(op.results) != 2:
        raise OperationError(op, "expected two operands, a state and sizes, and two results")
    sizes = index_values(lowering.emit, operands[1], len(shape(op.results[1])))
    return random_bits(lowering, op, operands[0], sizes)


@tensor_rule("stablehlo.dynamic_conv")
def _dynamic_conv(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Pad the image by dynamic numbers, then convolve it without padding."""
    e = lowering.emit
    image, kernel, padding = operands
    windows = windows_of(op, convolution_windows)
    dimensions = convolution_numbers(op).positions(0, "bf")
    rank = len(dimensions)
    low: list[IndexOrInt] = [0] * rank
    high: list[IndexOrInt] = [0] * rank
    between: list[IndexOrInt] = [0] * rank
    sizes = list(shape(image))
    for number, (window, dimension) in enumerate(zip(windows, dimensions[2:], strict=True)):
        low[dimension], high[dimension] = (
            e.to_index(e.element(padding, [number, side])) for side in (0, 1)
        )
        between[dimension] = window.base_dilation - 1
        sizes[dimension] = -1
    zero = e.constant(0, element_type(image.type))
    image = dynamic_pad(e, image, zero, low, high, between, sizes)
    return [convolve(e, ConvolutionForm.of(op), (image, kernel), windows, padded=True)]

"""Convert the matrix products, convolutions and poolings of TOSA to `linalg.generic`."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from ...dialects.check import HoldsOp
from ...dialects.stablehlo.types import ConvAttr
from ...dialects.stablehlo.windows import Window
from ...dialects.tosa.windows import sliding
from ...ir.attribute_access import constant_integer
from ...ir.combiners import COMBINERS
from ...ir.index import IndexOrInt
from ...tiling.element_types import integer_range
from ..stablehlo.data_movement.shapes import pad, transpose
from ..stablehlo.elementwise.conversions import convert, convert_tensor
from ..stablehlo.elementwise.implicit_broadcasts import broadcast_pointwise
from ..stablehlo.lowering.element_types import Kind, operand_kind, result_kind
from ..stablehlo.lowering.emitter import Emitter, shape
from ..stablehlo.products.convolution import ConvolutionForm, convolve, sums_of_windows
from ..stablehlo.products.dot_products import accumulator, add, contract
from ..stablehlo.reduction.window_loops import combine_windows, window_count
from .elementwise import I32, I64, Scalars, extremum, narrowed, with_infinity
from .rules import only_element, tosa_rule


def _centred(
    e: Emitter, op: Operation, index: int, zero_point: int, wide: Kind
) -> tuple[SSAValue, Kind]:
    """Return an operand without its zero point, and the kind of its elements.

    They are of the kind `wide`, unless the zero point is 0.
    """
    value, element = op.operands[index], operand_kind(op, index)
    zero = only_element(e, op.operands[zero_point])
    if element.name == "float" or constant_integer(zero) == 0:
        return value, element

    def body(inner: Emitter, args: Scalars) -> Scalars:
        pair = (convert(inner, each, element, wide) for each in (args[0], zero))
        return [inner.op("arith.subi", *pair)]

    return e.pointwise([value], wide.type, body), wide


@tosa_rule("tosa.matmul")
def _matmul(e: Emitter, op: Operation) -> SSAValue:
    result = result_kind(op)
    (left, one), (right, other) = (_centred(e, op, i, 2 + i, result) for i in range(2))
    return contract(e, [left, right], (one, other, result), ((0,), (0,), (2,), (1,)))


# Convolutions ------------------------------------------------------------------------------------

_LOOPS = {
    "tosa.conv2d": (("b", "s0", "s1", "i"), ("o", "w0", "w1", "i")),
    "tosa.conv3d": (("b", "s0", "s1", "s2", "i"), ("o", "w0", "w1", "w2", "i")),
    "tosa.depthwise_conv2d": (("b", "s0", "s1", "g"), ("w0", "w1", "g", "o")),
}
"""The names of the loops over the image and over the weights, as in `sums_of_windows`."""


@tosa_rule(*_LOOPS)
def _convolution(e: Emitter, op: Operation) -> SSAValue | None:
    if sliding(op) is None:
        return None
    result, windows = result_kind(op), _windows(op)
    (image, one), (weights, other) = (_centred(e, op, i, 3 + i, result) for i in range(2))
    image = _padded(e, image, windows, e.constant(0, one.type))
    windows = windows[1:-1]
    sizes = e.sizes(image)[1:-1]
    counts = [window_count(e, n, w.size, w) for n, w in zip(sizes, windows, strict=True)]
    image_loops, weight_loops = map(list, _LOOPS[op.name])
    result_loops = [*(name for name in image_loops if name != "i"), "o"]
    if "i" in image_loops:
        # Output features are innermost in the result, so they are made innermost in the weights.
        weights = transpose(e, weights, [*range(1, len(weight_loops)), 0])
        weight_loops = [*weight_loops[1:], "o"]
    total = accumulator((one, other, result))
    named = (image, image_loops), (weights, weight_loops)
    sums = sums_of_windows(e, named, result_loops, windows, counts, (one, other, total))
    if "g" in image_loops:
        *outer, groups, each = e.sizes(sums)
        sums = e.reshape(sums, [*outer, e.multiply(groups, each)])
    return _with_bias(e, op, sums, total)


def _with_bias(e: Emitter, op: Operation, sums: SSAValue, total: Kind) -> SSAValue:
    """Add the bias to sums of the kind `total`, and round them to the elements of the result."""
    bias, result = operand_kind(op, 2), result_kind(op)

    def body(inner: Emitter, args: Scalars) -> Scalars:
        number = add(inner, total, args[0], convert(inner, args[1], bias, total))
        return [convert(inner, number, total, result)]

    return broadcast_pointwise(e, [sums, op.operands[2]], result.type, body)


_TRANSPOSED = ConvAttr((("b", 0, 1, "f"), ("o", 0, 1, "i"), ("b", 0, 1, "f")))


@tosa_rule("tosa.transpose_conv2d")
def _transposed_convolution(e: Emitter, op: Operation) -> SSAValue | None:
    """Convolve the image, dilated by the strides, with the reversed weights."""
    windows = sliding(op)
    if windows is None or min(shape(op.operands[0]), default=0) < 1:
        return None
    (image, one), (weights, other) = (_centred(e, op, i, 3 + i, result_kind(op)) for i in range(2))
    total = accumulator((one, other, result_kind(op)))
    reversed_windows = [
        Window(
            each.size,
            low=each.size - 1 + each.before,
            high=each.size - 1 + each.after,
            base_dilation=each.stride,
            reverse=True,
        )
        for each in windows
    ]
    form = ConvolutionForm(_TRANSPOSED, (one, other, total))
    return _with_bias(e, op, convolve(e, form, (image, weights), reversed_windows), total)


def _windows(op: Operation) -> list[Window]:
    """Return the windows of an image, along all of its dimensions."""
    inner = [
        Window(w.size, w.stride, w.before, w.after, dilation=w.dilation) for w in sliding(op) or ()
    ]
    return [Window(1), *inner, Window(1)]


def _padded(e: Emitter, image: SSAValue, windows: Sequence[Window], filler: SSAValue) -> SSAValue:
    """Return a padded image. At run time, a dynamic one must not be shorter than windows reach."""
    low, high = [w.low for w in windows], [w.high for w in windows]
    padded = pad(e, image, filler, low, high, [0] * len(windows))
    for size, window in zip(e.sizes(padded), windows, strict=True):
        if not isinstance(size, int):
            reach = (window.size - 1) * window.dilation + 1
            fits = e.compare_integers("sge", size, e.index(reach - 1))
            message = f"the window reaches over {reach} elements, the padded image has {{0}}"
            properties = {"message": StringAttr(message)}
            e.add_op(HoldsOp.create(operands=[fits, size], properties=properties))
    return padded


# Poolings ----------------------------------------------------------------------------------------


@tosa_rule("tosa.max_pool2d")
def _max_pool(e: Emitter, op: Operation) -> SSAValue:
    element, name, windows = operand_kind(op), extremum(op, "max"), _windows(op)
    wide = with_infinity(element)
    image = convert_tensor(e, op.operands[0], element, wide)
    lowest = -inf if wide.name == "float" else integer_range(wide.width, is_signed=True)[0]
    image = _padded(e, image, windows, e.constant(lowest, wide.type))
    start = e.constant(COMBINERS[name].neutral(wide.type), wide.type)

    def combine(inner: Emitter, totals: Scalars, elements: Scalars) -> Scalars:
        return [inner.op(name, totals[0], elements[0])]

    largest = combine_windows(e, combine, [image], windows, [start])[0]
    return convert_tensor(e, largest, wide, element)


@tosa_rule("tosa.avg_pool2d")
def _average_pool(e: Emitter, op: Operation) -> SSAValue:
    """Divide sums of windows by the numbers of their elements that are not padding."""
    element, windows, extents = operand_kind(op), _windows(op), e.sizes(op.operands[0])
    total = accumulator((element, element, element))
    if total.name != "float":
        total = I32 if prod(w.size for w in windows) << element.width < 1 << 30 else I64
    image, own = _centred(e, op, 0, 1, total)
    image = _padded(e, image, windows, e.constant(0, own.type))

    def combine(inner: Emitter, totals: Scalars, elements: Scalars) -> Scalars:
        return [add(inner, total, totals[0], convert(inner, elements[0], own, total))]

    def average(inner: Emitter, args: Scalars) -> Scalars:
        counts = (_unpadded(inner, i, windows[i], extents[i]) for i in (1, 2))
        count = inner.from_index(inner.index(inner.product(list(counts))), I64.type)
        if total.name == "float":
            mean = inner.op("arith.divf", args[0], convert(inner, count, I64, total))
            return [convert(inner, mean, total, element)]
        mean = _rounded_quotient(inner, convert(inner, args[0], total, I64), count)
        zero = convert(inner, only_element(inner, op.operands[2]), element, I64)
        return [narrowed(inner, inner.op("arith.addi", mean, zero), I64, element)]

    sums = combine_windows(e, combine, [image], windows, [e.constant(0, total.type)])
    return e.pointwise(sums, element.type, average)


def _unpadded(e: Emitter, dimension: int, window: Window, extent: IndexOrInt) -> IndexOrInt:
    """Return how many positions of the window of an element lie in the image."""
    if not window.low and not window.high:
        return window.size
    first = e.subtract(e.multiply(e.loop_index(dimension), window.stride), window.low)
    end = e.minimum(e.add(first, window.size), extent)
    return e.maximum(e.subtract(end, e.maximum(first, 0)), 0)


def _rounded_quotient(e: Emitter, total: SSAValue, count: SSAValue) -> SSAValue:
    """Divide as TOSA specifies: by a 31-bit reciprocal that is rounded up."""
    one, thirty = e.constant(1, I64.type), e.constant(30, I64.type)
    count = e.op("arith.maxsi", count, one)
    zeros = e.op("math.ctlz", e.op("arith.subi", count, one))
    rounded_logarithm = e.op("arith.subi", e.constant(64, I64.type), zeros)
    scale = e.op("arith.shli", e.constant((1 << 30) + 1, I64.type), rounded_logarithm)
    factor = e.op("arith.divui", scale, count)
    bits = e.op("arith.addi", rounded_logarithm, thirty)
    half = e.op("arith.shli", one, e.op("arith.subi", bits, one))
    return e.op("arith.shrsi", e.op("arith.addi", e.op("arith.muli", total, factor), half), bits)

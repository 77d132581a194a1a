"""Convert convolutions to `linalg.generic`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from ....dialects.stablehlo.types import ConvAttr
from ....dialects.stablehlo.windows import Window, convolution_numbers, convolution_windows
from ....ir.attribute_access import integer
from ....ir.index import IndexList
from ..data_movement.shapes import pad, reverse, transpose
from ..elementwise.conversions import convert_tensor
from ..lowering.element_types import Kind, operand_kind, result_kind
from ..lowering.emitter import Emitter, dims, shape
from ..lowering.lowering import Lowering, Tensors, tensor_rule
from ..reduction.window_loops import window_count, windows_of
from .dot_products import accumulator, multiply_add


@dataclass(frozen=True, slots=True)
class ConvolutionForm:
    """What a convolution says of its dimensions and elements, apart from its windows."""

    numbers: ConvAttr
    kinds: tuple[Kind, Kind, Kind]
    """The elements of the image, the kernel and the result."""
    groups: int = 1
    batches: int = 1

    @staticmethod
    def of(op: Operation) -> ConvolutionForm:
        """Return the form of an op. Raises OperationError if a group count is missing."""
        kinds = (operand_kind(op), operand_kind(op, 1), result_kind(op))
        counts = integer(op, "feature_group_count"), integer(op, "batch_group_count")
        return ConvolutionForm(convolution_numbers(op), kinds, *counts)

    def result_sizes(
        self, image: Sequence[int], kernel: Sequence[int], windows: Sequence[Window]
    ) -> list[int]:
        """Return the shape of the result; dynamic sizes are negative."""
        (of_image, of_kernel, of_result) = self.numbers.data
        batch = image[of_image.index("b")]
        found: dict[str | int, int] = {
            number: window.count(image[of_image.index(number)])
            for number, window in enumerate(windows)
        }
        found["b"] = batch // self.batches if batch >= 0 else batch
        found["f"] = kernel[of_kernel.index("o")]
        return [found[role] for role in of_result]


@tensor_rule("stablehlo.convolution")
def _convolution(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    windows = windows_of(op, convolution_windows)
    return [convolve(lowering.emit, ConvolutionForm.of(op), operands, windows)]


def convolve(
    e: Emitter,
    form: ConvolutionForm,
    operands: Tensors,
    windows: Sequence[Window],
    *,
    padded: bool = False,
) -> SSAValue:
    """Emit a convolution with all of its groups as one loop nest on operands in their own layouts.

    Loops have names: `b` for the batch, `g` for groups, `i` and `o` for input and output features,
    `s0`, ... for spatial positions of the result and `w0`, ... for positions in the window. With
    dimensions `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]` they are `b, s0, s1, o` and the reductions
    `w0, w1, i`. With `padded` the image has been padded already. Raises OperationError if elements
    are not numbers.
    """
    numbers, kinds = form.numbers, form.kinds
    image, kernel = operands
    reversed_dimensions = [
        numbers.data[1].index(n) for n, window in enumerate(windows) if window.reverse
    ]
    if reversed_dimensions:
        kernel = reverse(e, kernel, reversed_dimensions)
        windows = [replace(window, reverse=False) for window in windows]
    if not padded and _has_phases(form, (image, kernel), windows):
        return _convolve_phases(e, form, (image, kernel), windows)
    groups, batches = form.groups, form.batches
    image_names = _names(numbers.data[0], "s", f="i")
    kernel_names = _names(numbers.data[1], "w")
    result_names = _names(numbers.data[2], "s", f="o")
    if groups * batches > 1:
        image = _split(e, image, image_names, "i" if groups > 1 else "b", groups * batches)
    dimensions = [image_names.index(f"s{n}") for n in range(len(windows))]
    if not padded:
        image = _padded(e, image, windows, dimensions, kinds[0])
    counts = [
        window_count(
            e, e.size(image, dimension), e.size(kernel, numbers.data[1].index(n)), windows[n]
        )
        for n, dimension in enumerate(dimensions)
    ]
    if result_names[-1] == "o" != kernel_names[-1]:
        # Output features are innermost in the result, so they are made innermost in the kernel.
        order = sorted(range(len(kernel_names)), key=lambda each: kernel_names[each] == "o")
        kernel, kernel_names = transpose(e, kernel, order), [kernel_names[each] for each in order]
    if groups * batches > 1:
        kernel = _split(e, kernel, kernel_names, "o", groups * batches)
        result_names.insert(result_names.index("o"), "g")
    named = (image, image_names), (kernel, kernel_names)
    result = sums_of_windows(e, named, result_names, windows, counts, kinds)
    if groups * batches > 1:
        merged = e.sizes(result)
        at = result_names.index("g")
        merged[at : at + 2] = [e.multiply(*merged[at : at + 2])]
        result = e.reshape(result, merged)
    return result


def sums_of_windows(
    e: Emitter,
    operands: Sequence[tuple[SSAValue, Sequence[str]]],
    result_names: Sequence[str],
    windows: Sequence[Window],
    counts: IndexList,
    kinds: Sequence[Kind],
) -> SSAValue:
    """Emit the loop nest of a convolution.

    `operands` are the image and the kernel, each with the loop names of its dimensions; `counts`
    are the spatial sizes of the result.
    """
    (image, image_names), (kernel, kernel_names) = operands
    total = accumulator(kinds)
    sizes = dict(zip(image_names, e.sizes(image), strict=True))
    sizes |= dict(zip(kernel_names, e.sizes(kernel), strict=True))
    sizes |= {f"s{n}": count for n, count in enumerate(counts)}
    loops = [*result_names, *(name for name in kernel_names if name not in result_names)]
    numbered = {name: AffineExpr.dimension(n) for n, name in enumerate(loops)}
    slid = {
        f"s{n}": numbered[f"s{n}"] * window.stride + numbered[f"w{n}"] * window.dilation
        for n, window in enumerate(windows)
    }
    (sums,) = e.loops(
        [image, kernel],
        [
            dims(*[slid.get(name, numbered[name]) for name in image_names], loops=len(loops)),
            dims(*[numbered[name] for name in kernel_names], loops=len(loops)),
        ],
        [e.fill(e.constant(0, total.type), [sizes[name] for name in result_names])],
        [dims(*range(len(result_names)), loops=len(loops))],
        multiply_add(kinds[0], kinds[1], total),
    )
    return convert_tensor(e, sums, total, kinds[2])


MAX_CONVOLUTION_PHASES = 16
"""The maximum number of convolutions into which one with base dilation is split."""


def _has_phases(form: ConvolutionForm, operands: Tensors, windows: Sequence[Window]) -> bool:
    dilated = [window for window in windows if window.base_dilation > 1]
    return (
        bool(dilated)
        and all(window.stride == window.dilation == 1 for window in dilated)
        and prod(window.base_dilation for window in windows) <= MAX_CONVOLUTION_PHASES
        and form.kinds[2].name != "complex"
        and min(*shape(operands[0]), *shape(operands[1])) >= 0
    )


def _convolve_phases(
    e: Emitter, form: ConvolutionForm, operands: Tensors, windows: Sequence[Window]
) -> SSAValue:
    """Split a convolution of a dilated image so that zeros between elements are not multiplied.

    With a base dilation of `s`, results at `p`, `p + s`, ... use the same elements of the window,
    every `s`-th one. Each such phase is a convolution of the undilated image. With `s = 2`, a
    window `u v w` and the image `a b c`, dilated to `a 0 b 0 c`, the phases are `u w` on `a b c`
    for even `p`, and `v` on `b c` for odd `p`.
    """
    image, kernel = operands
    numbers = form.numbers
    sizes = form.result_sizes(shape(image), shape(kernel), windows)
    result = e.fill(e.constant(0, form.kinds[2].type), sizes)
    for phase in product(*(range(window.base_dilation) for window in windows)):
        starts, taps, steps = [0] * len(sizes), list(shape(kernel)), [1] * len(sizes)
        offsets, counts, strides = [0] * len(sizes), list(sizes), [1] * len(sizes)
        parts = list(windows)
        for n, (window, first) in enumerate(zip(windows, phase, strict=True)):
            own, to = numbers.data[1].index(n), numbers.data[2].index(n)
            apart = window.base_dilation
            start = (window.low - first) % apart if apart > 1 else 0
            starts[own], steps[own] = start, apart
            taps[own] = max(-(-(window.size - start) // apart), 0)
            offsets[to], strides[to] = first, apart
            counts[to] = max(-(-(sizes[to] - first) // apart), 0)
            if apart > 1:
                low = (window.low - first - start) // apart
                extent = shape(image)[numbers.data[0].index(n)]
                high = counts[to] + taps[own] - 1 - low - extent
                parts[n] = Window(taps[own], low=low, high=high)
        if 0 in (*taps, *counts):
            continue
        part = convolve(e, form, (image, e.extract_slice(kernel, starts, taps, steps)), parts)
        result = e.insert_slice(part, result, offsets, strides)
    return result


def _padded(
    e: Emitter, image: SSAValue, windows: Sequence[Window], dimensions: Sequence[int], element: Kind
) -> SSAValue:
    """Return an image padded with zeros around it and, for base dilation, between its elements."""
    low, high, between = ([0] * len(shape(image)) for _ in range(3))
    for dimension, window in zip(dimensions, windows, strict=True):
        low[dimension], high[dimension] = window.low, window.high
        between[dimension] = window.base_dilation - 1
    zero = e.constant(0, element.type)
    return pad(e, image, zero, low, high, between, for_windows=True)


def _names(dimensions: Sequence[str | int], spatial: str, **renamed: str) -> list[str]:
    """Return the loop names of a tensor's dimensions."""
    return [
        renamed.get(dimension, dimension) if isinstance(dimension, str) else f"{spatial}{dimension}"
        for dimension in dimensions
    ]


def _split(e: Emitter, source: SSAValue, names: list[str], name: str, parts: int) -> SSAValue:
    """Split dimension `name` of a tensor into groups; `names` gets `g` before it."""
    at = names.index(name)
    sizes = e.sizes(source)
    sizes[at : at + 1] = [parts, e.divide(sizes[at], parts)]
    names.insert(at, "g")
    return e.reshape(source, sizes)

"""Convert dot products, einsums and convolutions to `linalg.generic`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from ....dialects.stablehlo.attributes import DotAttr
from ....dialects.stablehlo.windows import Window, convolution_numbers, convolution_windows
from ....ir.attribute_access import attribute, integer
from ....ir.diagnostics import OperationError
from ....ir.index import IndexOrInt
from ..data_movement.shapes import pad, result_sizes, reverse, transpose
from ..elementwise.conversions import convert
from ..lowering.element_types import Kind, kind, operand_kind, result_kind
from ..lowering.emitter import PARALLEL, REDUCTION, Body, Emitter, dims, shape
from ..lowering.lowering import Lowering
from ..lowering.rules import Tensors, tensor_rule
from ..reduction.window_loops import window_count, windows_of

_F32 = kind(f32)


_RANKS = {"float": 1, "complex": 2}


def accumulator(kinds: Sequence[Kind]) -> Kind:
    """Return the kind in which products are summed, given those of both operands and the result.

    It is the result's kind, unless an operand's kind cannot be represented in it (a float for an
    integer result): then it is that operand's, and sums are converted. Floats narrower than f32 are
    summed in f32.
    """
    left, right, result = kinds
    total = max((result, left, right), key=lambda each: _RANKS.get(each.name, 0))
    if total is not result and left.name == right.name:
        total = max((left, right), key=lambda each: each.width)
    return _F32 if total.is_narrow_float else total


def _product(left: Kind, right: Kind, total: Kind) -> Body:
    """Return the body that adds the product of two elements to the accumulator."""

    def body(e: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        first, second = convert(e, args[0], left, total), convert(e, args[1], right, total)
        return [add(e, total, args[-1], multiply(e, total, first, second))]

    return body


def add(e: Emitter, found: Kind, left: SSAValue, right: SSAValue) -> SSAValue:
    """Emit the sum of two numbers of a kind."""
    names = {"float": "arith.addf", "complex": "complex.add", "bool": "arith.ori"}
    return e.op(names.get(found.name, "arith.addi"), left, right)


def multiply(e: Emitter, found: Kind, left: SSAValue, right: SSAValue) -> SSAValue:
    """Emit the product of two numbers of a kind."""
    names = {"float": "arith.mulf", "complex": "complex.mul", "bool": "arith.andi"}
    return e.op(names.get(found.name, "arith.muli"), left, right)


def rounded(e: Emitter, value: SSAValue, total: Kind, result: Kind) -> SSAValue:
    """Convert a tensor of sums to the result's elements."""
    if total == result:
        return value
    return e.pointwise(
        [value], result.type, lambda inner, args: [convert(inner, args[0], total, result)]
    )


@tensor_rule("stablehlo.dot_general")
def _dot_general(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    numbers = attribute(op, "dot_dimension_numbers")
    if not isinstance(numbers, DotAttr):
        raise OperationError(op, f"needs #stablehlo.dot<...>, found {numbers}")
    lists = [
        numbers.integers(f"{side}_{what}_dimensions")
        for what in ("batching", "contracting")
        for side in ("lhs", "rhs")
    ]
    kinds = (operand_kind(op), operand_kind(op, 1), result_kind(op))
    return [contract(lowering.emit, operands, lists, kinds)]


@tensor_rule("stablehlo.dot")
def _dot(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Convert `dot`: the last dimension of one operand with the first of the other."""
    last = len(shape(operands[0])) - 1
    kinds = (operand_kind(op), operand_kind(op, 1), result_kind(op))
    return [contract(lowering.emit, operands, ((), (), (last,), (0,)), kinds)]


def contract(
    e: Emitter,
    operands: Tensors,
    lists: Sequence[Sequence[int]],
    kinds: tuple[Kind, Kind, Kind],
) -> SSAValue:
    """Emit a contraction; its result has the batch dimensions, then the free ones of both sides.

    `lists` are the batch dimensions of both sides, then the contracted dimensions of both sides.
    """
    left, right = operands
    batch, right_batch, summed, right_summed = lists
    rows = [i for i in range(len(shape(left))) if i not in (*batch, *summed)]
    columns = [i for i in range(len(shape(right))) if i not in (*right_batch, *right_summed)]
    outer = len(batch) + len(rows) + len(columns)
    loops = outer + len(summed)
    left_loops = {each: index for index, each in enumerate((*batch, *rows))}
    left_loops |= {each: outer + index for index, each in enumerate(summed)}
    right_loops = {each: index for index, each in enumerate(right_batch)}
    right_loops |= {each: len(batch) + len(rows) + i for i, each in enumerate(columns)}
    right_loops |= {each: outer + index for index, each in enumerate(right_summed)}
    total = accumulator(kinds)
    sizes = [
        *(e.size(left, each) for each in (*batch, *rows)),
        *(e.size(right, each) for each in columns),
    ]
    results = e.loops(
        operands,
        [
            dims(*(left_loops[i] for i in range(len(left_loops))), loops=loops),
            dims(*(right_loops[i] for i in range(len(right_loops))), loops=loops),
        ],
        [e.fill(e.constant(0, total.type), sizes)],
        [dims(*range(outer), loops=loops)],
        _product(kinds[0], kinds[1], total),
        [*[PARALLEL] * outer, *[REDUCTION] * len(summed)],
    )
    return rounded(e, results[0], total, kinds[2])


@tensor_rule("stablehlo.einsum")
def _einsum(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    found = attribute(op, "einsum_config")
    text = str(getattr(found, "data", "")).replace(" ", "")
    sides, _, result = text.partition("->")
    letters = sides.split(",")
    if len(letters) != 2 or any(
        len(w) != len(shape(v)) for w, v in zip(letters, operands, strict=True)
    ):
        raise OperationError(op, f"has a config that does not fit its operands: {text}")
    left, right = letters
    names = list(dict.fromkeys((*result, *left, *right)))
    kinds = (operand_kind(op), operand_kind(op, 1), result_kind(op))
    total = accumulator(kinds)
    e = lowering.emit
    where = {letter: (operands[0], left.index(letter)) for letter in left}
    where = {letter: (operands[1], right.index(letter)) for letter in right} | where
    maps = [dims(*map(names.index, word), loops=len(names)) for word in (left, right, result)]
    results = e.loops(
        operands,
        maps[:2],
        [e.fill(e.constant(0, total.type), [e.size(*where[letter]) for letter in result])],
        maps[2:],
        _product(kinds[0], kinds[1], total),
        [PARALLEL if name in result else REDUCTION for name in names],
    )
    return [rounded(e, results[0], total, kinds[2])]


# Convolution -------------------------------------------------------------------------------------


@tensor_rule("stablehlo.convolution")
def _convolution(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    return [convolve(lowering.emit, op, operands, windows_of(op, convolution_windows))]


def convolve(
    e: Emitter, op: Operation, operands: Tensors, windows: Sequence[Window], *, padded: bool = False
) -> SSAValue:
    """Emit a convolution with all of its groups as one loop nest on operands in their own layouts.

    Loops have names: `b` for the batch, `g` for groups, `i` and `o` for input and output features,
    `s0`, ... for spatial positions of the result and `w0`, ... for positions in the window. With
    dimensions `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]` they are `b, s0, s1, o` and the reductions
    `w0, w1, i`. With `padded` the image has been padded already. Raises OperationError if elements
    are not numbers, or if a group count is missing.
    """
    numbers = convolution_numbers(op)
    kinds = (operand_kind(op), operand_kind(op, 1), result_kind(op))
    image, kernel = operands
    turned = [numbers.data[1].index(n) for n, window in enumerate(windows) if window.reverse]
    if turned:
        kernel = reverse(e, kernel, turned)
        windows = [replace(window, reverse=False) for window in windows]
    if _has_phases(op, windows) and not padded:
        return _convolve_phases(e, op, (image, kernel), windows)
    groups, batches = integer(op, "feature_group_count"), integer(op, "batch_group_count")
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
    result = _sums_of_windows(e, named, result_names, windows, counts, kinds)
    if groups * batches > 1:
        merged = e.sizes(result)
        at = result_names.index("g")
        merged[at : at + 2] = [e.multiply(*merged[at : at + 2])]
        result = e.reshape(result, merged)
    return result


def _sums_of_windows(
    e: Emitter,
    operands: Sequence[tuple[SSAValue, Sequence[str]]],
    result_names: Sequence[str],
    windows: Sequence[Window],
    counts: Sequence[IndexOrInt],
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
        _product(kinds[0], kinds[1], total),
        [PARALLEL if name in result_names else REDUCTION for name in loops],
    )
    return rounded(e, sums, total, kinds[2])


MAX_CONVOLUTION_PHASES = 16
"""The maximum number of convolutions into which one with base dilation is split."""


def _has_phases(op: Operation, windows: Sequence[Window]) -> bool:
    dilated = [window for window in windows if window.base_dilation > 1]
    return (
        bool(dilated)
        and all(window.stride == window.dilation == 1 for window in dilated)
        and prod(window.base_dilation for window in windows) <= MAX_CONVOLUTION_PHASES
        and result_kind(op).name != "complex"
        and min(*shape(op.operands[0]), *shape(op.operands[1]), *result_sizes(op)) >= 0
    )


def _convolve_phases(
    e: Emitter, op: Operation, operands: Tensors, windows: Sequence[Window]
) -> SSAValue:
    """Split a convolution of a dilated image so that zeros between elements are not multiplied.

    With a base dilation of `s`, results at `p`, `p + s`, ... use the same elements of the window,
    every `s`-th one. Each such phase is a convolution of the undilated image. With `s = 2`, a
    window `u v w` and the image `a b c`, dilated to `a 0 b 0 c`, the phases are `u w` on `a b c`
    for even `p`, and `v` on `b c` for odd `p`.
    """
    image, kernel = operands
    numbers = convolution_numbers(op)
    found = result_kind(op)
    sizes = result_sizes(op)
    result = e.fill(e.constant(0, found.type), sizes)
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
        part = convolve(e, op, (image, e.extract_slice(kernel, starts, taps, steps)), parts)
        result = e.insert_slice(part, result, offsets, strides)
    return result


def _padded(
    e: Emitter, image: SSAValue, windows: Sequence[Window], dimensions: Sequence[int], found: Kind
) -> SSAValue:
    """Return an image padded with zeros around it and, for base dilation, between its elements."""
    low, high, between = ([0] * len(shape(image)) for _ in range(3))
    for dimension, window in zip(dimensions, windows, strict=True):
        low[dimension], high[dimension] = window.low, window.high
        between[dimension] = window.base_dilation - 1
    return pad(e, image, e.constant(0, found.type), low, high, between)


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

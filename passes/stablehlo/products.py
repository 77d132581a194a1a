"""Contractions and convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.utils.exceptions import VerifyException

from ...dialects.stablehlo.attributes import DotAttr
from ...dialects.stablehlo.windows import Window, convolution_numbers, convolution_windows
from ...ir.attribute_access import attribute, integer
from ...ir.diagnostics import OperationError
from ...ir.index import IndexOrInt
from .arithmetic import operand_kind, result_kind
from .conversions import convert
from .elements import Kind, kind
from .emitter import PARALLEL, REDUCTION, Body, Emitter, dims, shape
from .lowering import Lowering
from .rules import tensor_rule
from .shapes import pad, reverse, transpose

Tensors = Sequence[SSAValue]
_F32 = kind(f32)


def accumulator(result: Kind) -> Kind:
    """What products are summed in: floats narrower than f32 in f32, all else in its own type."""
    return _F32 if result.is_narrow_float else result


def _product(left: Kind, right: Kind, total: Kind) -> Body:
    """The body that adds a product of two elements to the sum."""

    def body(e: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        first, second = convert(e, args[0], left, total), convert(e, args[1], right, total)
        return [add(e, total, args[-1], multiply(e, total, first, second))]

    return body


def add(e: Emitter, found: Kind, left: SSAValue, right: SSAValue) -> SSAValue:
    """The sum of two numbers of a kind."""
    names = {"float": "arith.addf", "complex": "complex.add", "bool": "arith.ori"}
    return e.op(names.get(found.name, "arith.addi"), left, right)


def multiply(e: Emitter, found: Kind, left: SSAValue, right: SSAValue) -> SSAValue:
    """The product of two numbers of a kind."""
    names = {"float": "arith.mulf", "complex": "complex.mul", "bool": "arith.andi"}
    return e.op(names.get(found.name, "arith.muli"), left, right)


def rounded(e: Emitter, value: SSAValue, total: Kind, result: Kind) -> SSAValue:
    """A tensor of sums as one of the result's elements."""
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
    """The last dimension of one with the first of the other."""
    last = len(shape(operands[0])) - 1
    kinds = (operand_kind(op), operand_kind(op, 1), result_kind(op))
    return [contract(lowering.emit, operands, ((), (), (last,), (0,)), kinds)]


def contract(
    e: Emitter,
    operands: Tensors,
    lists: Sequence[Sequence[int]],
    kinds: tuple[Kind, Kind, Kind],
) -> SSAValue:
    """A product along any dimensions: batch dimensions, those of each side, those that are summed.

    `lists` are the batch dimensions of both sides, then their contracted ones.
    """
    left, right = operands
    batch, right_batch, summed, right_summed = lists
    rows = [i for i in range(len(shape(left))) if i not in (*batch, *summed)]
    columns = [i for i in range(len(shape(right))) if i not in (*right_batch, *right_summed)]
    outer = len(batch) + len(rows) + len(columns)
    loops = outer + len(summed)
    place_left = {each: index for index, each in enumerate((*batch, *rows))}
    place_left |= {each: outer + index for index, each in enumerate(summed)}
    place_right = {each: index for index, each in enumerate(right_batch)}
    place_right |= {each: len(batch) + len(rows) + i for i, each in enumerate(columns)}
    place_right |= {each: outer + index for index, each in enumerate(right_summed)}
    total = accumulator(kinds[2])
    sizes = [
        *(e.size(left, each) for each in (*batch, *rows)),
        *(e.size(right, each) for each in columns),
    ]
    results = e.loops(
        operands,
        [
            dims(*(place_left[i] for i in range(len(place_left))), loops=loops),
            dims(*(place_right[i] for i in range(len(place_right))), loops=loops),
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
    total = accumulator(result_kind(op))
    e = lowering.emit
    where = {letter: (operands[0], left.index(letter)) for letter in left}
    where = {letter: (operands[1], right.index(letter)) for letter in right} | where
    maps = [dims(*map(names.index, word), loops=len(names)) for word in (left, right, result)]
    results = e.loops(
        operands,
        maps[:2],
        [e.fill(e.constant(0, total.type), [e.size(*where[letter]) for letter in result])],
        maps[2:],
        _product(operand_kind(op), operand_kind(op, 1), total),
        [PARALLEL if name in result else REDUCTION for name in names],
    )
    return [rounded(e, results[0], total, result_kind(op))]


# Convolution -------------------------------------------------------------------------------------


@tensor_rule("stablehlo.convolution")
def _convolution(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    try:
        windows = convolution_windows(op)
    except VerifyException as problem:
        raise OperationError(op, str(problem)) from problem
    return [convolve(lowering.emit, op, operands, windows)]


def convolve(
    e: Emitter, op: Operation, operands: Tensors, windows: Sequence[Window], *, padded: bool = False
) -> SSAValue:
    """A convolution with all of its groups.

    Both operands are brought to the order batch or features first; groups become a dimension.
    With `padded` the image has been padded already.
    """
    numbers = convolution_numbers(op)
    kinds = (operand_kind(op), operand_kind(op, 1), result_kind(op))
    total = accumulator(kinds[2])
    image = transpose(e, operands[0], numbers.positions(0, "bf"))
    kernel = transpose(e, operands[1], numbers.positions(1, "oi"))
    turned = [2 + place for place, window in enumerate(windows) if window.reverse]
    if turned:
        kernel = reverse(e, kernel, turned)
    if not padded:
        none = (0, 0)
        image = pad(
            e,
            image,
            e.constant(0, kinds[0].type),
            (*none, *(w.low for w in windows)),
            (*none, *(w.high for w in windows)),
            (*none, *(w.base_dilation - 1 for w in windows)),
        )
    groups, batches = integer(op, "feature_group_count"), integer(op, "batch_group_count")
    spatial = [
        _count(e, size, e.size(kernel, 2 + i), windows[i])
        for i, size in enumerate(e.sizes(image)[2:])
    ]
    parts = max(groups, batches)
    sums = _grouped(e, image, kernel, windows, spatial, (groups, batches), kinds, total)
    result = rounded(e, sums, total, kinds[2])
    if parts > 1:
        # [b, g, o, ...] -> [b, g * o, ...]
        b, g, o, *rest = e.sizes(result)
        result = e.reshape(result, [b, e.multiply(g, o), *rest])
    places = numbers.data[2]
    order = [{"b": 0, "f": 1}[p] if isinstance(p, str) else 2 + p for p in places]

    return transpose(e, result, order)


def _count(e: Emitter, size: IndexOrInt, width: IndexOrInt, window: Window) -> IndexOrInt:
    if isinstance(size, int) and isinstance(width, int):
        return Window(width, window.stride, dilation=window.dilation).count(size)
    reach = e.add(e.multiply(e.add(width, -1), window.dilation), 1)
    return e.add(e.divide(e.subtract(size, reach), window.stride), 1)


def _grouped(
    e: Emitter,
    image: SSAValue,
    kernel: SSAValue,
    windows: Sequence[Window],
    spatial: Sequence[IndexOrInt],
    counts: tuple[int, int],
    kinds: tuple[Kind, Kind, Kind],
    total: Kind,
) -> SSAValue:
    """The loops: batch, group if there are several, output features, windows; then the sums.

    image [b, g * i, ...] or, in groups of the batch, [g * b, i, ...]; kernel [g * o, i, ...]
    """
    rank = len(windows)
    groups, batches = counts
    grouped = groups * batches > 1
    parts = groups * batches
    batch, features, *extents = e.sizes(image)
    outputs, inputs, *widths = e.sizes(kernel)
    each = e.divide(outputs, parts)
    first = [0, 1] if grouped else [0]
    if groups > 1:
        image = e.reshape(image, [batch, groups, inputs, *extents])
    elif batches > 1:
        batch = e.divide(batch, batches)
        image = e.reshape(image, [batches, batch, features, *extents])
        first = [1, 0]
    if grouped:
        kernel = e.reshape(kernel, [parts, each, inputs, *widths])
    # Loops: b, (g,) o, spatial..., i, window...
    out = 2 if grouped else 1
    channel = out + 1 + rank
    loops = channel + 1 + rank
    slid = [
        AffineExpr.dimension(out + 1 + i) * w.stride
        + AffineExpr.dimension(channel + 1 + i) * w.dilation
        for i, w in enumerate(windows)
    ]
    group = [1] if grouped else []
    sizes: list[IndexOrInt] = [batch, *([parts] if grouped else []), each, *spatial]
    result = e.loops(
        [image, kernel],
        [
            dims(*first, channel, *slid, loops=loops),
            dims(*group, out, channel, *range(channel + 1, loops), loops=loops),
        ],
        [e.fill(e.constant(0, total.type), sizes)],
        [dims(*range(channel), loops=loops)],
        _product(kinds[0], kinds[1], total),
        [*[PARALLEL] * channel, *[REDUCTION] * (1 + rank)],
    )
    return result[0]

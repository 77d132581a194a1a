"""Convert ops that move elements (reshapes, broadcasts, slices, padding), and ops on sizes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import cast

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from ....ir.attribute_access import attribute, element_type, integer, number_list
from ....ir.index import IndexList, IndexOrInt, known
from ..elementwise.conversions import convert
from ..lowering.element_types import Kind, kind, operand_kind, result_kind
from ..lowering.emitter import BOOL, Emitter, dims, shape
from ..lowering.lowering import Lowering, Tensors, tensor_rule


def sizes_from(e: Emitter, numbers: SSAValue, result: Sequence[int]) -> list[IndexOrInt]:
    """Return the static sizes of `result`, and the others read from the tensor `numbers`."""
    return [
        size if size >= 0 else e.to_index(e.element(numbers, [dimension]))
        for dimension, size in enumerate(result)
    ]


def index_values(e: Emitter, numbers: SSAValue, count: int) -> list[SSAValue]:
    """Return the first `count` numbers of a tensor of rank 1 as indices."""
    return [e.to_index(e.element(numbers, [index])) for index in range(count)]


def result_sizes(op: Operation) -> tuple[int, ...]:
    """Return the shape of the first result's type; dynamic sizes are negative."""
    return tuple(cast("tuple[int, ...]", op.result_types[0].get_shape()))  # pyright: ignore


# Reshapes and broadcasts -------------------------------------------------------------------------


@tensor_rule("stablehlo.reshape")
def _reshape(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    sizes: list[IndexOrInt] = list(result_sizes(op))
    unknown = [dimension for dimension, size in enumerate(result_sizes(op)) if size < 0]
    if len(unknown) == 1:
        # The dynamic size is the number of elements over the product of the static sizes.
        total = reduce(e.multiply, e.sizes(operands[0]), 1)
        sizes[unknown[0]] = e.divide(total, prod(max(size, 1) for size in result_sizes(op)))
    return [e.reshape(operands[0], sizes)]


@tensor_rule("stablehlo.dynamic_reshape")
def _dynamic_reshape(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    return [e.reshape(operands[0], sizes_from(e, operands[1], result_sizes(op)))]


def broadcast(
    e: Emitter, source: SSAValue, sizes: IndexList, dimensions: Sequence[int]
) -> SSAValue:
    """Return a tensor of `sizes`; dimension i of `source` becomes dimension `dimensions[i]`.

    A source dimension of size 1 is repeated. A dynamic one is repeated if it is 1 at run time.
    """
    element = element_type(source.type)
    rank = len(sizes)
    extents = shape(source)
    if not extents:
        return e.splat(source, sizes) or e.fill(e.element(source), sizes)
    known_sizes = [size for size in sizes if isinstance(size, int)]
    is_known = len(known_sizes) == rank and min(extents) >= 0
    is_in_order = list(dimensions) == sorted(dimensions)
    if is_known and is_in_order and prod(extents) == prod(known_sizes) > 0:
        # Only dimensions of one element are new.
        return e.reshape(source, sizes)
    repeatable = [
        dimension
        for dimension, (size, target) in enumerate(zip(extents, dimensions, strict=True))
        if size < 0 and not (isinstance(sizes[target], int) and sizes[target] == 1)
    ]
    empty = e.empty(sizes, element)
    if repeatable:
        return _repeated_at_run_time(e, source, empty, dimensions, repeatable)
    results: list[int | AffineExpr] = [
        AffineExpr.constant(0) if size == 1 else dimension
        for size, dimension in zip(extents, dimensions, strict=True)
    ]
    maps = [dims(*results, loops=rank)]
    return e.loops([source], maps, [empty], None, lambda _, args: [args[0]])[0]


def _repeated_at_run_time(
    e: Emitter,
    source: SSAValue,
    empty: SSAValue,
    dimensions: Sequence[int],
    repeatable: Sequence[int],
) -> SSAValue:
    """Emit a broadcast to the shape of `empty`; each `repeatable` dimension may have size 1."""
    extents = shape(source)
    own = [e.size(source, dimension) for dimension in range(len(extents))]
    one = e.index(1)
    repeated = {
        dimension: e.compare_integers("eq", e.index(own[dimension]), one)
        for dimension in repeatable
    }

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        indices: list[IndexOrInt] = []
        for dimension, size in enumerate(extents):
            index = inner.loop_index(dimensions[dimension])
            if size == 1:
                index = inner.index(0)
            elif dimension in repeated:
                index = inner.select(repeated[dimension], inner.index(0), index)
            indices.append(index)
        return [inner.element(source, indices)]

    return e.loops([], [], [empty], None, body)[0]


@tensor_rule("stablehlo.broadcast_in_dim")
def _broadcast_in_dim(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    dimensions = number_list(attribute(op, "broadcast_dimensions"))
    sizes: list[IndexOrInt] = list(result_sizes(op))
    for source, dimension in enumerate(dimensions):
        if result_sizes(op)[dimension] < 0:
            sizes[dimension] = e.size(operands[0], source)
    return [broadcast(e, operands[0], sizes, dimensions)]


@tensor_rule("stablehlo.broadcast")
def _broadcast(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    added = number_list(attribute(op, "broadcast_sizes"))
    own = e.sizes(operands[0])
    dimensions = range(len(added), len(added) + len(own))
    return [broadcast(e, operands[0], [*added, *own], dimensions)]


@tensor_rule("stablehlo.dynamic_broadcast_in_dim")
def _dynamic_broadcast(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    sizes = sizes_from(e, operands[1], result_sizes(op))
    dimensions = number_list(attribute(op, "broadcast_dimensions"))
    return [broadcast(e, operands[0], sizes, dimensions)]


def transpose(e: Emitter, source: SSAValue, order: Sequence[int]) -> SSAValue:
    """Return a tensor with its dimensions permuted."""
    if list(order) == list(range(len(order))):
        return source
    sizes = e.sizes(source)
    empty = e.empty([sizes[each] for each in order], element_type(source.type))
    inverse = [list(order).index(each) for each in range(len(order))]
    maps = [dims(*inverse, loops=len(order))]
    return e.loops([source], maps, [empty], None, lambda _, args: [args[0]])[0]


@tensor_rule("stablehlo.reverse")
def _reverse(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    return [reverse(lowering.emit, operands[0], number_list(attribute(op, "dimensions")))]


def reverse(e: Emitter, source: SSAValue, dimensions: Sequence[int]) -> SSAValue:
    """Return a tensor with the elements along some dimensions in reverse order."""
    extents = shape(source)
    empty = e.empty(e.sizes(source), element_type(source.type))
    if all(extents[each] >= 0 for each in dimensions):
        results: list[int | AffineExpr] = [
            AffineExpr.dimension(dimension) * -1 + (size - 1)
            if dimension in dimensions
            else dimension
            for dimension, size in enumerate(extents)
        ]
        maps = [dims(*results, loops=len(extents))]
        return e.loops([source], maps, [empty], None, lambda _, args: [args[0]])[0]
    last = {dimension: e.index(e.add(e.size(source, dimension), -1)) for dimension in dimensions}

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        indices = [inner.loop_index(dimension) for dimension in range(len(extents))]
        return [
            inner.element(
                source,
                [
                    inner.subtract(last[dimension], index) if dimension in last else index
                    for dimension, index in enumerate(indices)
                ],
            )
        ]

    return e.loops([], [], [empty], None, body)[0]


@tensor_rule("stablehlo.concatenate")
def _concatenate(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    return [lowering.emit.concatenate(operands, integer(op, "dimension"))]


# Slices and padding ------------------------------------------------------------------------------


@tensor_rule("stablehlo.slice")
def _slice(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    starts, strides = (number_list(attribute(op, name)) for name in ("start_indices", "strides"))
    limits = number_list(attribute(op, "limit_indices"))
    sizes = [
        -(-(limit - start) // stride)
        for start, limit, stride in zip(starts, limits, strides, strict=True)
    ]
    return [lowering.emit.extract_slice(operands[0], starts, sizes, strides)]


@tensor_rule("stablehlo.real_dynamic_slice")
def _real_dynamic_slice(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Convert a slice, which reads its elements one by one unless all numbers are constants."""
    e = lowering.emit
    source = operands[0]
    rank = len(shape(source))
    starts, limits, strides = (
        [known(each) for each in index_values(e, operands[i], rank)] for i in (1, 2, 3)
    )
    steps = [each for each in strides if isinstance(each, int)]
    if len(steps) == rank and _is_inside(starts, steps, result_sizes(op), shape(source)):
        return [e.extract_slice(source, starts, result_sizes(op), steps)]
    sizes: list[IndexOrInt] = []
    for dimension, size in enumerate(result_sizes(op)):
        length = e.subtract(limits[dimension], starts[dimension])
        rounded = e.add(length, e.add(strides[dimension], -1))
        sizes.append(size if size >= 0 else e.divide(rounded, strides[dimension]))
    empty = e.empty(sizes, element_type(source.type))

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        indices = [
            inner.add(
                starts[dimension], inner.multiply(inner.loop_index(dimension), strides[dimension])
            )
            for dimension in range(rank)
        ]
        return [inner.element(source, indices)]

    return [e.loops([], [], [empty], None, body)[0]]


def _is_inside(
    starts: IndexList, strides: Sequence[int], sizes: Sequence[int], extents: Sequence[int]
) -> bool:
    """Return whether a slice is known to lie in a tensor of these extents."""
    return all(
        isinstance(start, int) and 0 <= start <= start + (size - 1) * stride < extent
        for start, stride, size, extent in zip(starts, strides, sizes, extents, strict=True)
    )


def clamped_starts(
    e: Emitter, starts: Sequence[SSAValue], element: Kind, source: SSAValue, sizes: IndexList
) -> list[IndexOrInt]:
    """Return the start of a slice of these sizes, clamped so that the slice lies in the tensor."""
    clamped: list[IndexOrInt] = []
    for dimension, start in enumerate(starts):
        most = e.subtract(e.size(source, dimension), sizes[dimension])
        clamped.append(0 if most == 0 else clamp_index(e, e.element(start), element, most))
    return clamped


def clamp_index(e: Emitter, number: SSAValue, element: Kind, most: IndexOrInt) -> IndexOrInt:
    """Return an integer of any signedness and width as an index clamped to 0..`most`."""
    index = known(e.to_index(number, element.name == "signed"))
    if element.name == "signed" or isinstance(index, int):
        return e.minimum(e.maximum(index, 0), most)
    # An unsigned 64-bit number that is too large is negative as an index.
    return e.op("arith.minui", index, e.index(most))


@tensor_rule("stablehlo.dynamic_slice")
def _dynamic_slice(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    source, *starts = operands
    sizes = number_list(attribute(op, "slice_sizes"))
    if not sizes:
        return [source]
    offsets = clamped_starts(e, starts, operand_kind(op, 1), source, sizes)
    return [e.extract_slice(source, offsets, sizes)]


@tensor_rule("stablehlo.dynamic_update_slice")
def _dynamic_update_slice(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    target, update, *starts = operands
    if not starts:
        return [update]
    sizes = e.sizes(update)
    offsets = clamped_starts(e, starts, operand_kind(op, 2), target, sizes)
    return [e.insert_slice(update, target, offsets, sizes=sizes)]


@tensor_rule("stablehlo.pad")
def _pad(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    low, high, interior = (
        number_list(attribute(op, name))
        for name in ("edge_padding_low", "edge_padding_high", "interior_padding")
    )
    e = lowering.emit
    return [pad(e, operands[0], e.element(operands[1]), low, high, interior)]


def pad(
    e: Emitter,
    source: SSAValue,
    value: SSAValue,
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int] = (),
    *,
    for_windows: bool = False,
) -> SSAValue:
    """Return a tensor with interior padding, then edge padding; negative edges remove elements.

    No window fits where edges remove more than there is, so such a dimension of a tensor
    `for_windows` is empty.
    """
    if any(interior):
        source = dilate(e, source, value, [each + 1 for each in interior])
    source = e.pad(source, [max(each, 0) for each in low], [max(each, 0) for each in high], value)
    if min((*low, *high), default=0) >= 0:
        return source
    sizes: list[IndexOrInt] = []
    offsets: list[IndexOrInt] = []
    for size, before, behind in zip(e.sizes(source), low, high, strict=True):
        first, last = max(-before, 0), max(-behind, 0)
        left = e.subtract(size, first + last)
        if for_windows and first + last:
            left = e.maximum(left, 0)
        sizes.append(left)
        offsets.append(e.minimum(first, e.subtract(size, left)) if for_windows and first else first)
    return e.extract_slice(source, offsets, sizes)


def dilate(e: Emitter, source: SSAValue, value: SSAValue, distances: Sequence[int]) -> SSAValue:
    """Return a tensor whose elements are `distances` apart, with a value in between."""
    sizes: list[IndexOrInt] = []
    for size, distance in zip(e.sizes(source), distances, strict=True):
        longer = e.add(e.multiply(e.add(size, -1), distance), 1)
        sizes.append(size if distance == 1 else e.maximum(longer, 0))
    filled = e.fill(value, sizes)
    return e.insert_slice(source, filled, [0] * len(sizes), distances, e.sizes(source))


@tensor_rule("stablehlo.dynamic_pad")
def _dynamic_pad(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    rank = len(shape(operands[0]))
    value = e.element(operands[1])
    low, high, interior = (index_values(e, operands[i], rank) for i in (2, 3, 4))
    return [dynamic_pad(e, operands[0], value, low, high, interior, result_sizes(op))]


def dynamic_pad(
    e: Emitter,
    source: SSAValue,
    value: SSAValue,
    low: IndexList,
    high: IndexList,
    interior: IndexList,
    known_sizes: Sequence[int],
) -> SSAValue:
    """Return a tensor padded by dynamic numbers of any sign.

    Each element of the result computes whether it is one of the source. `known_sizes` is the shape
    of the result's type; dynamic sizes in it are computed.
    """
    rank = len(shape(source))
    own = [e.index(size) for size in e.sizes(source)]
    steps = [e.index(e.add(each, 1)) for each in interior]
    sizes: list[IndexOrInt] = []
    for dimension, size in enumerate(known_sizes):
        between = e.multiply(e.maximum(e.add(own[dimension], -1), 0), interior[dimension])
        total = e.add(e.add(own[dimension], between), e.add(low[dimension], high[dimension]))
        sizes.append(size if size >= 0 else total)
    empty = e.empty(sizes, element_type(source.type))

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        hit = inner.constant(1, BOOL)
        indices: list[IndexOrInt] = []
        for dimension in range(rank):
            distance = inner.index(inner.subtract(inner.loop_index(dimension), low[dimension]))
            inside, index = inner.strided_index(distance, steps[dimension], own[dimension])
            hit = inner.both(hit, inside)
            indices.append(index)
        return [inner.element_if(hit, source, indices, value)]

    return e.loops([], [], [empty], None, body)[0]


# Numbers -----------------------------------------------------------------------------------------


@tensor_rule("stablehlo.iota")
def _iota(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    sizes = list(result_sizes(op))
    return [iota(lowering.emit, sizes, integer(op, "iota_dimension"), result_kind(op))]


@tensor_rule("stablehlo.dynamic_iota")
def _dynamic_iota(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    sizes = sizes_from(lowering.emit, operands[0], result_sizes(op))
    return [iota(lowering.emit, sizes, integer(op, "iota_dimension"), result_kind(op))]


def iota(e: Emitter, sizes: IndexList, dimension: int, element: Kind) -> SSAValue:
    """Return a tensor whose elements are their index along a dimension."""

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        index = inner.loop_index(dimension)
        if element.is_integer and element.width > 1:
            return [inner.from_index(index, element.type)]
        wide = inner.from_index(index, _WIDE.type)
        return [convert(inner, wide, _WIDE, element)]

    return e.loops([], [], [e.empty(sizes, element.type)], None, body)[0]


_WIDE = kind(i64)


@tensor_rule("stablehlo.get_dimension_size")
def _get_dimension_size(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    size = e.index(e.size(operands[0], integer(op, "dimension")))
    return [e.scalar_tensor(e.from_index(size, result_kind(op).type))]


@tensor_rule("stablehlo.set_dimension_size")
def _set_dimension_size(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Return the leading elements along a dimension."""
    e = lowering.emit
    sizes = e.sizes(operands[0])
    if result_sizes(op)[integer(op, "dimension")] >= 0:
        return operands[:1]
    sizes[integer(op, "dimension")] = e.to_index(e.element(operands[1]))
    return [e.extract_slice(operands[0], [0] * len(sizes), sizes)]

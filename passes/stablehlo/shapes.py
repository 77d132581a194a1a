"""Operations that move elements, with sizes that are known or computed."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects.builtin import TensorType, i64
from xdsl.dialects.tensor import ConcatOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from ...ir.attribute_access import attribute, element_type, integer, number_list
from ...ir.index import IndexOrInt, known
from .arithmetic import operand_kind, result_kind
from .conversions import convert
from .elements import Kind, converted, kind
from .emitter import BOOL, Emitter, dims, shape
from .lowering import Lowering
from .rules import tensor_rule

Tensors = Sequence[SSAValue]


def sizes_from(e: Emitter, numbers: SSAValue, result: Sequence[int]) -> list[IndexOrInt]:
    """Sizes that a tensor holds, but for those that the result's type says."""
    return [
        size if size >= 0 else e.to_index(e.element(numbers, [place]))
        for place, size in enumerate(result)
    ]


def index_values(e: Emitter, numbers: SSAValue, count: int) -> list[SSAValue]:
    """The numbers of a tensor of one dimension as indices."""
    return [e.to_index(e.element(numbers, [place])) for place in range(count)]


def result_sizes(op: Operation) -> tuple[int, ...]:
    """The sizes in the type of the result."""
    return tuple(cast("tuple[int, ...]", op.result_types[0].get_shape()))  # pyright: ignore


# Reshapes and broadcasts -------------------------------------------------------------------------


@tensor_rule("stablehlo.reshape")
def _reshape(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    sizes: list[IndexOrInt] = list(result_sizes(op))
    unknown = [place for place, size in enumerate(sizes) if cast(int, size) < 0]
    if len(unknown) == 1:
        # What the known sizes leave of all elements.
        total: IndexOrInt = 1
        for size in e.sizes(operands[0]):
            total = e.multiply(total, size)
        rest = 1
        for size in sizes:
            rest *= max(cast(int, size), 1) if cast(int, size) != 0 else 1
        sizes[unknown[0]] = e.divide(total, rest)
    return [e.reshape(operands[0], sizes)]


@tensor_rule("stablehlo.dynamic_reshape")
def _dynamic_reshape(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    return [e.reshape(operands[0], sizes_from(e, operands[1], result_sizes(op)))]


def broadcast(
    e: Emitter, source: SSAValue, sizes: Sequence[IndexOrInt], places: Sequence[int]
) -> SSAValue:
    """A tensor whose dimensions go to places of a larger one, and are repeated along the rest.

    A size of 1 is repeated; so may be a size that is open, if it turns out to be 1.
    """
    element = element_type(source.type)
    rank = len(sizes)
    extents = shape(source)
    if not extents:
        return e.splat(source, sizes) or e.fill(e.element(source), sizes)
    known_sizes = [size for size in sizes if isinstance(size, int)]
    is_known = len(known_sizes) == rank and min(extents) >= 0
    is_in_order = list(places) == sorted(places)
    if is_known and is_in_order and prod(extents) == prod(known_sizes) > 0:
        # Only dimensions of one element are new.
        return e.reshape(source, sizes)
    open_ = [
        place
        for place, (size, target) in enumerate(zip(extents, places, strict=True))
        if size < 0 and not (isinstance(sizes[target], int) and sizes[target] == 1)
    ]
    empty = e.empty(sizes, element)
    if not open_:
        results: list[int | AffineExpr] = [
            AffineExpr.constant(0) if size == 1 else place
            for size, place in zip(extents, places, strict=True)
        ]
        maps = [dims(*results, loops=rank)]
        return e.loops([source], maps, [empty], None, lambda _, args: [args[0]])[0]
    own = [e.size(source, place) for place in range(len(extents))]
    one = e.index(1)
    repeated = {place: e.compare_integers("eq", e.index(own[place]), one) for place in open_}

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        indices: list[IndexOrInt] = []
        for place, size in enumerate(extents):
            index = inner.loop_index(places[place])
            if size == 1:
                index = inner.index(0)
            elif place in repeated:
                index = inner.select(repeated[place], inner.index(0), index)
            indices.append(index)
        return [inner.element(source, indices)]

    return e.loops([], [], [empty], None, body)[0]


@tensor_rule("stablehlo.broadcast_in_dim")
def _broadcast_in_dim(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    places = number_list(attribute(op, "broadcast_dimensions"))
    sizes: list[IndexOrInt] = list(result_sizes(op))
    for source, place in enumerate(places):
        if cast(int, sizes[place]) < 0:
            sizes[place] = e.size(operands[0], source)
    return [broadcast(e, operands[0], sizes, places)]


@tensor_rule("stablehlo.broadcast")
def _broadcast(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    added = number_list(attribute(op, "broadcast_sizes"))
    own = e.sizes(operands[0])
    places = range(len(added), len(added) + len(own))
    return [broadcast(e, operands[0], [*added, *own], places)]


@tensor_rule("stablehlo.dynamic_broadcast_in_dim")
def _dynamic_broadcast(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    sizes = sizes_from(e, operands[1], result_sizes(op))
    places = number_list(attribute(op, "broadcast_dimensions"))
    return [broadcast(e, operands[0], sizes, places)]


@tensor_rule("stablehlo.transpose")
def _transpose(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    order = number_list(attribute(op, "permutation"))
    return [transpose(lowering.emit, operands[0], order)]


def transpose(e: Emitter, source: SSAValue, order: Sequence[int]) -> SSAValue:
    """The dimensions of a tensor in another order."""
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


def reverse(e: Emitter, source: SSAValue, turned: Sequence[int]) -> SSAValue:
    """A tensor with the elements along some dimensions in the opposite order."""
    extents = shape(source)
    empty = e.empty(e.sizes(source), element_type(source.type))
    if all(extents[each] >= 0 for each in turned):
        results: list[int | AffineExpr] = [
            AffineExpr.dimension(place) * -1 + (size - 1) if place in turned else place
            for place, size in enumerate(extents)
        ]
        maps = [dims(*results, loops=len(extents))]
        return e.loops([source], maps, [empty], None, lambda _, args: [args[0]])[0]
    last = {place: e.index(e.add(e.size(source, place), -1)) for place in turned}

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        indices = [inner.loop_index(place) for place in range(len(extents))]
        return [
            inner.element(
                source,
                [
                    inner.subtract(last[place], index) if place in last else index
                    for place, index in enumerate(indices)
                ],
            )
        ]

    return e.loops([], [], [empty], None, body)[0]


@tensor_rule("stablehlo.concatenate")
def _concatenate(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    dimension = integer(op, "dimension")
    if len(operands) == 1:
        return operands
    result = cast("TensorType[Attribute]", converted(op.result_types[0]))
    return [e.insert(ConcatOp(operands, dimension, result))]


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
    """Strides are numbers of the run, so elements are read one by one."""
    e = lowering.emit
    source = operands[0]
    rank = len(shape(source))
    starts, limits, strides = (index_values(e, operands[i], rank) for i in (1, 2, 3))
    sizes: list[IndexOrInt] = []
    for place, size in enumerate(result_sizes(op)):
        length = e.subtract(limits[place], starts[place])
        rounded = e.add(length, e.add(strides[place], -1))
        sizes.append(size if size >= 0 else e.divide(rounded, strides[place]))
    empty = e.empty(sizes, element_type(source.type))

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        indices = [
            inner.add(starts[place], inner.multiply(inner.loop_index(place), strides[place]))
            for place in range(rank)
        ]
        return [inner.element(source, indices)]

    return [e.loops([], [], [empty], None, body)[0]]


def clamped_starts(
    e: Emitter,
    starts: Sequence[SSAValue],
    found: Kind,
    source: SSAValue,
    sizes: Sequence[IndexOrInt],
) -> list[IndexOrInt]:
    """Where a slice of these sizes begins: moved into the tensor, in each dimension."""
    clamped: list[IndexOrInt] = []
    for place, start in enumerate(starts):
        most = e.subtract(e.size(source, place), sizes[place])
        clamped.append(0 if most == 0 else clamp_index(e, e.element(start), found, most))
    return clamped


def clamp_index(e: Emitter, number: SSAValue, found: Kind, most: IndexOrInt) -> IndexOrInt:
    """A number as an index from 0 to `most`, whatever its sign and width are."""
    index = known(e.to_index(number, found.name == "signed"))
    if found.name == "signed" or isinstance(index, int):
        return e.minimum(e.maximum(index, 0), most)
    # A number of 64 bits that is too large is negative as an index.
    return e.op("arith.minui", index, e.index(most))


@tensor_rule("stablehlo.dynamic_slice")
def _dynamic_slice(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    source, *starts = operands
    sizes = number_list(attribute(op, "slice_sizes"))
    if not sizes:
        return [source]
    offsets = clamped_starts(e, starts, operand_kind(op, 1), source, sizes)
    return [e.extract_slice(source, offsets, sizes, [1] * len(sizes))]


@tensor_rule("stablehlo.dynamic_update_slice")
def _dynamic_update_slice(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    target, update, *starts = operands
    if not starts:
        return [update]
    sizes = e.sizes(update)
    offsets = clamped_starts(e, starts, operand_kind(op, 2), target, sizes)
    return [e.insert_slice(update, target, offsets, [1] * len(starts), sizes)]


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
    interior: Sequence[int],
) -> SSAValue:
    """Elements between all others, then before and behind them; negative numbers cut away."""
    if any(interior):
        source = spread(e, source, value, [each + 1 for each in interior])
    source = e.pad(source, [max(each, 0) for each in low], [max(each, 0) for each in high], value)
    if min((*low, *high), default=0) >= 0:
        return source
    offsets = [max(-each, 0) for each in low]
    sizes = [
        e.subtract(size, offset + max(-behind, 0))
        for size, offset, behind in zip(e.sizes(source), offsets, high, strict=True)
    ]
    return e.extract_slice(source, offsets, sizes, [1] * len(sizes))


def spread(e: Emitter, source: SSAValue, value: SSAValue, distances: Sequence[int]) -> SSAValue:
    """A tensor whose elements are some distance apart, with a value in between."""
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
    low: Sequence[IndexOrInt],
    high: Sequence[IndexOrInt],
    interior: Sequence[IndexOrInt],
    known_sizes: Sequence[int],
) -> SSAValue:
    """Padding by numbers of any sign: each element asks whether it is one of the source's."""
    rank = len(shape(source))
    own = [e.index(size) for size in e.sizes(source)]
    steps = [e.index(e.add(each, 1)) for each in interior]
    sizes: list[IndexOrInt] = []
    for place, size in enumerate(known_sizes):
        between = e.multiply(e.maximum(e.add(own[place], -1), 0), interior[place])
        total = e.add(e.add(own[place], between), e.add(low[place], high[place]))
        sizes.append(size if size >= 0 else total)
    if 0 in shape(source):
        return e.fill(value, sizes)
    empty = e.empty(sizes, element_type(source.type))

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        hit = inner.constant(1, BOOL)
        indices: list[IndexOrInt] = []
        for place in range(rank):
            distance = inner.index(inner.subtract(inner.loop_index(place), low[place]))
            inside, index = inner.strided_place(distance, steps[place], own[place])
            hit = inner.both(hit, inside)
            indices.append(index)
        return [inner.select(hit, inner.element(source, indices), value)]

    return e.loops([], [], [empty], None, body)[0]


# Numbers -----------------------------------------------------------------------------------------


@tensor_rule("stablehlo.iota")
def _iota(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    del operands
    sizes = list(result_sizes(op))
    return [iota(lowering.emit, sizes, integer(op, "iota_dimension"), result_kind(op))]


@tensor_rule("stablehlo.dynamic_iota")
def _dynamic_iota(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    sizes = sizes_from(lowering.emit, operands[0], result_sizes(op))
    return [iota(lowering.emit, sizes, integer(op, "iota_dimension"), result_kind(op))]


def iota(e: Emitter, sizes: Sequence[IndexOrInt], dimension: int, element: Kind) -> SSAValue:
    """A tensor whose elements are their index along a dimension."""

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
    """The first elements along a dimension."""
    e = lowering.emit
    sizes = e.sizes(operands[0])
    if result_sizes(op)[integer(op, "dimension")] >= 0:
        return operands[:1]
    sizes[integer(op, "dimension")] = e.to_index(e.element(operands[1]))
    return [e.extract_slice(operands[0], [0] * len(sizes), sizes, [1] * len(sizes))]

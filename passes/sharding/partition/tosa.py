"""Partition `tosa` operations that move elements, convolutions and poolings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AnyFloat, DenseArrayBase, i64
from xdsl.ir import Operation, SSAValue

from ....dialects.tosa.operation_kinds import constant_numbers
from ....dialects.tosa.windows import Sliding, sliding
from ....ir.attribute_access import integers
from ....ir.index import IndexOrInt
from ....ir.tensor_types import integer_width, shape_of
from ....sharding.local_shape import common_size
from .by_rule import append_copy, copy_with
from .emitter import Emitter
from .fetch_sections import Interval, Padding, pad_with
from .local_types import tensor_type_of, with_shape
from .partitioner import OpSharding, Partitioner, shape
from .reductions import is_splat_of, scalar_constant, splat_like
from .registry import partition
from .shifted_operands import Shift, paddings_of, shifts, with_sections, with_sections_of


@with_sections_of("tosa.slice")
def slice_(chosen: OpSharding, operands: list[SSAValue]) -> SSAValue:
    """Emit a slice of the local section."""
    emitter, operation = chosen.emitter, chosen.operation
    offsets: list[IndexOrInt] = list(constant_numbers(operation.operands[1]) or ())
    sizes: list[IndexOrInt] = []
    for dimension, (size, axes) in enumerate(
        zip(shape(operation.results[0]), chosen.result_shardings[0].dimension_axes, strict=True)
    ):
        if axes:
            # Take the whole section or shard.
            offsets[dimension] = 0
            sizes.append(emitter.dimension(operands[0], dimension))
        else:
            assert size is not None
            sizes.append(size)
    return emitter.slice(operands[0], offsets, sizes, chosen.local_type)


@with_sections_of("tosa.pad")
def pad(chosen: OpSharding, operands: list[SSAValue]) -> SSAValue:
    """Emit local padding; only processes at the ends of a split dimension add padding."""
    emitter, operation = chosen.emitter, chosen.operation
    widths = constant_numbers(operation.operands[1])
    if widths is None:
        # Without known widths, no dimension that may be padded is split.
        return append_copy(chosen, operands)
    paddings = paddings_of(chosen)
    split = {padding.dimension for padding in paddings}
    for dimension, size in enumerate(shape(operation.results[0])):
        low, high = widths[2 * dimension : 2 * dimension + 2]
        if dimension not in split and (low or high):
            paddings.append(Padding(dimension, (), [(low, high)], [size]))
    element = chosen.local_type.element_type
    filler = emitter.insert(tensor.ExtractOp(operands[2], [emitter.index(0)], element))
    return pad_with(emitter, operands[0], chosen.grid, paddings, filler)


with_sections_of("tosa.reverse")(append_copy)


def _slidings(operation: Operation) -> dict[int, Sliding]:
    """Return the sliding windows, by dimension of the image."""
    return dict(enumerate(sliding(operation) or (), 1))


@with_sections_of("tosa.conv2d", "tosa.conv3d", "tosa.depthwise_conv2d", "tosa.max_pool2d")
def window(chosen: OpSharding, operands: list[SSAValue]) -> SSAValue:
    """Emit an operation on explicitly padded sections, without padding of its own."""
    operation, emitter, paddings = chosen.operation, chosen.emitter, paddings_of(chosen)
    filler = _filler(emitter, operation, operands)
    operands[0] = pad_with(emitter, operands[0], chosen.grid, paddings, filler)
    numbers = list(integers(operation, "pad"))
    for padding in paddings:
        place = 2 * (padding.dimension - 1)
        numbers[place : place + 2] = 0, 0
    _add_bias_once(chosen, operands)
    properties = {**operation.properties, "pad": DenseArrayBase.from_list(i64, numbers)}
    return append_copy(chosen, operands, properties)


def _filler(emitter: Emitter, operation: Operation, operands: Sequence[SSAValue]) -> SSAValue:
    """Return the padding value: the lowest number for maxima, zero or the zero point otherwise."""
    image = tensor_type_of(operands[0])
    element = image.element_type
    if operation.name == "tosa.max_pool2d":
        lowest = -inf if isinstance(element, AnyFloat) else -(1 << (integer_width(element) - 1))
        return scalar_constant(emitter, lowest, element)
    if isinstance(element, AnyFloat):
        return scalar_constant(emitter, 0, element)
    return emitter.insert(tensor.ExtractOp(operands[3], [emitter.index(0)], element))


def _add_bias_once(chosen: OpSharding, operands: list[SSAValue]) -> None:
    """Zero the bias on all but the first of the processes that sum over input channels."""
    combiner = chosen.combiners[0]
    axes = chosen.reduced_axes
    if not axes or combiner is None:
        return
    if is_splat_of(chosen.partitioner, chosen.operation.operands[2], combiner):
        return
    emitter = chosen.emitter
    position = emitter.index(emitter.position(chosen.grid, axes))
    first = emitter.insert(arith.CmpiOp(position, emitter.index(0), "eq"))
    nothing = splat_like(emitter, operands[2], 0)
    operands[2] = emitter.insert(arith.SelectOp(first, operands[2], nothing))


def _enough_results(window: Sliding, total: int, start: int, end: int) -> Interval:
    """Widen a result interval so that padding affects only dropped results, or the image's ends."""
    first = max(start - _rounded_up(window.before, window.stride), 0)
    return first, min(end + _rounded_up(window.after, window.stride), total)


def _image_of(window: Sliding, first: int, last: int) -> Interval:
    """Return the interval of the image without padding that a result interval is made of."""
    length = (last - first - 1) * window.stride + window.reach - window.before - window.after
    return first * window.stride, first * window.stride + length


def _rounded_up(number: int, divisor: int) -> int:
    """Return number / divisor, rounded up."""
    return -(-number // divisor)


@partition("tosa.avg_pool2d")
def average(partitioner: Partitioner, operation: Operation) -> None:
    """Partition an average pooling, whose divisor counts only elements that are not padding."""
    windows, totals = _slidings(operation), shape(operation.results[0])

    def made(dimension: int, start: int, end: int) -> Interval:
        total = totals[dimension]
        assert total is not None
        return _enough_results(windows[dimension], total, start, end)

    def read(dimension: int, start: int, end: int) -> Interval:
        return _image_of(windows[dimension], *made(dimension, start, end))

    def emit(chosen: OpSharding, operands: list[SSAValue]) -> SSAValue:
        parts = {
            shift.dimension: [made(shift.dimension, *part) for part in shift.parts]
            for shift in shifts(chosen)
        }
        return _emit_and_slice(chosen, operands, parts, {})

    with_sections(partitioner, operation, emit, read)


def _emit_and_slice(
    chosen: OpSharding,
    operands: list[SSAValue],
    made: Mapping[int, Sequence[Interval]],
    properties: Mapping[str, DenseArrayBase],
) -> SSAValue:
    """Emit an operation for the result intervals `made`, and slice out this process's part."""
    emitter, operation = chosen.emitter, chosen.operation
    extents = list(shape_of(chosen.local_type))
    for dimension, intervals in made.items():
        extents[dimension] = common_size(end - start for start, end in intervals)
    types = [with_shape(chosen.local_type, extents)]
    changed = {**operation.properties, **properties}
    copy = copy_with(chosen.partitioner, operation, operands, types, changed)
    value = emitter.append(copy).results[0]
    for shift in shifts(chosen):
        intervals = made[shift.dimension]
        if intervals == shift.parts:
            continue
        starts = [
            start - first for (start, _), (first, _) in zip(shift.parts, intervals, strict=True)
        ]
        first = emitter.own(starts, chosen.grid, shift.axes)
        length = emitter.own(shift.lengths, chosen.grid, shift.axes)
        value = emitter.slice_dimension(value, shift.dimension, first, length)
    return value


@partition("tosa.transpose_conv2d")
def transposed(partitioner: Partitioner, operation: Operation) -> None:
    """Partition a transposed convolution: an image element adds to a window of the result."""
    windows, extents = _slidings(operation), shape(operation.operands[0])

    def read(dimension: int, start: int, end: int) -> Interval:
        extent = extents[dimension]
        assert extent is not None
        return _added(windows[dimension], extent, start, end)

    with_sections(partitioner, operation, _emit_transposed, read)


def _added(window: Sliding, extent: int, start: int, end: int) -> Interval:
    """Return the image interval that adds to a part of the result; at least one element."""
    first = _rounded_up(start - window.before - window.size + 1, window.stride)
    first = min(max(first, 0), extent - 1)
    last = (end - 1 - window.before) // window.stride + 1
    return first, max(min(last, extent), first + 1)


def _emit_transposed(chosen: OpSharding, operands: list[SSAValue]) -> SSAValue:
    operation = chosen.operation
    windows, extents = _slidings(operation), shape(operation.operands[0])
    padding = list(integers(operation, "out_pad"))
    made: dict[int, list[Interval]] = {}
    for shift in shifts(chosen):
        window, extent = windows[shift.dimension], extents[shift.dimension]
        assert extent is not None
        made[shift.dimension], around = _widened(window, extent, shift)
        place = 2 * (shift.dimension - 1)
        padding[place : place + 2] = around
    _add_bias_once(chosen, operands)
    properties = {"out_pad": DenseArrayBase.from_list(i64, padding)}
    return _emit_and_slice(chosen, operands, made, properties)


def _widened(window: Sliding, extent: int, shift: Shift) -> tuple[list[Interval], tuple[int, int]]:
    """Return the result interval that each process makes, and the common padding to use for it."""
    reads = [_added(window, extent, start, end) for start, end in shift.parts]
    reached: list[Interval] = []
    for first, last in reads:
        low = first * window.stride + window.before
        reached.append((low, low + (last - first - 1) * window.stride + window.size))
    both = list(zip(reached, shift.parts, strict=True))
    below = max(0, *(low - start for (low, _), (start, _) in both))
    above = max(0, *(end - high for (_, high), (_, end) in both))
    return [(low - below, high + above) for low, high in reached], (below, above)

"""Slices, padding and reversals of tosa: each process works on the section that it needs.

tosa has no sizes that differ from process to process, so slices and padding are those of the
`tensor` dialect in the program of one device.
"""

from __future__ import annotations

from xdsl.dialects import tensor
from xdsl.ir import Operation, SSAValue

from ...dialects.tensor_shapes import ranked
from ...sharding.factors import Factor
from .emitter import Size
from .local_types import local_type
from .partition_by_rule import Cut, SpreadOperation, copy_local
from .partition_registry import partitions
from .partitioner import Partitioner, shape
from .reductions import scalar_constant
from .rules.builder import integer
from .rules.tosa_shapes import constant_shape
from .sections import Interval, Padding, padded
from .shifted import shifted, shifts, with_sections


@partitions("tosa.slice")
def slice_(partitioner: Partitioner, operation: Operation) -> None:
    """Of a dimension that is cut, a process fetches what its part of the result is made of."""
    starts = constant_shape(operation, 1) or ()

    def read(dimension: int, start: int, end: int) -> Interval:
        return starts[dimension] + start, starts[dimension] + end

    with_sections(partitioner, operation, read, _slice_local)


def _slice_local(
    partitioner: Partitioner, spread: SpreadOperation, operands: list[SSAValue]
) -> SSAValue:
    emitter, operation = partitioner.emitter, spread.operation
    whole = ranked(operation.results[0])
    assert whole is not None
    sharding = spread.result_shardings[0]
    offsets: list[Size] = list(constant_shape(operation, 1) or ())
    sizes: list[Size] = []
    for dimension, (size, axes) in enumerate(
        zip(shape(operation.results[0]), sharding.dimension_axes, strict=True)
    ):
        if axes:
            # The section, or all of a shard.
            offsets[dimension] = 0
            sizes.append(emitter.dimension(operands[0], dimension))
        else:
            assert size is not None
            sizes.append(size)
    return emitter.slice(operands[0], offsets, sizes, local_type(whole, sharding))


@partitions("tosa.pad")
def pad(partitioner: Partitioner, operation: Operation) -> None:
    """The padding of a split dimension belongs to the processes at its ends."""
    widths, extents = constant_shape(operation, 1) or (), shape(operation.operands[0])

    def read(dimension: int, start: int, end: int) -> Interval:
        extent, low = extents[dimension], widths[2 * dimension]
        assert extent is not None
        return max(start - low, 0), min(end - low, extent)

    with_sections(partitioner, operation, read, _pad_local)


def _pad_local(
    partitioner: Partitioner, spread: SpreadOperation, operands: list[SSAValue]
) -> SSAValue:
    emitter, operation = partitioner.emitter, spread.operation
    widths = constant_shape(operation, 1)
    whole, extents = ranked(operation.results[0]), shape(operation.operands[0])
    assert whole is not None
    if widths is None:
        # No dimension that may be padded is split.
        return emitter.add(copy_local(partitioner, spread, operands)).results[0]
    parts = {shift.dimension: shift for shift in shifts(spread)}
    paddings: list[Padding] = []
    for dimension, extent in enumerate(extents):
        low, high = widths[2 * dimension : 2 * dimension + 2]
        shift = parts.get(dimension)
        if shift is not None:
            assert extent is not None
            sizes = [end - start for start, end in shift.parts]
            around = [
                (
                    min(max(low - start, 0), end - start),
                    min(max(end - low - extent, 0), end - start),
                )
                for start, end in shift.parts
            ]
            paddings.append(Padding(dimension, shift.axes, around, sizes))
        elif low or high:
            size = shape(operation.results[0])[dimension]
            paddings.append(Padding(dimension, (), [(low, high)], [size]))
    if len(operands) > 2:
        element = tensor.ExtractOp(operands[2], [emitter.index(0)], whole.element_type)
        filler = emitter.help(element)
    else:
        filler = scalar_constant(emitter, 0, whole.element_type)
    value = padded(emitter, operands[0], spread.grid, paddings, filler)
    return emitter.cast(value, local_type(whole, spread.result_shardings[0]))


def _evenly(factor: Factor, cut: Cut) -> bool:
    """tosa reverses parts of one size: where they are not alike, all of the dimension."""
    return shifted(factor, cut) and (cut.even or not cut.backward)


@partitions("tosa.reverse")
def reverse(partitioner: Partitioner, operation: Operation) -> None:
    """A part of the result is what lies as far from the other end, reversed."""
    extent = shape(operation.operands[0])[integer(operation, "axis") or 0]

    def read(dimension: int, start: int, end: int) -> Interval:
        assert extent is not None
        return extent - end, extent - start

    with_sections(partitioner, operation, read, _reverse_local, _evenly)


def _reverse_local(
    partitioner: Partitioner, spread: SpreadOperation, operands: list[SSAValue]
) -> SSAValue:
    made = copy_local(partitioner, spread, operands)
    return partitioner.emitter.add(made).results[0]

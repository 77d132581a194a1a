"""Slices, padding and reversals of tosa: each process works on the section that it needs.

tosa has no sizes that differ from process to process, so slices and padding are those of the
`tensor` dialect in the program of one device.
"""

from __future__ import annotations

from xdsl.dialects import tensor
from xdsl.ir import Operation, SSAValue

from ...ir.tensor_types import ranked
from ...sharding.factors import Factor
from .emitter import Size
from .local_types import local_type
from .partition_by_rule import Cut, SpreadOperation, copy_local
from .partition_registry import partitions
from .partitioner import Partitioner, shape
from .reductions import scalar_constant
from .rules.tosa_shapes import constant_shape
from .sections import Padding, padded
from .shifted import paddings_of, shifted, with_sections


@partitions("tosa.slice")
def slice_(partitioner: Partitioner, operation: Operation) -> None:
    """Of a dimension that is cut, a process fetches what its part of the result is made of."""
    with_sections(partitioner, operation, _slice_local)


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
    with_sections(partitioner, operation, _pad_local)


def _pad_local(
    partitioner: Partitioner, spread: SpreadOperation, operands: list[SSAValue]
) -> SSAValue:
    emitter, operation = partitioner.emitter, spread.operation
    widths = constant_shape(operation, 1)
    whole = ranked(operation.results[0])
    assert whole is not None
    if widths is None:
        # No dimension that may be padded is split.
        return emitter.add(copy_local(partitioner, spread, operands)).results[0]
    paddings = paddings_of(spread)
    split = {padding.dimension for padding in paddings}
    for dimension, size in enumerate(shape(operation.results[0])):
        low, high = widths[2 * dimension : 2 * dimension + 2]
        if dimension not in split and (low or high):
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
    with_sections(partitioner, operation, _reverse_local, _evenly)


def _reverse_local(
    partitioner: Partitioner, spread: SpreadOperation, operands: list[SSAValue]
) -> SSAValue:
    made = copy_local(partitioner, spread, operands)
    return partitioner.emitter.add(made).results[0]

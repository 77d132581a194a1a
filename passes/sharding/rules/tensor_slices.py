"""Rules of `tensor` operations on a part of a tensor: slices, insertions and padding.

A dimension that is taken whole passes through. Of one of which a part is taken, or that is padded,
a process needs a section that others may own. Where that section is known only at run time, the
dimension needs replication.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation

from ....ir import attribute_access as rank_reduction
from ....ir.tensor_types import Shape, tensor_shape
from ....sharding.factors import FactorKind, FactorRule, Window
from .builder import RuleBuilder, integers
from .registry import rule

_WHOLE = FactorKind.NEED_REPLICATION


def whole_dimensions(operation: Operation, full: Shape) -> list[bool] | None:
    """Which dimensions of a tensor of shape `full` a slice takes whole.

    As many elements as there are can only begin at 0, also where the offset is a value.
    """
    offsets = integers(operation, "static_offsets")
    sizes = integers(operation, "static_sizes")
    strides = integers(operation, "static_strides")
    if offsets is None or sizes is None or strides is None:
        return None
    return [
        offset in (0, DYNAMIC_INDEX) and stride == 1 and extent is not None and extent == size
        for offset, size, stride, extent in zip(offsets, sizes, strides, full, strict=True)
    ]


def kept_dimensions(sizes: tuple[int, ...], slice_shape: Shape) -> list[int | None] | None:
    """For each dimension that a slice is taken of, its position in the slice's type.

    `None` for a dimension of size 1 that a rank-reducing slice drops; `None` altogether where
    the shapes do not fit. Sizes known at run time are negative in `sizes`, `None` in the shape.
    """
    kept = rank_reduction.kept_dimensions(
        sizes, [-1 if size is None else size for size in slice_shape]
    )
    if kept is None:
        return None
    return [kept.index(each) if each in kept else None for each in range(len(sizes))]


@rule("tensor.extract_slice")
def extract_slice(operation: Operation) -> FactorRule | None:
    """Dimensions of the source pass through to the result, shifted if a part of them is taken.

    Of one of which a single element is taken, at a place that is known, who has it sends it.
    """
    source, result = tensor_shape(operation.operands[0]), tensor_shape(operation.results[0])
    sizes, offsets = integers(operation, "static_sizes"), integers(operation, "static_offsets")
    strides = integers(operation, "static_strides")
    if source is None or result is None or sizes is None or offsets is None or strides is None:
        return None
    whole, kept = whole_dimensions(operation, source), kept_dimensions(sizes, result)
    if whole is None or kept is None:
        return None
    builder = RuleBuilder(operation)
    for dimension, extent in enumerate(source):
        position = kept[dimension]
        if whole[dimension] and position is not None:
            factor = builder.factor(extent)
            builder.operand(0, dimension, factor)
            builder.result(0, position, factor)
            continue
        first, size, stride = offsets[dimension], sizes[dimension], strides[dimension]
        if size == 1 and extent is not None and first >= 0:
            builder.operand(0, dimension, builder.factor(extent, FactorKind.SELECTION))
            continue
        if position is not None and extent is not None and min(first, size, stride) >= 0:
            # The factor is the part that is taken: the source is longer.
            factor = builder.factor(size, FactorKind.PERMUTATION)
            builder.operand(0, dimension, factor)
            builder.result(0, position, factor)
            builder.window(Window(0, dimension, extent, stride, first))
            continue
        builder.operand(0, dimension, builder.factor(extent, _WHOLE))
        if position is not None:
            builder.result(0, position, builder.factor(result[position], _WHOLE))
    return builder.build()


def _is_known(*numbers: int | None) -> bool:
    """Whether numbers are known before the program runs: marks of others are negative."""
    return all(number is not None and number >= 0 for number in numbers)


LARGE = 2
"""What covers less than one in so many elements of a destination is not split for it."""


def fetched_part(operation: Operation, dimension: int) -> tuple[int, int, int] | None:
    """Offset, size and stride of what is written of a dimension by who fetches it.

    `None` if one of them is known at run time only, or if it is little.
    """
    extent = (tensor_shape(operation.operands[1]) or ())[dimension]
    offsets, sizes = integers(operation, "static_offsets"), integers(operation, "static_sizes")
    strides = integers(operation, "static_strides")
    if extent is None or offsets is None or sizes is None or strides is None:
        return None
    offset, size, stride = offsets[dimension], sizes[dimension], strides[dimension]
    if not _is_known(offset, size) or stride < 1 or size < 2 or size * stride * LARGE < extent:
        return None
    return offset, size, stride


@rule("tensor.insert_slice")
def insert_slice(operation: Operation) -> FactorRule | None:
    """Dimensions of the destination that are written whole are shared by all three tensors.

    Of one that is written in part a process writes what lies in its own shard. If it is known
    what that is, and not little, the source is shifted against the destination; otherwise all of
    it is needed.
    """
    source, destination = (tensor_shape(operand) for operand in operation.operands[:2])
    sizes, strides = integers(operation, "static_sizes"), integers(operation, "static_strides")
    if source is None or destination is None or sizes is None or strides is None:
        return None
    whole, kept = whole_dimensions(operation, destination), kept_dimensions(sizes, source)
    if whole is None or kept is None:
        return None
    builder = RuleBuilder(operation)
    for dimension, extent in enumerate(destination):
        position = kept[dimension]
        passes = whole[dimension] and position is not None
        kind = _WHOLE
        if passes:
            kind = FactorKind.PASS_THROUGH
        elif extent is not None and (strides[dimension] == 1 or fetched_part(operation, dimension)):
            kind = FactorKind.PERMUTATION
        factor = builder.factor(extent, kind)
        builder.operand(1, dimension, factor)
        builder.result(0, dimension, factor)
        if position is not None:
            fetched = passes or fetched_part(operation, dimension) is not None
            own = factor if fetched else builder.factor(source[position], _WHOLE)
            builder.operand(0, position, own)
            part, length = fetched_part(operation, dimension), source[position]
            if not passes and part is not None and length is not None and part[2] == 1:
                builder.window(Window(0, position, length, first=-part[0]))
    return builder.build()


@rule("tensor.pad")
def pad(operation: Operation) -> FactorRule | None:
    """Dimensions without padding pass through; others are shifted."""
    source, result = tensor_shape(operation.operands[0]), tensor_shape(operation.results[0])
    low, high = integers(operation, "static_low"), integers(operation, "static_high")
    if source is None or result is None or low is None or high is None:
        return None
    builder = RuleBuilder(operation)
    for dimension, (before, after) in enumerate(zip(source, result, strict=True)):
        below, above = low[dimension], high[dimension]
        if below == 0 and above == 0:
            factor = builder.factor(after if before is None else before)
            builder.operand(0, dimension, factor)
            builder.result(0, dimension, factor)
        elif before is not None and after is not None and min(below, above) >= 0:
            factor = builder.factor(after, FactorKind.PERMUTATION)
            builder.operand(0, dimension, factor)
            builder.result(0, dimension, factor)
            builder.window(Window(0, dimension, before, first=-below))
        else:
            builder.operand(0, dimension, builder.factor(before, _WHOLE))
            builder.result(0, dimension, builder.factor(after, _WHOLE))
    return builder.build()

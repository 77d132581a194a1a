"""Rules of `tensor` operations: whole tensors, reshapes, slices, insertions and padding."""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from ....ir import attribute_access as rank_reduction
from ....ir.attribute_access import attribute, integer_lists, operation_name
from ....ir.tensor_types import Shape, tensor_shape
from ....sharding.factors import FactorKind, FactorRule, Shards, Window
from ..annotations.access import SHARD
from .builder import RuleBuilder, elementwise_rule, integer, integers, same_rank_rule
from .registry import sharding_rule
from .reshapes import reshape_rule

_WHOLE = FactorKind.NEED_REPLICATION


@sharding_rule("tensor.empty", "tensor.generate", "tensor.splat", "bufferization.alloc_tensor")
def made(operation: Operation) -> FactorRule | None:
    """Each dimension of the result is one factor, shared with a tensor to copy if there is one."""
    return elementwise_rule(operation)


@sharding_rule("tensor.cast", "tensor.bitcast")
def cast_rule(operation: Operation) -> FactorRule | None:
    """The dimensions stay; one side may know an extent that the other does not."""
    return same_rank_rule(operation, [True] * len(tensor_shape(operation.operands[0]) or ()))


@sharding_rule("tensor.dim", "tensor.rank")
def size(operation: Operation) -> FactorRule | None:
    """Sizes are those of the whole tensor, however it is split."""
    shape = tensor_shape(operation.operands[0])
    if shape is None:
        return None
    builder = RuleBuilder(operation)
    for dimension, extent in enumerate(shape):
        builder.operand(0, dimension, builder.factor(extent))
    return builder.build()


@sharding_rule("tensor.extract", "tensor.from_elements", "tensor.insert")
def element(operation: Operation) -> FactorRule | None:
    """Single elements are read or written, at places that are known only at run time."""
    builder = RuleBuilder(operation)
    for index, operand in enumerate(operation.operands):
        for dimension, extent in enumerate(tensor_shape(operand) or ()):
            builder.operand(index, dimension, builder.factor(extent, _WHOLE))
    for dimension, extent in enumerate(tensor_shape(operation.results[0]) or ()):
        builder.result(0, dimension, builder.factor(extent, _WHOLE))
    return builder.build()


@sharding_rule("tensor.concat")
def concat(operation: Operation) -> FactorRule | None:
    """All dimensions pass through; along the one that is joined, elements change places."""
    return concat_rule(operation, integer(operation, "dim"))


def concat_rule(operation: Operation, joined: int | None) -> FactorRule | None:
    """The rule of joining all operands along a dimension.

    Its extents must be known for it to be split: operands are then shifted against the result.
    """
    shape = tensor_shape(operation.results[0])
    if shape is None or joined is None:
        return None
    builder = RuleBuilder(operation)
    extents = [(tensor_shape(operand) or shape)[joined] for operand in operation.operands]
    for dimension, extent in enumerate(shape):
        if dimension == joined and extent is not None and None not in extents:
            # The factor is what is joined: the operands are shorter.
            factor = builder.factor(extent, FactorKind.PERMUTATION)
            builder.result(0, dimension, factor)
            start = 0
            for index, own in enumerate(extents):
                builder.operand(index, dimension, factor)
                builder.window(Window(index, dimension, own or 0, first=-start))
                start += own or 0
        elif dimension == joined:
            builder.result(0, dimension, builder.factor(extent, _WHOLE))
            for index in range(len(operation.operands)):
                builder.operand(index, dimension, builder.factor(extents[index], _WHOLE))
        else:
            factor = builder.factor(extent)
            builder.result(0, dimension, factor)
            for index in range(len(operation.operands)):
                builder.operand(index, dimension, factor)
    return builder.build()


@sharding_rule("tensor.gather")
def gather(operation: Operation) -> FactorRule | None:
    """Rows of indices pass through, and so do the dimensions of the source that are not looked up.

    The result has the indices' dimensions but the last, then those of the source; the dimensions
    looked up have extent 1 there, or are left out.
    """
    source, indices = (tensor_shape(operand) for operand in operation.operands[:2])
    looked_up = integers(operation, "gather_dims")
    shape = tensor_shape(operation.results[0])
    if source is None or indices is None or shape is None or looked_up is None:
        return None
    builder = RuleBuilder(operation)
    rows = len(indices) - 1
    for dimension in range(rows):
        builder.shared(dimension, indices[dimension], operand=1)
    builder.operand(1, rows, builder.factor(indices[rows], _WHOLE))
    position, keeps = rows, len(shape) == rows + len(source)
    for dimension, extent in enumerate(source):
        if dimension in looked_up:
            builder.operand(0, dimension, builder.factor(extent, _WHOLE))
            position += keeps
        else:
            builder.shared(dimension, extent, result=position)
            position += 1
    return builder.build()


def reassociation(operation: Operation) -> list[list[int]] | None:
    """The groups of expanded dimensions, one per collapsed dimension."""
    if attribute(operation, "reassociation") is None:
        return None
    return [list(group) for group in integer_lists(operation, "reassociation")]


@sharding_rule("tensor.collapse_shape", "tensor.expand_shape")
def regrouped(operation: Operation) -> FactorRule | None:
    """Each expanded dimension is a factor, each collapsed one its group's."""
    collapses = operation_name(operation) == "tensor.collapse_shape"
    expanded = operation.operands[0] if collapses else operation.results[0]
    shape, groups = tensor_shape(expanded), reassociation(operation)
    if shape is None or groups is None:
        return None
    builder = RuleBuilder(operation)
    factors = [builder.factor(size) for size in shape]
    each = [(factor,) for factor in factors]
    grouped = [tuple(factors[d] for d in group) for group in groups]
    builder.operand_dimensions(0, each if collapses else grouped)
    builder.result_dimensions(0, grouped if collapses else each)
    return builder.build()


@sharding_rule("tensor.reshape")
def reshape(operation: Operation) -> FactorRule | None:
    """What the shapes before and after have in common."""
    return reshape_rule(operation)


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


def cut_from(original: SSAValue, dimension: int) -> tuple[SSAValue, int]:
    """The tensor that one is cut out of along a dimension alone, and from which element on."""
    first = 0
    while isinstance(operation := original.owner, Operation):
        if operation.name == "tensor.extract_slice":
            source = operation.operands[0]
            shape = tensor_shape(source) or ()
            whole = whole_dimensions(operation, shape) or []
            offsets, strides = (
                (integers(operation, f"static_{name}") or ())[dimension]
                for name in ("offsets", "strides")
            )
            others = whole[:dimension] + whole[dimension + 1 :]
            if len(shape) != len(tensor_shape(original) or ()) or not all(others):
                break
            if offsets < 0 or strides != 1:
                break
            first += offsets
        elif operation.name != SHARD:
            break
        original = operation.operands[0]
    return original, first


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


@sharding_rule("tensor.extract_slice")
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
            builder.shared(dimension, extent, result=position)
            continue
        first, size, stride = offsets[dimension], sizes[dimension], strides[dimension]
        if size == 1 and extent is not None and first >= 0:
            builder.operand(0, dimension, builder.factor(extent, FactorKind.SELECTION))
            continue
        if position is not None and extent is not None and min(first, size, stride) >= 0:
            # The factor is the part that is taken: the source is longer.
            builder.shared(
                dimension, size, FactorKind.PERMUTATION, result=position, shards=Shards.ANY
            )
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


@sharding_rule("tensor.insert_slice")
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


@sharding_rule("tensor.pad")
def pad(operation: Operation) -> FactorRule | None:
    """Dimensions without padding pass through; others are shifted."""
    low, high = integers(operation, "static_low"), integers(operation, "static_high")
    if low is None or high is None:
        return None
    widths = list(zip(low, high, strict=True))
    reads = [(-below, 1) if min(below, above) >= 0 else None for below, above in widths]
    return same_rank_rule(operation, [width == (0, 0) for width in widths], reads)

"""Rules of `tensor` operations: creations, reshapes, slices, insertions and padding."""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from ....ir.attribute_access import (
    attribute,
    integer_lists,
    integers,
    kept_dimensions,
    operation_name,
    optional_integer,
    optional_integers,
)
from ....ir.index_lists import SLICE_LISTS
from ....ir.tensor_types import Shape, tensor_shape
from ....sharding.factors import FactorKind, FactorRule, ShardRequirement, Window
from ..annotations.access import SHARD
from .builder import RuleBuilder, elementwise_rule, same_rank_rule
from .registry import sharding_rule

_REPLICATED = FactorKind.NEED_REPLICATION


# Each dimension of the result is one factor. A tensor to copy, if there is one, has the same ones.
sharding_rule("tensor.empty", "tensor.generate", "tensor.splat", "bufferization.alloc_tensor")(
    elementwise_rule
)


@sharding_rule("tensor.cast", "tensor.bitcast")
def cast_rule(operation: Operation) -> FactorRule | None:
    """Return the rule of a cast: dimensions pass through, whichever side knows their extents."""
    return same_rank_rule(operation, [True] * len(tensor_shape(operation.operands[0]) or ()))


@sharding_rule("tensor.dim", "tensor.rank")
def size(operation: Operation) -> FactorRule | None:
    """Return a rule in which the operand may be split: sizes are those of the whole tensor."""
    shape = tensor_shape(operation.operands[0])
    if shape is None:
        return None
    builder = RuleBuilder(operation)
    for dimension, extent in enumerate(shape):
        builder.operand(0, dimension, builder.factor(extent))
    return builder.build()


@sharding_rule("tensor.extract", "tensor.from_elements", "tensor.insert")
def element(operation: Operation) -> FactorRule | None:
    """Return a rule without splits: single elements are accessed at dynamic places."""
    builder = RuleBuilder(operation)
    for index, operand in enumerate(operation.operands):
        for dimension, extent in enumerate(tensor_shape(operand) or ()):
            builder.operand(index, dimension, builder.factor(extent, _REPLICATED))
    for dimension, extent in enumerate(tensor_shape(operation.results[0]) or ()):
        builder.result(0, dimension, builder.factor(extent, _REPLICATED))
    return builder.build()


def joined_dimension(operation: Operation) -> int | None:
    """Return the dimension along which a concatenation joins; `None` if it is not stated."""
    return optional_integer(operation, "axis" if operation.name == "tosa.concat" else "dim")


@sharding_rule("tensor.concat", "tosa.concat")
def concat(operation: Operation) -> FactorRule | None:
    """Return the rule of a concatenation of all operands along a dimension.

    Along the joined dimension the operands are shifted against the result; it can be split only if
    all extents are static. The other dimensions pass through.
    """
    shape, joined = tensor_shape(operation.results[0]), joined_dimension(operation)
    if shape is None or joined is None:
        return None
    builder = RuleBuilder(operation)
    extents = [(tensor_shape(operand) or shape)[joined] for operand in operation.operands]
    is_known = shape[joined] is not None and None not in extents
    for dimension, extent in enumerate(shape):
        kind = FactorKind.PASS_THROUGH
        if dimension == joined:
            kind = FactorKind.PERMUTATION if is_known else _REPLICATED
        factor = builder.factor(extent, kind)
        builder.result(0, dimension, factor)
        start = 0
        for index, own in enumerate(extents):
            if kind is _REPLICATED:
                factor = builder.factor(own, kind)
            elif kind is FactorKind.PERMUTATION:
                # The factor has the extent of the result; the operands are windows of it.
                builder.window(Window(index, dimension, own or 0, first=-start))
                start += own or 0
            builder.operand(index, dimension, factor)
    return builder.build()


@sharding_rule("tensor.gather")
def gather(operation: Operation) -> FactorRule | None:
    """Return the rule of a gather.

    The batch dimensions of the indices pass through, and so do the dimensions of the source that
    are not gathered. The result has the indices' dimensions except for the last, then those of the
    source; the gathered dimensions have extent 1 there, or are left out.
    """
    source, indices = (tensor_shape(operand) for operand in operation.operands[:2])
    looked_up = optional_integers(operation, "gather_dims")
    shape = tensor_shape(operation.results[0])
    if source is None or indices is None or shape is None or looked_up is None:
        return None
    builder = RuleBuilder(operation)
    rows = len(indices) - 1
    for dimension in range(rows):
        builder.shared(dimension, indices[dimension], operand=1)
    builder.operand(1, rows, builder.factor(indices[rows], _REPLICATED))
    position, keeps = rows, len(shape) == rows + len(source)
    for dimension, extent in enumerate(source):
        if dimension in looked_up:
            builder.operand(0, dimension, builder.factor(extent, _REPLICATED))
            position += keeps
        else:
            builder.shared(dimension, extent, result=position)
            position += 1
    return builder.build()


def reassociation(operation: Operation) -> list[list[int]] | None:
    """Return the groups of expanded dimensions, one per collapsed dimension."""
    if attribute(operation, "reassociation") is None:
        return None
    return [list(group) for group in integer_lists(operation, "reassociation")]


@sharding_rule("tensor.collapse_shape", "tensor.expand_shape")
def regrouped(operation: Operation) -> FactorRule | None:
    """Return the rule with a factor per expanded dimension; collapsed ones are groups of them."""
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


_Numbers = tuple[int, ...]


def _slice_numbers(operation: Operation) -> tuple[_Numbers, _Numbers, _Numbers] | None:
    """Return offsets, sizes and strides, negative where dynamic; `None` if there are none."""
    offsets, sizes, strides = (optional_integers(operation, name) for name in SLICE_LISTS)
    if offsets is None or sizes is None or strides is None:
        return None
    return offsets, sizes, strides


def covered_dimensions(operation: Operation, full: Shape) -> list[bool] | None:
    """Return which dimensions of a tensor of shape `full` a slice covers completely.

    A slice as long as the dimension can only begin at 0, also if the offset is dynamic. Returns
    `None` if the operation is not a slice.
    """
    numbers = _slice_numbers(operation)
    if numbers is None:
        return None
    return [
        offset in (0, DYNAMIC_INDEX) and stride == 1 and extent is not None and extent == size
        for offset, size, stride, extent in zip(*numbers, full, strict=True)
    ]


def sliced_source(original: SSAValue, dimension: int) -> tuple[SSAValue, int]:
    """Return the tensor that `original` slices along `dimension` alone, and the offset."""
    first = 0
    while isinstance(operation := original.owner, Operation):
        if operation.name == "tensor.extract_slice":
            source = operation.operands[0]
            source_shape = tensor_shape(source) or ()
            whole = covered_dimensions(operation, source_shape) or []
            offset = integers(operation, "static_offsets")[dimension]
            others = whole[:dimension] + whole[dimension + 1 :]
            if len(source_shape) != len(tensor_shape(original) or ()) or not all(others):
                break
            if offset < 0 or integers(operation, "static_strides")[dimension] != 1:
                break
            first += offset
        elif operation.name != SHARD:
            break
        original = operation.operands[0]
    return original, first


def slice_positions(sizes: tuple[int, ...], slice_shape: Shape) -> list[int | None] | None:
    """Return for each dimension of a slice its position in the slice's type.

    The position of a dimension of size 1 that a rank-reducing slice drops is `None`. Returns `None`
    if the shapes do not fit. Dynamic sizes are negative in `sizes`, `None` in `slice_shape`.
    """
    kept = kept_dimensions(sizes, [-1 if size is None else size for size in slice_shape])
    if kept is None:
        return None
    return [kept.index(each) if each in kept else None for each in range(len(sizes))]


@sharding_rule("tensor.extract_slice")
def extract_slice(operation: Operation) -> FactorRule | None:
    """Return the rule of a slice.

    Dimensions that are covered completely pass through; others are shifted if the slice is static.
    If a single element at a static offset is taken, its owner broadcasts it.
    """
    source, result = tensor_shape(operation.operands[0]), tensor_shape(operation.results[0])
    numbers = _slice_numbers(operation)
    if source is None or result is None or numbers is None:
        return None
    offsets, sizes, strides = numbers
    whole, kept = covered_dimensions(operation, source), slice_positions(sizes, result)
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
            # The factor has the extent of the slice; the source is longer.
            requirement = ShardRequirement.ANY
            builder.shared(
                dimension, size, FactorKind.PERMUTATION, result=position, shards=requirement
            )
            builder.window(Window(0, dimension, extent, stride, first))
            continue
        builder.operand(0, dimension, builder.factor(extent, _REPLICATED))
        if position is not None:
            builder.result(0, position, builder.factor(result[position], _REPLICATED))
    return builder.build()


class FetchedPart(NamedTuple):
    """The part of a dimension that an insertion writes, each process what is in its shard."""

    offset: int
    size: int
    stride: int


def fetched_part(operation: Operation, dimension: int) -> FetchedPart | None:
    """Return the part of a dimension of the destination of which processes fetch what they write.

    Returns `None` where they need the whole source: if a number is dynamic, if the part has fewer
    than two elements, or if it covers less than half of the dimension.
    """
    extent = (tensor_shape(operation.operands[1]) or ())[dimension]
    numbers = _slice_numbers(operation)
    if extent is None or numbers is None:
        return None
    part = FetchedPart(*(entries[dimension] for entries in numbers))
    is_static = part.offset >= 0 and part.stride >= 1
    is_small = part.size < 2 or 2 * part.size * part.stride < extent
    return part if is_static and not is_small else None


@sharding_rule("tensor.insert_slice")
def insert_slice(operation: Operation) -> FactorRule | None:
    """Return the rule of an insertion.

    Destination dimensions that are written completely are shared by all three tensors. Of one that
    is written in part, each process writes the part in its own shard. If that part is static and
    large, the source is shifted against the destination; otherwise the source is needed whole.
    """
    source, destination = (tensor_shape(operand) for operand in operation.operands[:2])
    numbers = _slice_numbers(operation)
    if source is None or destination is None or numbers is None:
        return None
    _, sizes, strides = numbers
    whole, kept = covered_dimensions(operation, destination), slice_positions(sizes, source)
    if whole is None or kept is None:
        return None
    builder = RuleBuilder(operation)
    for dimension, extent in enumerate(destination):
        position = kept[dimension]
        passes = whole[dimension] and position is not None
        part = fetched_part(operation, dimension)
        kind = _REPLICATED
        if passes:
            kind = FactorKind.PASS_THROUGH
        elif extent is not None and (strides[dimension] == 1 or part is not None):
            kind = FactorKind.PERMUTATION
        factor = builder.factor(extent, kind)
        builder.operand(1, dimension, factor)
        builder.result(0, dimension, factor)
        if position is not None:
            length = source[position]
            fetched = passes or part is not None
            own = factor if fetched else builder.factor(length, _REPLICATED)
            builder.operand(0, position, own)
            # No window reads one source element at every stride-th of the destination.
            if not passes and part is not None and length is not None and part.stride == 1:
                builder.window(Window(0, position, length, first=-part.offset))
    return builder.build()


@sharding_rule("tensor.pad")
def pad(operation: Operation) -> FactorRule | None:
    """Return the rule of padding: padded dimensions are shifted, others pass through."""
    low, high = (
        optional_integers(operation, "static_low"),
        optional_integers(operation, "static_high"),
    )
    if low is None or high is None:
        return None
    widths = list(zip(low, high, strict=True))
    reads = [(-below, 1) if min(below, above) >= 0 else None for below, above in widths]
    return same_rank_rule(operation, [width == (0, 0) for width in widths], reads)

"""Rules of `tensor` operations: creations, reshapes, slices, insertions and padding."""

from __future__ import annotations

from itertools import chain
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
from .builder import RuleBuilder, elementwise_rule, labelled_rule, same_rank_rule
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
    return labelled_rule(operation, [range(len(tensor_shape(operation.operands[0]) or ()))], ())


@sharding_rule("tensor.extract", "tensor.from_elements", "tensor.insert")
def element(operation: Operation) -> FactorRule | None:
    """Return a rule without splits: single elements are accessed at dynamic places."""
    values = (*operation.operands, *operation.results)
    labels = [[(value, each) for each in range(len(tensor_shape(value) or ()))] for value in values]
    count = len(operation.operands)
    return labelled_rule(operation, labels[:count], labels[count:], whole={*chain(*labels)})


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
    rows = [("row", each) for each in range(len(indices) - 1)]
    kept: list[int | None] = [each for each in range(len(source)) if each not in looked_up]
    if len(shape) == len(rows) + len(source):
        kept = [None if each in looked_up else each for each in range(len(source))]
    labels = (range(len(source)), (*rows, "index"))
    return labelled_rule(operation, labels, [(*rows, *kept)], whole={*looked_up, "index"})


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


class SlicedDimension(NamedTuple):
    """What a slice takes of one dimension; numbers are negative where dynamic."""

    extent: int | None
    offset: int
    size: int
    stride: int
    is_covered: bool
    position: int | None
    """The dimension of the slice's type; `None` if it is dropped."""

    @property
    def is_fetched(self) -> bool:
        """Whether each process fetches what an insertion writes to its shard of the dimension.

        It needs the whole source if a number is dynamic, if the slice has fewer than two elements,
        or if it covers less than half of the dimension.
        """
        is_static = self.extent is not None and self.offset >= 0 and self.stride >= 1
        is_half = 2 * self.size * self.stride >= (self.extent or 0)
        return is_static and self.size >= 2 and is_half


def _sliced_dimensions(
    operation: Operation, full: SSAValue, part: SSAValue
) -> list[SlicedDimension] | None:
    """Return how `part` slices each dimension of `full`; `None` if their shapes do not tell."""
    extents, kept = tensor_shape(full), tensor_shape(part)
    numbers = _slice_numbers(operation)
    if extents is None or kept is None or numbers is None:
        return None
    covered, positions = covered_dimensions(operation, extents), slice_positions(numbers[1], kept)
    if covered is None or positions is None:
        return None
    rows = zip(extents, *numbers, covered, positions, strict=True)
    return [SlicedDimension(*row) for row in rows]


def inserted_dimensions(operation: Operation) -> list[SlicedDimension] | None:
    """Return how the source of an insertion is a slice of its destination, by dimension of that.

    Returns `None` if their shapes do not tell.
    """
    source, destination = operation.operands[:2]
    return _sliced_dimensions(operation, destination, source)


@sharding_rule("tensor.extract_slice")
def extract_slice(operation: Operation) -> FactorRule | None:
    """Return the rule of a slice.

    Dimensions that are covered completely pass through; others are shifted if the slice is static.
    If a single element at a static offset is taken, its owner broadcasts it.
    """
    dimensions = _sliced_dimensions(operation, operation.operands[0], operation.results[0])
    if dimensions is None:
        return None
    builder = RuleBuilder(operation)
    for dimension, (extent, first, size, stride, is_covered, position) in enumerate(dimensions):
        if is_covered and position is not None:
            builder.shared(dimension, extent, result=position)
        elif size == 1 and extent is not None and first >= 0:
            builder.operand(0, dimension, builder.factor(extent, FactorKind.SELECTION))
        elif position is not None and extent is not None and min(first, size, stride) >= 0:
            # The factor has the extent of the slice; the source is longer.
            requirement = ShardRequirement.ANY
            builder.shared(
                dimension, size, FactorKind.PERMUTATION, result=position, shards=requirement
            )
            builder.window(Window(0, dimension, extent, stride, first))
        else:
            builder.operand(0, dimension, builder.factor(extent, _REPLICATED))
            if position is not None:
                length = None if size == DYNAMIC_INDEX else size
                builder.result(0, position, builder.factor(length, _REPLICATED))
    return builder.build()


@sharding_rule("tensor.insert_slice")
def insert_slice(operation: Operation) -> FactorRule | None:
    """Return the rule of an insertion.

    Destination dimensions that are written completely are shared by all three tensors. Of one that
    is written in part, each process writes the part in its own shard. If that part is static and
    large, the source is shifted against the destination; otherwise the source is needed whole.
    """
    lengths, dimensions = tensor_shape(operation.operands[0]), inserted_dimensions(operation)
    if lengths is None or dimensions is None:
        return None
    builder = RuleBuilder(operation)
    for dimension, each in enumerate(dimensions):
        position, passes = each.position, each.is_covered and each.position is not None
        kind = _REPLICATED
        if passes:
            kind = FactorKind.PASS_THROUGH
        elif each.extent is not None and (each.stride == 1 or each.is_fetched):
            kind = FactorKind.PERMUTATION
        factor = builder.factor(each.extent, kind)
        builder.operand(1, dimension, factor)
        builder.result(0, dimension, factor)
        if position is None:
            continue
        length = lengths[position]
        fetched = passes or each.is_fetched
        builder.operand(0, position, factor if fetched else builder.factor(length, _REPLICATED))
        # No window reads one source element at every stride-th of the destination.
        if each.is_fetched and not passes and length is not None and each.stride == 1:
            builder.window(Window(0, position, length, first=-each.offset))
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

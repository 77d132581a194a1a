"""Canonicalisation patterns of `shard` ops, which run in xDSL's `canonicalize`.

Annotations must survive `cse` and `canonicalize`. An annotation describes both its source and its
result. When `cse` merges two equal producers, the remaining one has two annotations, each in front
of its own users, and no information is lost. It would be lost in two ways, so no pattern

- moves a user from the result of an annotation to a value with another annotation;
- chains annotations of one source, unless it is a constant: partitioning recreates a constant for
  each of its users.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import constant_integer
from ...ir.canonicalization import Patterns
from ...ir.index import IndexList, IndexOrInt
from ...ir.index_lists import INDEX
from ...sharding.grid import Grid
from .annotations import GetShardingOp, ShardingOp, ShardOp, ShardShapeOp
from .attributes import stated_lists
from .checks import offset_runs
from .collective_base import Collective
from .collectives import AllGatherOp, AllSliceOp, ShiftOp, UpdateHaloOp
from .grids import GridShapeOp, OnGrid
from .inverse_collectives import restored_source

rewrites = Patterns()


def _known_grid(operation: OnGrid) -> Grid | None:
    """Return the grid; `None` if it is not visible, as in a function without its module."""
    try:
        return operation.resolve_grid()
    except VerifyException:
        return None


def _constants_folded(mixed: IndexList) -> tuple[IndexOrInt, ...]:
    """Replace operands that are non-negative constants by integers."""
    return tuple(item if isinstance(item, int) else _constant(item) for item in mixed)


def _constant(value: SSAValue) -> IndexOrInt:
    number = constant_integer(value)
    return value if number is None or number < 0 else number


def _replace_in_kind(operation: Operation, new: Operation, rewriter: PatternRewriter) -> None:
    """Replace an op by a simpler one of the same kind; keep its attributes and location."""
    new.attributes.update(operation.attributes)
    new.location = operation.location
    rewriter.replace(operation, new)


@rewrites(Collective)
def fold_collective_of_one_device(op: Collective, rewriter: PatternRewriter) -> None:
    """Fold a collective over groups of one device to its input.

    A `send` or `recv` to oneself is folded only if it has no axes, as upstream does: the sent and
    the received tensor belong to two different ops.
    """
    if isinstance(op, ShiftOp) or op.operands[0].type != op.results[0].type:
        return
    grid = _known_grid(op) if op.axes and op.has_trait(Pure) else None
    if not op.axes or (grid is not None and grid.size(op.axes) == 1):
        rewriter.replace(op, (), (op.operands[0],))


@rewrites(AllSliceOp, AllGatherOp)
def fold_inverse_collectives(op: Collective, rewriter: PatternRewriter) -> None:
    """Fold a slice of a gather, or a gather of a slice, that restores a value to that value."""
    source = restored_source(op)
    if source is not None:
        rewriter.replace(op, (), (source,))


@rewrites(ShiftOp)
def fold_shift_by_nothing(op: ShiftOp, rewriter: PatternRewriter) -> None:
    """Fold a shift by 0, or a rotation by a multiple of the extent, to its input."""
    if op.input.type != op.result.type:
        return
    offset = op.offset.value.data
    if offset and op.rotate is not None:
        grid = _known_grid(op)
        extent = grid.shape[op.shift_axis.value.data] if grid else None
        offset = offset % extent if extent else offset
    if not offset:
        rewriter.replace(op, (), (op.input,))


@rewrites(GridShapeOp)
def fold_static_grid_shape(op: GridShapeOp, rewriter: PatternRewriter) -> None:
    """Replace static grid extents by constants; a smaller op remains for the dynamic ones."""
    grid = _known_grid(op)
    if grid is None:
        return
    axes = op.listed_axes(grid)
    dynamic = [axis for axis in axes if grid.shape[axis] is None]
    if len(dynamic) == len(axes):
        return
    new: list[Operation] = []
    remaining = iter(())
    if dynamic:
        rest = type(op)(op.grid, dynamic)
        rest.attributes.update(op.attributes)
        new.append(rest)
        remaining = iter(rest.results)
    values: list[SSAValue] = []
    for axis in axes:
        extent = grid.shape[axis]
        if extent is None:
            values.append(next(remaining))
        else:
            constant = arith.ConstantOp(IntegerAttr(extent, INDEX))
            new.append(constant)
            values.append(constant.result)
    for created in new:
        created.location = op.location
    rewriter.replace(op, new, values)


@rewrites(ShardingOp)
def fold_constants_of_sharding(op: ShardingOp, rewriter: PatternRewriter) -> None:
    """Fold constant halos and offsets into attributes and drop those that have no effect."""
    halos, offsets = _constants_folded(op.halos), _constants_folded(op.offsets)
    if not any(not isinstance(size, int) or size for size in halos):
        halos = ()
    if offsets and _is_default_split(op, offsets):
        offsets = ()
    if (halos, offsets) == (op.halos, op.offsets):
        return
    new = type(op)(
        op.grid, op.axes, halo_sizes=halos, sharded_dims_offsets=offsets, partial=op.partial
    )
    _replace_in_kind(op, new, rewriter)


def _is_default_split(operation: ShardingOp, offsets: IndexList) -> bool:
    """Return whether the offsets of every split dimension form shards of equal size.

    The last offset is the size of the dimension, so such offsets describe the default split.
    """
    grid = _known_grid(operation)
    if grid is None:
        return False
    for _, limits in offset_runs(grid, operation.axes, offsets):
        if not all(isinstance(limit, int) for limit in limits):
            return False
        numbers = [limit for limit in limits if isinstance(limit, int)]
        step = numbers[1] - numbers[0]
        if numbers != [index * step for index in range(len(numbers))]:
            return False
    return True


@rewrites(ShardShapeOp)
def fold_constants_of_shard_shape(op: ShardShapeOp, rewriter: PatternRewriter) -> None:
    """Fold constant sizes and coordinates into attributes."""
    sizes, device = _constants_folded(op.sizes), _constants_folded(op.coordinates)
    if (sizes, device) != (op.sizes, op.coordinates):
        _replace_in_kind(op, type(op)(sizes, op.sharding, device), rewriter)


@rewrites(UpdateHaloOp)
def fold_constants_of_halo_update(op: UpdateHaloOp, rewriter: PatternRewriter) -> None:
    """Fold constant halos into attributes; remove the update if all halos are 0."""
    halos = _constants_folded(op.halos)
    if all(size == 0 for size in halos):
        rewriter.replace(op, (), (op.destination,))
    elif halos != op.halos:
        new = type(op)(op.destination, op.grid, op.axes, halos)
        _replace_in_kind(op, new, rewriter)


@rewrites(ShardOp)
def fold_repeated_annotation(op: ShardOp, rewriter: PatternRewriter) -> None:
    """Fold an annotation that repeats the one before it, or an earlier one of the same source."""
    previous = op.src.owner
    if isinstance(previous, ShardOp) and _says_the_same(previous, op):
        rewriter.replace(op, (), (previous.result,))
        return
    for other in _earlier_annotations(op):
        if _says_the_same(other, op):
            rewriter.replace(op, (), (other.result,))
            return


def _earlier_annotations(op: ShardOp) -> Iterator[ShardOp]:
    """Yield the annotations of the same source that come before an op in its block."""
    for use in op.src.uses:
        other = use.operation
        if (
            isinstance(other, ShardOp)
            and other is not op
            and other.parent is op.parent
            and other.is_before_in_block(op)
        ):
            yield other


def _says_the_same(first: ShardOp, second: ShardOp) -> bool:
    """Return whether two annotations have equal attributes and equal shardings."""
    return (
        first.properties == second.properties
        and first.attributes == second.attributes
        and _are_equal(first.sharding, second.sharding)
    )


def _are_equal(first: SSAValue, second: SSAValue) -> bool:
    """Return whether two sharding values are identical or defined by equal ops.

    Empty lists of axes at the end do not count.
    """
    if first is second:
        return True
    one, other = first.owner, second.owner
    return (
        isinstance(one, ShardingOp)
        and isinstance(other, ShardingOp)
        and one.grid == other.grid
        and stated_lists(one.axes) == stated_lists(other.axes)
        and (one.halos, one.offsets, one.partial) == (other.halos, other.offsets, other.partial)
    )


@rewrites(ShardOp)
def chain_annotations_of_constant(op: ShardOp, rewriter: PatternRewriter) -> None:
    """Chain a second annotation of a constant to the result of the first, as upstream does.

    For other values the first annotation could imply a reshard that the users of the second do not
    need. A constant is recreated for its users.
    """
    constant = op.src.owner
    if not isinstance(constant, Operation) or not constant.has_trait(ConstantLike):
        return
    for other in _earlier_annotations(op):
        op.operands[0] = other.result
        rewriter.notify_op_modified(op)
        return


@rewrites(GetShardingOp)
def fold_get_sharding(op: GetShardingOp, rewriter: PatternRewriter) -> None:
    """Fold the sharding of an annotated value to the sharding operand of the annotation."""
    annotation = op.source.owner
    if isinstance(annotation, ShardOp):
        rewriter.replace(op, (), (annotation.sharding,))

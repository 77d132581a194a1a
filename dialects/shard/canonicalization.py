"""Canonical forms of `shard` operations, run by xDSL's `canonicalize`.

Why annotations survive `cse` and `canonicalize`: an annotation speaks of the values on its two
sides, its source and its result, and each user reads the one that its operand goes through. When
`cse` merges two equal producers, the one that is left has two annotations, each before its own
users, and nothing is lost or confused. So no pattern here moves a user from the result of one
annotation to a value that is annotated otherwise, and none chains annotations of one source but
those of a constant, which partitioning makes anew for the users of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

from ...sharding.grid import Grid
from ...sharding.sharding import Axes
from .annotations import GetShardingOp, ShardingOp, ShardOp, ShardShapeOp
from .checks import Mixed, offset_runs
from .collective_base import Collective
from .collectives import AllGatherOp, AllReduceOp, AllSliceOp, ShiftOp, UpdateHaloOp
from .grids import GridShapeOp, OnGrid
from .rooted_collectives import BroadcastOp
from .syntax import INDEX
from .traits import add_patterns


def _known_grid(operation: OnGrid) -> Grid | None:
    """The grid, or `None` where it is out of sight, as in a function taken from its module."""
    try:
        return operation.resolve_grid()
    except VerifyException:
        return None


def _constants_folded(mixed: Mixed) -> tuple[int | SSAValue, ...]:
    """The list with the operands that are non-negative constants turned into numbers."""
    return tuple(item if isinstance(item, int) else _constant(item) for item in mixed)


def _constant(value: SSAValue) -> int | SSAValue:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp):
        attribute = owner.value
        if isinstance(attribute, IntegerAttr) and attribute.value.data >= 0:
            return attribute.value.data
    return value


def _replace_in_kind(operation: Operation, new: Operation, rewriter: PatternRewriter) -> None:
    """Replace an operation by a simpler one of its kind, which keeps its attributes and place."""
    new.attributes.update(operation.attributes)
    new.location = operation.location
    rewriter.replace(operation, new)


class FoldCollectiveOfOneDevice(RewritePattern):
    """A collective in groups of one device gives the device its input.

    Messages to oneself only where upstream says so, without axes: what is sent and what is
    received are tensors of two operations.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, Collective) or isinstance(op, ShiftOp):
            return
        if op.operands[0].type != op.results[0].type:
            return
        grid = _known_grid(op) if op.axes and op.has_trait(Pure) else None
        if not op.axes or (grid is not None and grid.size(op.axes) == 1):
            rewriter.replace(op, (), (op.operands[0],))


class FoldSliceOfGather(RewritePattern):
    """A slice undoes a gather."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllSliceOp, rewriter: PatternRewriter, /) -> None:
        gather = op.input.owner
        if (
            isinstance(gather, AllGatherOp)
            and (gather.grid, gather.axes) == (op.grid, op.axes)
            and gather.gather_axis.value == op.slice_axis.value
            and gather.input.type == op.result.type
        ):
            rewriter.replace(op, (), (gather.input,))


class FoldGatherOfSlice(RewritePattern):
    """A gather undoes a slice where the devices of a group had the same tensor to slice."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AllGatherOp, rewriter: PatternRewriter, /) -> None:
        piece = op.input.owner
        if (
            isinstance(piece, AllSliceOp)
            and (piece.grid, piece.axes) == (op.grid, op.axes)
            and piece.slice_axis.value == op.gather_axis.value
            and piece.input.type == op.result.type
            and _is_uniform(piece.input, op)
        ):
            rewriter.replace(op, (), (piece.input,))


def _is_uniform(value: SSAValue, collective: Collective) -> bool:
    """Whether the devices of a group surely hold the same value."""
    owner = value.owner
    if isinstance(owner, Block):
        return _is_uniform_argument(value, owner, collective)
    if isinstance(owner, AllReduceOp | AllGatherOp | BroadcastOp):
        return owner.grid == collective.grid and set(collective.axes) <= set(owner.axes)
    return isinstance(owner, arith.ConstantOp)


def _is_uniform_argument(value: SSAValue, block: Block, collective: Collective) -> bool:
    from xdsl.dialects.func import FuncOp

    from .boundary import argument_boundary

    function = block.parent_op()
    if not isinstance(function, FuncOp) or function.body.blocks.first is not block:
        return False
    try:
        boundary = argument_boundary(function, block.args.index(value))
    except VerifyException:
        return False
    return (
        boundary is not None
        and boundary.sharding.grid.name == collective.grid.root_reference.data
        and boundary.sharding.used_axes.isdisjoint(collective.axes)
    )


class FoldShiftByNothing(RewritePattern):
    """A shift by 0, or a rotation by whole turns, leaves the tensor where it is."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, ShiftOp) or op.input.type != op.result.type:
            return
        offset = op.offset.value.data
        if offset and op.rotate is not None:
            grid = _known_grid(op)
            extent = grid.shape[op.shift_axis.value.data] if grid else None
            offset = offset % extent if extent else offset
        if not offset:
            rewriter.replace(op, (), (op.input,))


class FoldStaticGridShape(RewritePattern):
    """Extents that the grid states are constants; the others stay in a smaller operation."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GridShapeOp, rewriter: PatternRewriter, /) -> None:
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


class FoldConstantsOfSharding(RewritePattern):
    """Constant halos and offsets are attributes, and those that say nothing are left out."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ShardingOp, rewriter: PatternRewriter, /) -> None:
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


def _is_default_split(operation: ShardingOp, offsets: Mixed) -> bool:
    """Whether each split dimension, from 0 to its end, has shards of one size.

    The last offset is the size of the dimension, so these are the shards without any offsets.
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


class FoldConstantsOfShardShape(RewritePattern):
    """Constant sizes and coordinates are attributes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ShardShapeOp, rewriter: PatternRewriter, /) -> None:
        sizes, device = _constants_folded(op.sizes), _constants_folded(op.coordinates)
        if (sizes, device) != (op.sizes, op.coordinates):
            _replace_in_kind(op, type(op)(sizes, op.sharding, device), rewriter)


class FoldConstantsOfHaloUpdate(RewritePattern):
    """Constant halos are attributes; where all are 0 there is nothing to update."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: UpdateHaloOp, rewriter: PatternRewriter, /) -> None:
        halos = _constants_folded(op.halos)
        if all(size == 0 for size in halos):
            rewriter.replace(op, (), (op.destination,))
        elif halos != op.halos:
            new = type(op)(op.destination, op.grid, op.axes, halos)
            _replace_in_kind(op, new, rewriter)


class FoldRepeatedAnnotation(RewritePattern):
    """An annotation that repeats the one it follows, or one of the same source, is that one."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ShardOp, rewriter: PatternRewriter, /) -> None:
        previous = op.src.owner
        if isinstance(previous, ShardOp) and _says_the_same(previous, op):
            rewriter.replace(op, (), (previous.result,))
            return
        for other in _earlier_annotations(op):
            if _says_the_same(other, op):
                rewriter.replace(op, (), (other.result,))
                return


def _earlier_annotations(op: ShardOp) -> Iterator[ShardOp]:
    """The annotations of the same source that stand before one in its block."""
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
    """Whether two annotations differ in their operands at most, and hold equal shardings."""
    return (
        first.properties == second.properties
        and first.attributes == second.attributes
        and _are_equal(first.sharding, second.sharding)
    )


def _are_equal(first: SSAValue, second: SSAValue) -> bool:
    """Whether two sharding values are one, or defined alike up to dimensions left whole."""
    if first is second:
        return True
    one, other = first.owner, second.owner
    return (
        isinstance(one, ShardingOp)
        and isinstance(other, ShardingOp)
        and one.grid == other.grid
        and _without_tail(one.axes) == _without_tail(other.axes)
        and (one.halos, one.offsets, one.partial) == (other.halos, other.offsets, other.partial)
    )


def _without_tail(lists: Sequence[Axes]) -> Sequence[Axes]:
    end = len(lists)
    while end and not lists[end - 1]:
        end -= 1
    return lists[:end]


class ChainAnnotationsOfConstant(RewritePattern):
    """A second annotation of a constant is one of the first's result, as upstream has it.

    Of other values the first could be a reshard that the users of the second do not need; a
    constant is made anew for them.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ShardOp, rewriter: PatternRewriter, /) -> None:
        constant = op.src.owner
        if not isinstance(constant, Operation) or not constant.has_trait(ConstantLike):
            return
        for other in _earlier_annotations(op):
            op.operands[0] = other.result
            rewriter.notify_op_modified(op)
            return


class FoldGetSharding(RewritePattern):
    """The sharding of an annotated value is that of its annotation."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, GetShardingOp):
            annotation = op.source.owner
            if isinstance(annotation, ShardOp):
                rewriter.replace(op, (), (annotation.sharding,))


add_patterns(
    (
        (Collective, FoldCollectiveOfOneDevice()),
        (AllSliceOp, FoldSliceOfGather()),
        (AllGatherOp, FoldGatherOfSlice()),
        (ShiftOp, FoldShiftByNothing()),
        (GridShapeOp, FoldStaticGridShape()),
        (ShardingOp, FoldConstantsOfSharding()),
        (ShardShapeOp, FoldConstantsOfShardShape()),
        (UpdateHaloOp, FoldConstantsOfHaloUpdate()),
        (ShardOp, FoldRepeatedAnnotation()),
        (ShardOp, ChainAnnotationsOfConstant()),
        (GetShardingOp, FoldGetSharding()),
    )
)

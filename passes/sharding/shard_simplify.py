"""`shard-simplify`: reduce the number and size of collectives.

- equal collectives of equal operands are merged, and unused ones are erased;
- slicing the result of a gather gives the gather's source, and gathering a slice gives the slice's
  source if all devices of the group hold the same value;
- a slice along another dimension and other axes comes before a gather;
- slicing the result of an all-reduce is a reduce-scatter;
- an elementwise combination of two all-reduces is one all-reduce of the combination (`a + b` of two
  sums);
- small all-reduces of one kind that are ready at the same time are merged.

All devices run the same program, so a collective is erased on all devices or on none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from ...dialects.shard.collectives import AllGatherOp, AllReduceOp, AllSliceOp, ReduceScatterOp
from ...dialects.shard.inverse_collectives import restored_source
from ...ir.attribute_access import element_type
from ...ir.locations import builder_before, made_by, rebuilt
from ...ir.regions import walk
from ...ir.tensor_types import tensor_shape
from ...sharding.collective_rows import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_SLICE,
    ALL_TO_ALL,
    PURE_COLLECTIVES,
    RECV,
    REDUCE_SCATTER,
    SEND,
)
from ...sharding.sharding import ReductionKind
from .annotations.access import PURE_QUERIES, axes_of, dimension_of, grid_name, kind_of
from .merge_reductions import merge_reductions
from .rules.commuting_operations import COMBINATIONS

SMALL_BYTES = 8192
"""Size in bytes up to which latency dominates the cost of a collective."""

MAXIMAL_ROUNDS = 32


@dataclass(frozen=True)
class ShardSimplifyPass(ModulePass):
    """Simplify the collectives of a program."""

    name = "shard-simplify"

    merge_bytes: int = SMALL_BYTES
    """Merge ready all-reduces of at most this many bytes each; 0 merges none."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        simplify(op, self.merge_bytes)


def simplify(module: ModuleOp, merge_bytes: int = SMALL_BYTES) -> None:
    """Simplify the collectives of every region until nothing changes.

    At most `MAXIMAL_ROUNDS` rounds are made. Then all-reduces of at most `merge_bytes` bytes are
    merged.
    """
    for operation in module.body.blocks[0].ops:
        if not any(inner.name.startswith("shard.") for inner in walk(operation)):
            continue
        for _ in range(MAXIMAL_ROUNDS):
            changed = _simplify_regions(operation, {})
            if not (_drop_dead(operation) or changed):
                break
        if merge_bytes > 0:
            merge_reductions(operation, merge_bytes)


Rule = Callable[[Operation], SSAValue | None]
"""Return the value that replaces the result of an operation, or `None`."""

Known = dict[object, Operation]
"""Dominating collectives by their name, operands, properties and types."""


def _simplify_regions(operation: Operation, known: Known) -> bool:
    changed = False
    for region in operation.regions:
        alone = len(region.blocks) == 1
        for block in region.blocks:
            # With several blocks, none is known to dominate another.
            changed = _simplify_block(block, dict(known) if alone else {}) or changed
    return changed


def _simplify_block(block: Block, known: Known) -> bool:
    changed = False
    for operation in list(block.ops):
        if operation.regions:
            changed = _simplify_regions(operation, known) or changed
        rule = _RULES.get(operation.name)
        value = None if rule is None else rule(operation)
        if value is not None:
            Rewriter.replace_op(operation, [], [value])
            changed = True
        elif operation.name in PURE_COLLECTIVES or operation.name in PURE_QUERIES:
            earlier = known.setdefault(_key(operation), operation)
            if earlier is not operation:
                Rewriter.replace_op(operation, [], earlier.results)
                changed = True
    return changed


def _key(operation: Operation) -> object:
    return (
        operation.name,
        tuple(operation.operands),
        tuple(sorted(operation.properties.items())),
        tuple(operation.result_types),
    )


def _insert_before(operation: Operation, made: Operation) -> SSAValue:
    return builder_before(operation).insert(made).results[0]


def _fold_slice(operation: Operation) -> SSAValue | None:
    """Simplify a slice of what was gathered along another dimension, or reduced."""
    source = operation.operands[0]
    gather = made_by(source, ALL_GATHER.operation)
    if gather is not None and _is_apart(gather, operation):
        return _slice_before_gather(gather, operation)
    reduce = made_by(source, ALL_REDUCE.operation)
    if reduce is None or grid_name(reduce) != grid_name(operation) or not source.has_one_use():
        return None
    axes, reduced = axes_of(operation), axes_of(reduce)
    if not axes or not set(axes) <= set(reduced):
        return None
    grid, kind = grid_name(operation), kind_of(reduce)
    if kind is ReductionKind.GENERIC:
        return None
    scattered = _insert_before(
        operation,
        ReduceScatterOp(
            *(reduce.operands[0], grid, axes, operation.results[0].type),
            reduction=kind,
            scatter_axis=dimension_of(operation, ALL_SLICE.divides),
        ),
    )
    rest = tuple(axis for axis in reduced if axis not in axes)
    if not rest:
        return scattered
    return _insert_before(operation, AllReduceOp(scattered, grid, rest, reduction=kind))


def _is_apart(gather: Operation, piece: Operation) -> bool:
    """Return whether a gather and a slice concern different dimensions and axes of a grid."""
    return (
        gather.results[0].has_one_use()
        and grid_name(gather) == grid_name(piece)
        and set(axes_of(gather)).isdisjoint(axes_of(piece))
        and dimension_of(gather, ALL_GATHER.joins) != dimension_of(piece, ALL_SLICE.divides)
    )


def _slice_before_gather(gather: Operation, piece: Operation) -> SSAValue:
    """Return the same value by a gather of the slice: less is sent."""
    source, dimension = gather.operands[0], dimension_of(piece, ALL_SLICE.divides)
    source_type, wanted = cast("TensorType", source.type), cast("TensorType", piece.results[0].type)
    shape = list(source_type.get_shape())
    shape[dimension] = wanted.get_shape()[dimension]
    sliced = AllSliceOp(
        *(source, grid_name(piece), axes_of(piece)),
        TensorType(source_type.element_type, shape, source_type.encoding),
        slice_axis=dimension,
    )
    return _insert_before(
        piece,
        AllGatherOp(
            *(_insert_before(piece, sliced), grid_name(gather), axes_of(gather), wanted),
            gather_axis=dimension_of(gather, ALL_GATHER.joins),
        ),
    )


def _combine_reductions(operation: Operation) -> SSAValue | None:
    """Replace a combination of two reductions of one kind by the reduction of the combination."""
    if len(operation.operands) < 2 or len(operation.results) != 1:
        return None
    left, right = operation.operands[0].owner, operation.operands[1].owner
    if not isinstance(left, Operation) or not isinstance(right, Operation) or left is right:
        return None
    if left.name != right.name or left.name not in (ALL_REDUCE.operation, REDUCE_SCATTER.operation):
        return None
    if (
        left.properties != right.properties
        or kind_of(left) is not COMBINATIONS[operation.name]
        or not left.results[0].has_one_use()
        or not right.results[0].has_one_use()
    ):
        return None
    types = {left.operands[0].type, right.operands[0].type}
    results = {left.results[0].type, right.results[0].type, operation.results[0].type}
    if (
        len(types) != 1
        or len(results) != 1
        or element_type(types.pop()) != element_type(results.pop())
    ):
        return None
    operands = [left.operands[0], right.operands[0], *operation.operands[2:]]
    combined = _insert_before(operation, rebuilt(operation, operands, [left.operands[0].type]))
    operands = [combined, *left.operands[1:]]
    return _insert_before(operation, rebuilt(left, operands, [operation.results[0].type]))


def _fold_single_device(operation: Operation) -> SSAValue | None:
    """Replace a collective over no axes by its operand."""
    source, result = operation.operands[0], operation.results[0]
    if axes_of(operation) or source.type != result.type:
        return None
    return source


def _fold_empty(operation: Operation) -> SSAValue | None:
    """Replace an `all_reduce` of a tensor without elements by its operand."""
    source, result = operation.operands[0], operation.results[0]
    if source.type != result.type or 0 not in (tensor_shape(source) or ()):
        return None
    return source


def _first(*rules: Rule) -> Rule:
    def apply(operation: Operation) -> SSAValue | None:
        for rule in rules:
            found = rule(operation)
            if found is not None:
                return found
        return None

    return apply


_RULES: dict[str, Rule] = {
    ALL_SLICE.operation: _first(_fold_single_device, restored_source, _fold_slice),
    ALL_GATHER.operation: _first(_fold_single_device, restored_source),
    ALL_REDUCE.operation: _first(_fold_single_device, _fold_empty),
    REDUCE_SCATTER.operation: _fold_single_device,
    ALL_TO_ALL.operation: _fold_single_device,
    **dict.fromkeys(COMBINATIONS, _combine_reductions),
}
"""The rewrite rule of each operation."""


def _drop_dead(operation: Operation) -> bool:
    """Erase unused collectives, queries and operations without side effects.

    Operations without effects are included since they may be the only users of a collective. A send
    is erased together with its receive.
    """
    dropped = False
    for inner in reversed(list(walk(operation))):
        if inner is operation or any(result.first_use for result in inner.results):
            continue
        is_pure = inner.name in PURE_COLLECTIVES or inner.name in PURE_QUERIES
        if is_pure or is_trivially_dead(inner):
            Rewriter.erase_op(inner)
            dropped = True
        elif inner.name == RECV.operation:
            sent = made_by(inner.operands[0], SEND.operation)
            if sent is not None and sent.results[0].has_one_use():
                Rewriter.erase_op(inner)
                Rewriter.erase_op(sent)
                dropped = True
    return dropped

"""Write shardings into the program, as pairs of `shard.sharding` and `shard.shard`.

A value gets one annotation right after its producer, and one for each sharding that its users want,
before the first of these users. Existing annotations stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ....dialects.shard.annotations import ShardingOp, ShardOp
from ....dialects.shard.attributes import stated_lists
from ....ir.attribute_access import block_of
from ....ir.locations import block_with, made_by
from ....ir.regions import enclosing
from ....ir.tensor_types import tensor_shape
from ....sharding.local_shape import default_offsets
from ....sharding.sharding import Sharding
from ..propagation.graph import Entry, ShardingGraph
from ..propagation.tensor_shardings import ShardedUse, ShardingAssigner, TensorShardings
from .access import OPEN_ATTRIBUTES, SHARD

_UNIT = UnitAttr()

LOOPS = frozenset({"scf.for", "scf.while", "scf.forall"})
"""A use inside of these that wants another sharding is resharded once, before the loop."""


class AnnotationWriter:
    """Writes the annotations of one choice of shardings."""

    def __init__(
        self, graph: ShardingGraph, shardings: TensorShardings, assigner: ShardingAssigner
    ) -> None:
        self._graph = graph
        self._assigned = shardings
        self._assigner = assigner
        self._shardings: dict[tuple[object, ...], SSAValue] = {}
        self._recent: dict[tuple[int, int], SSAValue] = {}
        self._annotations = graph.annotations
        self._annotated = {annotation.source for annotation in self._annotations.values()}
        """The values that the program annotates."""
        self._function_of: dict[Block, Operation] = {}
        self._heads: dict[Block, Operation | None] = {}
        self._functions = set(graph.functions)

    def write(self) -> None:
        """Insert missing annotations, so that all placed operands and results have one."""
        self._extend_annotations()
        for entry in reversed(self._assigned.rematerializable):
            self._write_rematerialized(entry)
        for value in self._graph.values:
            sharding = self._assigned.definitions.get(value)
            if sharding is not None:
                self._write_value(value, sharding, self._assigned.uses.get(value, []))

    def _extend_annotations(self) -> None:
        """Write what propagation added to open dimensions of annotations, and close them."""
        for operation, annotation in self._annotations.items():
            found = self._assigned.definitions.get(annotation.result)
            if found is None or not any(annotation.open_dimensions):
                continue
            self._annotations[operation] = replace(annotation, sharding=found)
            operation.operands[1] = self._sharding_value(
                found, block_of(operation), annotation.source
            )
            for name in OPEN_ATTRIBUTES:
                operation.attributes.pop(name, None)

    def _entry_block(self, block: Block) -> tuple[Operation, Block]:
        function = self._function_of.get(block)
        if function is None:
            around = enclosing(block.parent_op())
            function = next(scope for scope in around if scope in self._functions)
            self._function_of[block] = function
        return function, function.regions[0].blocks[0]

    def _head(self, block: Block) -> Operation | None:
        """Return the original first operation of a block: insertions at its start precede it."""
        if block not in self._heads:
            self._heads[block] = block.first_op
        return self._heads[block]

    def _sharding_value(self, sharding: Sharding, block: Block, tensor: SSAValue) -> SSAValue:
        """Return the `shard.sharding` of a sharding, at the start of the enclosing function."""
        # Identities are safe keys: `shardings` keeps its shardings alive, and the graph its blocks.
        recent = self._recent.get((id(block), id(sharding)))
        if recent is not None:
            return recent
        original = sharding
        if sharding.offsets:
            sharding = with_all_offsets(sharding, tensor_shape(tensor) or ())
        function, entry = self._entry_block(block)
        # Trailing dimensions are not printed, so tensors of different rank can share an operation.
        key = (function, stated_lists(sharding.dimension_axes), sharding.grid.name)
        if sharding.halos or sharding.offsets or sharding.partials:
            key = (*key, sharding)
        value = self._shardings.get(key)
        if value is None:
            operation = sharding_operation(sharding)
            operation.location = function.location
            Rewriter.insert_op(operation, InsertPoint(entry, self._head(entry)))
            value = self._shardings[key] = operation.result
        if sharding is original:
            self._recent[id(block), id(sharding)] = value
        return value

    def _annotate(
        self,
        value: SSAValue,
        sharding: Sharding,
        block: Block,
        before: Operation | None,
        for_users: bool,
    ) -> SSAValue:
        """Insert one `shard.shard` into a block and return its result."""
        sharding_value = self._sharding_value(sharding, block, value)
        owner = value.owner
        near = owner if isinstance(owner, Operation) else before
        operation = ShardOp.create(
            operands=(value, sharding_value),
            result_types=(value.type,),
            properties={"annotate_for_users": _UNIT} if for_users else {},
            location=None if near is None else near.location,
        )
        Rewriter.insert_op(operation, InsertPoint(block, before))
        (result,) = operation.results
        return result

    def _write_value(self, value: SSAValue, sharding: Sharding, uses: list[ShardedUse]) -> None:
        if (owner := made_by(value, SHARD)) is not None:
            annotation = self._annotations[owner]
            held = sharding if annotation.for_users else None
            self._write_uses(value, held, uses)
            return
        definition = self._definition_of(value, sharding)
        moved = [use for use in uses if use.operation is not definition.owner]
        self._write_uses(definition, None, moved, skip_user_annotations=True)

    def _definition_of(self, value: SSAValue, sharding: Sharding) -> SSAValue:
        """Return the annotation right after the producer, an existing or a new one."""
        owner = value.owner
        if isinstance(owner, Operation):
            block, before = owner.parent, owner.next_op
            assert block is not None
        else:
            block, before = owner, self._head(owner)
        for use in value.uses if value in self._annotated else ():
            if use.operation.name != SHARD or use.index != 0:
                continue
            annotation = self._annotations[use.operation]
            if not annotation.for_users and annotation.sharding == sharding:
                if not value.has_one_use() and use.operation is not before:
                    # Other users, which will use its result, may precede it.
                    use.operation.operands[1] = self._sharding_value(
                        sharding, block, use.operation.operands[0]
                    )
                    use.operation.detach()
                    Rewriter.insert_op(use.operation, InsertPoint(block, before))
                return annotation.result
        return self._annotate(value, sharding, block, before, for_users=False)

    def _write_uses(
        self,
        value: SSAValue,
        held: Sharding | None,
        uses: list[ShardedUse],
        skip_user_annotations: bool = False,
    ) -> None:
        """Give each user the value in the sharding that it wants.

        `held` is the sharding in which users of `value` already have it, if it is annotated for
        users.
        """
        made: dict[tuple[int, int], SSAValue] = {}
        for use in uses:
            operation = use.operation
            if operation.name == SHARD:
                if not skip_user_annotations:
                    continue
                annotation = self._annotations[operation]
                if annotation.for_users:
                    operation.operands[0] = value
                    continue
            if held is not None and (use.sharding is held or use.sharding == held):
                if operation.operands[use.index] is not value:
                    operation.operands[use.index] = value
                continue
            block, before = self._place_before(value, use.anchor)
            wanted = made.get((id(block), id(use.sharding)))
            if wanted is None:
                source = value
                if held is not None:
                    source = self._annotate(source, use.sharding, block, before, False)
                wanted = self._annotate(source, use.sharding, block, before, True)
                made[id(block), id(use.sharding)] = wanted
            operation.operands[use.index] = wanted

    def _place_before(self, value: SSAValue, anchor: Operation) -> tuple[Block, Operation]:
        """Return where to reshard: before the user and outside loops that keep the value."""
        home = block_with(value)
        block = block_of(anchor)
        while block is not home:
            outer = block.parent_op()
            if outer is None or outer.name not in LOOPS or outer.parent is None:
                break
            anchor, block = outer, outer.parent
        return block, anchor

    def _write_rematerialized(self, entry: Entry) -> None:
        """Clone the producer of a rematerializable value once for each sharding that is wanted."""
        (value,) = entry.operation.results
        placed = self._assigned.uses.get(value)
        if not placed:
            return
        by_sharding: dict[int, list[ShardedUse]] = {}
        for use in placed:
            by_sharding.setdefault(id(use.sharding), []).append(use)
        others = sum(1 for _ in value.uses) > len(placed)
        for position, uses in enumerate(by_sharding.values()):
            sharding, maker = uses[0].sharding, entry.operation
            if position or others:
                maker = entry.operation.clone()
                block = block_of(entry.operation)
                block.insert_op_after(maker, entry.operation)
            for index, wanted in self._assigner.rematerialized_operands(entry, sharding):
                self._assigned.uses.setdefault(maker.operands[index], []).append(
                    ShardedUse(maker, index, wanted, maker, wanted.dimension_axes)
                )
            (made,) = maker.results
            if made is not value:
                for use in uses:
                    use.operation.operands[use.index] = made
                if value in self._annotated:
                    self._annotated.add(made)
            self._write_rematerialized_uses(made, sharding, uses)

    def _write_rematerialized_uses(
        self, value: SSAValue, sharding: Sharding, uses: list[ShardedUse]
    ) -> None:
        """Annotate a clone right after its producer, for users that all want one sharding."""
        definition = self._definition_of(value, sharding)
        made = definition.owner
        assert isinstance(made, Operation) and made.parent is not None
        wanted: SSAValue | None = None
        for use in uses:
            operation = use.operation
            if operation is made:
                continue
            if operation.name == SHARD and self._annotations[operation].for_users:
                operation.operands[0] = definition
                continue
            if wanted is None:
                wanted = self._annotate(definition, sharding, made.parent, made.next_op, True)
            operation.operands[use.index] = wanted


def with_all_offsets(sharding: Sharding, shape: Sequence[int | None]) -> Sharding:
    """Return the sharding with explicit offsets in every split dimension, as the syntax requires.

    If the size of a dimension is unknown, the result has no offsets at all.
    """
    offsets: list[tuple[int, ...] | None] = []
    for dimension, limits in enumerate(sharding.offsets):
        parts, size = sharding.parts(dimension), shape[dimension]
        if limits is not None or not sharding.dimension_axes[dimension]:
            offsets.append(limits)
        elif parts is None or size is None:
            return replace(sharding, offsets=())
        else:
            offsets.append(default_offsets(size, parts))
    return replace(sharding, offsets=tuple(offsets))


def sharding_operation(sharding: Sharding) -> ShardingOp:
    """Return a new `shard.sharding` operation for a sharding."""
    split = [dimension for dimension, own in enumerate(sharding.dimension_axes) if own]
    halos: list[int] = []
    if sharding.halos:
        halos = [size for dimension in split for size in sharding.halos[dimension]]
    offsets = (
        [limit for dimension in split for limit in sharding.offsets[dimension] or ()]
        if sharding.offsets
        else []
    )
    partial = sharding.partials[0] if sharding.partials else None
    return ShardingOp(
        sharding.grid.name,
        stated_lists(sharding.dimension_axes),
        halo_sizes=halos,
        sharded_dims_offsets=offsets,
        partial=None if partial is None else (partial.kind, partial.axes),
    )

"""Derive the sharding of every operand and result from the table of propagated shardings.

Operations are visited in program order: the shardings of their operands are known, the table gives
the wanted shardings of results, and `sharding.op_sharding` chooses the axes along which to compute.
Rematerializable values are then made as their users want them, from the last to the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.ir import Operation, SSAValue

from ....ir.locations import made_by
from ....ir.tensor_types import element_bytes, tensor_shape
from ....sharding.cost import known_extents
from ....sharding.factor_splits import TensorState
from ....sharding.factors import FactorRule, TensorFactors
from ....sharding.grid import Grid
from ....sharding.op_sharding import (
    DEFAULT_PREFERENCE,
    FactorSharding,
    Preference,
    choose_op_sharding,
    tensor_sharding,
)
from ....sharding.projection import operand_axes
from ....sharding.sharding import DimensionAxes, Sharding
from ..rules.captured_reads import reads_along_loops
from ..rules.shared_outputs import INSERTION, operand_sharding
from .graph import Entry, EntryKind, ShardingGraph, is_tensor


@dataclass(slots=True)
class ShardedUse:
    """An operand and the sharding in which its operation wants it.

    `anchor` is the operation before which it is resharded, by default this one. `axes` are the
    dimension axes of what processes fetch: less than the whole for a tensor that a body reads
    along its loops.
    """

    operation: Operation
    index: int
    sharding: Sharding
    anchor: Operation
    axes: DimensionAxes


@dataclass(frozen=True, slots=True)
class ShardedOperation:
    """An operation with a rule, and the sharding chosen for it on a grid."""

    entry: Entry
    rule: FactorRule
    sharding: FactorSharding
    grid: Grid


@dataclass(slots=True)
class TensorShardings:
    """The sharding of every operand and result."""

    definitions: dict[SSAValue, Sharding] = field(default_factory=dict[SSAValue, Sharding])
    """The shardings in which producers leave values, without rematerializable ones."""
    uses: dict[SSAValue, list[ShardedUse]] = field(default_factory=dict[SSAValue, list[ShardedUse]])
    """The shardings in which users want values, in program order."""
    rematerializable: list[Entry] = field(default_factory=list[Entry])
    """The producers of rematerializable values, in program order."""
    replicated: list[Operation] = field(default_factory=list[Operation])
    """Operations without a rule, which are replicated."""
    operations: list[ShardedOperation] = field(default_factory=list[ShardedOperation])
    """The shardings chosen for operations with a rule, in program order."""


class ShardingAssigner:
    """Assigns a sharding to everything that is related to a known sharding.

    With `complete`, everything else is replicated; otherwise it is left without a sharding.
    `preference` is passed to `choose_op_sharding`.
    """

    def __init__(
        self, graph: ShardingGraph, *, complete: bool, preference: Preference = DEFAULT_PREFERENCE
    ) -> None:
        self._graph = graph
        self._preference = preference
        self._complete = complete
        self._assigned = TensorShardings()
        self._chosen_before: dict[object, FactorSharding] = {}
        self._shardings: dict[tuple[str, DimensionAxes], Sharding] = {}
        self._interned: dict[Sharding, Sharding] = {}
        self._rematerialized: dict[tuple[int, int], Sequence[Sharding]] = {}
        self._annotations = graph.annotations
        self._default_grid = next((grid for grid in graph.grids if grid is not None), None)
        self._copies: dict[SSAValue, tuple[DimensionAxes, ...]] = {}
        self._sharers = Counter(
            (value, id(entry.rule), index)
            for entry in graph.entries
            if entry.kind is EntryKind.RULED
            for index, value in enumerate(entry.operation.operands)
        )

    def assign(self) -> TensorShardings:
        """Return the shardings of the whole graph."""
        for value, node in self._graph.values.items():
            if not isinstance(value.owner, Operation):
                self._define_by_table(value, node)
        for entry in self._graph.entries:
            match entry.kind:
                case EntryKind.RULED:
                    self._ruled(entry)
                case EntryKind.REPLICATED:
                    self._assign_replicated(entry)
                case EntryKind.ANNOTATION:
                    self._annotated(entry)
                case EntryKind.EDGE:
                    self._edge(entry)
                case EntryKind.REMATERIALIZABLE:
                    self._assigned.rematerializable.append(entry)
        return self._assigned

    def sharding(self, grid: Grid, axes: DimensionAxes) -> Sharding:
        """Return the unique object for a sharding without halos, offsets and partial results."""
        key = (grid.name, axes)
        found = self._shardings.get(key)
        if found is None:
            found = self._shardings[key] = self._intern(Sharding(grid, axes))
        return found

    def _intern(self, sharding: Sharding) -> Sharding:
        """Return the unique object that represents all shardings equal to this one."""
        return self._interned.setdefault(sharding, sharding)

    def _by_table(self, node: int) -> Sharding | None:
        pinned = self._graph.pinned.get(node)
        tensor = self._graph.tensors[node]
        if pinned is not None and pinned.sharding.dimension_axes == tensor.axes:
            return self._intern(pinned.sharding)
        grid = self._graph.grids[node]
        if grid is None:
            return None
        return self.sharding(grid, tensor.axes)

    def _define_by_table(self, value: SSAValue, node: int) -> None:
        sharding = self._by_table(node)
        if sharding is not None and node not in self._graph.pinned:
            sharding = self._as_annotated_for_users(value, sharding)
        if sharding is None and self._complete and self._default_grid is not None:
            sharding = self._replicated(value, self._default_grid)
        if sharding is not None:
            self._assigned.definitions[value] = sharding

    def _as_annotated_for_users(self, value: SSAValue, sharding: Sharding) -> Sharding:
        """Add the halos and offsets on which the annotations of all users agree.

        An annotation for users also applies to the producer if that has no annotation.
        """
        wanted: Sharding | None = None
        for use in value.uses:
            annotation = self._annotations.get(use.operation)
            if annotation is None or not annotation.for_users:
                return sharding
            if wanted is not None and annotation.sharding != wanted:
                return sharding
            wanted = annotation.sharding
        if wanted is None or wanted.partials or wanted.grid != sharding.grid:
            return sharding
        return (
            self._intern(wanted) if wanted.dimension_axes == sharding.dimension_axes else sharding
        )

    def _replicated(self, value: SSAValue, grid: Grid) -> Sharding:
        return self.sharding(grid, ((),) * rank_of(value))

    def _use(
        self,
        operation: Operation,
        index: int,
        sharding: Sharding,
        anchor: Operation | None = None,
        axes: DimensionAxes | None = None,
    ) -> None:
        """Record the sharding in which an operation wants an operand; see `ShardedUse`."""
        value = operation.operands[index]
        fetched = sharding.dimension_axes if axes is None else axes
        self._assigned.uses.setdefault(value, []).append(
            ShardedUse(operation, index, sharding, anchor or operation, fetched)
        )
        if value not in self._assigned.definitions and value in self._graph.values:
            # No sharding was requested so far: it is replicated.
            self._assigned.definitions[value] = self._replicated(value, sharding.grid)

    def _remember_copy(self, value: SSAValue, axes: DimensionAxes) -> None:
        copies = self._copies.get(value, ())
        if axes not in copies:
            self._copies[value] = (*copies, axes)

    def _captured(self, entry: Entry, grid: Grid, chosen: FactorSharding | None = None) -> None:
        followed = self._read_along_loops(entry, chosen)
        for inner, index in entry.captures:
            value = inner.operands[index]
            whole = self._replicated(value, grid)
            self._use(inner, index, whole, entry.operation, followed.get(value))

    @staticmethod
    def _read_along_loops(
        entry: Entry, chosen: FactorSharding | None
    ) -> dict[SSAValue, DimensionAxes]:
        """Return the dimension axes of the slices that a body reads along its loops."""
        if chosen is None or entry.rule is None or not entry.captures:
            return {}
        return {
            tensor: tuple(
                chosen.factor_axes[along.loop] if along is not None and along.is_exact else ()
                for along in loops
            )
            for tensor, loops in reads_along_loops(entry.operation, entry.rule).items()
        }

    def _grid_at(self, operation: Operation) -> Grid | None:
        """Return the grid on which an operation runs: the first grid of one of its tensors."""
        definitions, values, grids = (
            self._assigned.definitions,
            self._graph.values,
            self._graph.grids,
        )
        for value in operation.operands:
            if value in definitions:
                return definitions[value].grid
        for value in operation.results:
            node = values.get(value)
            if node is not None and grids[node] is not None:
                return grids[node]
        return self._default_grid if self._complete else None

    def _ruled(self, entry: Entry) -> None:
        operation, rule = entry.operation, entry.rule
        assert rule is not None
        grid = self._grid_at(operation)
        if grid is None:
            return
        chosen = self._chosen(entry, rule, grid)
        self._assigned.operations.append(ShardedOperation(entry, rule, chosen, grid))
        for index, value in enumerate(operation.operands):
            if is_tensor(value):
                axes = chosen.operands[index]
                sharding = self._sharding_of(value, grid, axes, rule.operands[index], chosen)
                self._use(operation, index, sharding)
                held = self._assigned.definitions.get(value)
                if held is not None and axes != held.dimension_axes:
                    self._remember_copy(value, axes)
        for index, value in enumerate(operation.results):
            if value in self._graph.values:
                self._assigned.definitions[value] = self._sharding_of(
                    value, grid, chosen.results[index], rule.results[index], chosen
                )
        self._captured(entry, grid, chosen)

    def _chosen(self, entry: Entry, rule: FactorRule, grid: Grid) -> FactorSharding:
        """Return the sharding of an operation, cached for equal rules, operands and results."""
        operation = entry.operation
        # Shardings are interned, so identities distinguish them.
        definitions, values = self._assigned.definitions, self._graph.values
        key = (
            id(rule),
            grid.name,
            entry.in_parallel,
            (is_joined := any(map(is_only_joined, operation.results))),
            *[
                (
                    id(definitions.get(value)),
                    self._copies.get(value),
                    self._is_demanded(value),
                    self._sharers[value, id(rule), index],
                )
                if value in values
                else None
                for index, value in enumerate(operation.operands)
            ],
            *[
                None if (node := values.get(value)) is None else self._state_of(node)
                for value in operation.results
            ],
        )
        chosen = self._chosen_before.get(key)
        if chosen is None:
            operands = [
                self._incoming(value, grid, self._sharers[value, id(rule), index])
                for index, value in enumerate(operation.operands)
            ]
            results = [self._outgoing(value, grid) for value in operation.results]
            preference = self._preference
            if entry.in_parallel:
                preference = replace(preference, move_axes=False)
            if is_joined:
                preference = replace(preference, fill=False)
            chosen = choose_op_sharding(rule, operands, results, grid, preference)
            self._chosen_before[key] = chosen
        return chosen

    def _is_demanded(self, value: SSAValue) -> bool:
        """Return whether an annotation prescribes how the users of a value see it."""
        pinned = self._graph.pinned.get(self._graph.values[value])
        return pinned is not None and pinned.for_users and pinned.result is value

    def _state_of(self, node: int) -> tuple[object, ...]:
        """Return the properties of a result's node on which the choice depends."""
        graph = self._graph
        return graph.tensors[node].axes, node in graph.pinned, id(graph.grids[node])

    def _incoming(self, value: SSAValue, grid: Grid, sharers: int) -> TensorState:
        """Return the state of an operand that `sharers` operations of this rule read."""
        sharding = self._assigned.definitions.get(value)
        if not is_tensor(value) or value not in self._graph.values:
            return TensorState(None)
        width = element_bytes(value)
        if sharding is None or sharding.grid != grid:
            return TensorState(((),) * rank_of(value), False, width)
        copies = self._copies.get(value, ())
        demanded = self._is_demanded(value)
        return TensorState(
            sharding.dimension_axes, demanded, width, copies, sharers, sharding.offsets
        )

    def _outgoing(self, value: SSAValue, grid: Grid) -> TensorState:
        """Return the sharding in which a result is wanted."""
        node = self._graph.values.get(value)
        if node is None:
            return TensorState(None)
        width = element_bytes(value)
        if self._graph.grids[node] != grid:
            # No sharding is requested; any split counts as a deviation from replication, which
            # costs bytes.
            return TensorState(((),) * rank_of(value), False, width)
        return TensorState(self._graph.tensors[node].axes, node in self._graph.pinned, width)

    def _sharding_of(
        self,
        value: SSAValue,
        grid: Grid,
        axes: DimensionAxes,
        factors: TensorFactors,
        chosen: FactorSharding,
    ) -> Sharding:
        if not any(chosen.offsets):
            return self.sharding(grid, axes)
        sharding = tensor_sharding(grid, factors, chosen.assignment)
        if not sharding.offsets:
            return self._intern(sharding)
        # If the dimension is a slice of the factor, the offsets of the whole do not apply to it.
        offsets = tuple(
            limits if limits is None or size in (None, limits[-1]) else None
            for limits, size in zip(sharding.offsets, tensor_shape(value) or (), strict=True)
        )
        return self._intern(replace(sharding, offsets=offsets))

    def _assign_replicated(self, entry: Entry) -> None:
        operation = entry.operation
        grid = self._grid_at(operation)
        if grid is None:
            return
        self._assigned.replicated.append(operation)
        for index, value in enumerate(operation.operands):
            if is_tensor(value):
                self._use(operation, index, self._replicated(value, grid))
        for value in operation.results:
            if is_tensor(value):
                self._assigned.definitions[value] = self._replicated(value, grid)
        self._captured(entry, grid)

    def _annotated(self, entry: Entry) -> None:
        annotation = entry.annotation
        assert annotation is not None
        sharding = self._intern(annotation.sharding)
        if any(annotation.open_dimensions):
            sharding = self._by_table(self._graph.values[annotation.result]) or sharding
        self._use(entry.operation, 0, sharding)
        self._assigned.definitions[annotation.result] = sharding

    def _edge(self, entry: Entry) -> None:
        operation = entry.operation
        for result in operation.results:
            node = self._graph.values.get(result)
            if node is not None:
                self._define_by_table(result, node)
        for source in entry.sources:
            value = operation.operands[source.index]
            if not is_tensor(value):
                continue
            target = value if source.target is None else source.target
            sharding = self._assigned.definitions.get(target)
            if sharding is None and target in self._graph.values:
                sharding = self._by_table(self._graph.values[target])
            if sharding is not None and source.rule is not None:
                seen = operand_sharding(source.rule, sharding)
                sharding = self.sharding(seen.grid, seen.dimension_axes)
                if operation.name != INSERTION:
                    # A loop's output has the shape of the incoming value, and keeps its sharding.
                    self._assigned.definitions[target] = sharding
            if sharding is None and self._complete and self._default_grid is not None:
                sharding = self._replicated(value, self._default_grid)
            if sharding is not None:
                # Only insertions are allowed beside an insertion, so reshard before the parent.
                anchor = operation.parent_op() if operation.name == INSERTION else None
                self._use(operation, source.index, sharding, anchor)

    def rematerialized_operands(
        self, entry: Entry, wanted: Sharding
    ) -> Sequence[tuple[int, Sharding]]:
        """Return the shardings of its operands that the producer of a rematerializable value needs.

        `wanted` is the sharding of the result; the pairs are (operand index, sharding).
        """
        rule = entry.rule
        assert rule is not None
        found = self._rematerialized.get((id(rule), id(wanted)))
        if found is None:
            extents = known_extents(wanted.grid.shape)
            found = self._rematerialized[id(rule), id(wanted)] = [
                self.sharding(wanted.grid, axes)
                for axes in operand_axes(rule, wanted.dimension_axes, extents)
            ]
        # Scalar operands and rank-0 tensors look alike to a rule; only tensors have shardings.
        return [
            (index, found[index])
            for index, value in enumerate(entry.operation.operands)
            if is_tensor(value)
        ]


JOIN = "tensor.concat"


def is_only_joined(value: SSAValue) -> bool:
    """Return whether a tensor is a slice that only concatenations read.

    They fetch their sections from its source.
    """
    return made_by(value, "tensor.extract_slice") is not None and all(
        use.operation.name == JOIN for use in value.uses
    )


def rank_of(value: SSAValue) -> int:
    """Return the rank of a ranked tensor; 0 for other values."""
    return len(tensor_shape(value) or ())

"""Improve shardings by propagating again from the actual results of contractions.

Propagation does not see sizes. When an operation is sharded by cost, its result may be split
differently than propagation expected, and each later operation would reshard it. Here such results
are fixed, propagation is repeated with them, and the outcome is kept if it sends fewer bytes and
does not do disproportionately more work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from xdsl.ir import Operation, SSAValue

from ....ir.attribute_access import optional_integer
from ....ir.tensor_types import tensor_bytes, tensor_shape
from ....sharding.cost import BYTES_PER_POINT, known_extents, local_bytes, reshard_bytes, sent_bytes
from ....sharding.grid import Grid
from ....sharding.local_shape import default_offsets
from ....sharding.op_sharding import Preference, UnreducedResult
from ....sharding.propagation import Origin, RuleClass, classify
from ....sharding.sharding import DimensionAxes, Sharding, is_finer_split
from ....sharding.slice_exchange import plan_joined_exchange, sections_of_slices
from ..rules.tensor import sliced_source
from .graph import ShardingGraph
from .tensor_shardings import (
    JOIN,
    ShardedOperation,
    ShardedUse,
    ShardingAssigner,
    TensorShardings,
    is_only_joined,
)

PREFERENCES = tuple(
    Preference(move_axes=move, weigh_work=weigh)
    for weigh in (False, True)
    for move in (False, True)
)
"""The preferences with which candidates are sharded, the simplest first."""

ROUNDS = 4
"""Maximum number of candidates per preference, each with more fixed results."""


@dataclass(frozen=True, slots=True)
class TableState:
    """A snapshot of a graph's tensors and grids."""

    tensors: tuple[tuple[DimensionAxes, tuple[bool, ...], tuple[Origin, ...]], ...]
    grids: tuple[Grid | None, ...]

    @staticmethod
    def of(graph: ShardingGraph) -> TableState:
        """Return a snapshot of a graph."""
        return TableState(
            tuple((each.axes, each.open_dimensions, tuple(each.origins)) for each in graph.tensors),
            tuple(graph.grids),
        )

    def restore(self, graph: ShardingGraph) -> None:
        """Restore a graph to this snapshot."""
        for tensor, (axes, open_dimensions, origins) in zip(
            graph.tensors, self.tensors, strict=True
        ):
            tensor.axes, tensor.open_dimensions = axes, open_dimensions
            tensor.origins = list(origins)
        graph.grids[:] = self.grids


@dataclass(frozen=True, slots=True)
class _Candidate:
    """The shardings of a program, their cost, and the table that they follow.

    Tensors without a sharding count as replicated, as they will be.
    """

    preference: Preference
    shardings: TensorShardings
    work: float
    bytes_sent: float
    state: TableState

    @staticmethod
    def of(graph: ShardingGraph, preference: Preference) -> _Candidate:
        """Plan all operations of a graph in its current state."""
        shardings = ShardingAssigner(graph, complete=True, preference=preference).assign()
        work, bytes_sent = shardings_cost(shardings)
        return _Candidate(preference, shardings, work, bytes_sent, TableState.of(graph))

    def betters(self, other: _Candidate) -> bool:
        """Return whether this sends fewer bytes, and no more work outweighs them."""
        return self.bytes_sent < other.bytes_sent and self.cost < other.cost

    @property
    def cost(self) -> float:
        """The bytes sent, and the work in the same units."""
        return self.bytes_sent + BYTES_PER_POINT * self.work


def best_shardings(
    graph: ShardingGraph, start: TableState, propagate: Callable[[], None]
) -> tuple[ShardingAssigner, TensorShardings]:
    """Return the shardings of a propagated graph, or better ones if some are found.

    `start` is the table before propagation; `propagate` propagates over the graph in its current
    state. The graph is left in the state that the result follows.
    """
    assigner = ShardingAssigner(graph, complete=False)
    shardings = assigner.assign()
    resharded = any(sharded.sharding.bytes_before for sharded in shardings.operations)
    if not resharded and not _moved_results(graph, shardings):
        return assigner, shardings
    propagated = TableState.of(graph)
    best = _Candidate.of(graph, Preference(move_axes=False))
    for preference in PREFERENCES:
        propagated.restore(graph)
        for candidate in _improvements(graph, start, propagate, preference):
            if candidate.betters(best):
                best = candidate
    best.state.restore(graph)
    assigner = ShardingAssigner(graph, complete=False, preference=best.preference)
    return assigner, assigner.assign()


def _improvements(
    graph: ShardingGraph,
    start: TableState,
    propagate: Callable[[], None],
    preference: Preference,
) -> Iterator[_Candidate]:
    """Yield candidates in which more and more results of contractions are fixed."""
    given: dict[int, tuple[DimensionAxes, Grid]] = {}
    for _ in range(ROUNDS):
        candidate = _Candidate.of(graph, preference)
        yield candidate
        moved = _moved_results(graph, candidate.shardings)
        if not moved.keys() - given.keys():
            return
        given |= moved
        start.restore(graph)
        for node, (axes, grid) in given.items():
            graph.tensors[node].axes = axes
            graph.tensors[node].open_dimensions = (False,) * len(axes)
            graph.grids[node] = grid
        propagate()


def _moved_results(
    graph: ShardingGraph, shardings: TensorShardings
) -> dict[int, tuple[DimensionAxes, Grid]]:
    """Return the nodes of contraction results whose sharded sharding is not that of the table.

    A result that is made of shifted sections is moved if all its users want it in one sharding that
    splits less: a concatenation along a split dimension that is gathered next.
    """
    moved: dict[int, tuple[DimensionAxes, Grid]] = {}
    for sharded in shardings.operations:
        if sharded.sharding.window_bytes:
            moved |= _gathered_results(graph, shardings, sharded)
        results = sharded.entry.operation.results
        for value, axes in zip(results, sharded.sharding.results, strict=True):
            node = graph.values.get(value)
            if (
                node is None
                or node in graph.pinned
                or is_finer_split(graph.tensors[node].axes, axes)
            ):
                continue
            if graph.grids[node] in (None, sharded.grid) and (
                classify(sharded.rule) is RuleClass.OTHER
            ):
                moved[node] = axes, sharded.grid
    return moved


def _gathered_results(
    graph: ShardingGraph, shardings: TensorShardings, sharded: ShardedOperation
) -> dict[int, tuple[DimensionAxes, Grid]]:
    """Return the nodes of results that all users gather in the same way, with what they want."""
    moved: dict[int, tuple[DimensionAxes, Grid]] = {}
    for value, held in zip(sharded.entry.operation.results, sharded.sharding.results, strict=True):
        node, uses = graph.values.get(value), shardings.uses.get(value, [])
        wanted = {use.axes for use in uses if use.sharding.grid == sharded.grid}
        if node is None or node in graph.pinned or len(wanted) != 1:
            continue
        (axes,) = wanted
        if axes != held and is_finer_split(held, axes):
            moved[node] = axes, sharded.grid
    return moved


def shardings_cost(shardings: TensorShardings) -> tuple[float, float]:
    """Return the work of each process, in loop iterations, and the bytes that it sends."""
    work, sent = 0.0, 0.0
    joined = _exchanges_of_joins(shardings)
    for sharded in shardings.operations:
        work += _work(sharded)
        sent += joined.get(sharded.entry.operation, sharded.sharding.window_bytes)
        sent += _finishing(sharded, shardings)
    for value, uses in shardings.uses.items():
        held = shardings.definitions.get(value)
        if held is not None:
            sent += _resharding(value, held, uses)
    return round(work), sent


def _exchanges_of_joins(shardings: TensorShardings) -> dict[Operation, float]:
    """Return the bytes sent by concatenations of slices of one tensor, and by these slices.

    Partition turns such a concatenation into one exchange, which replaces that of each slice. A
    slice that only concatenations read then sends nothing.
    """
    found: dict[Operation, float] = {}
    for sharded in shardings.operations:
        operation = sharded.entry.operation
        dimension = optional_integer(operation, "dim") if operation.name == JOIN else None
        if dimension is None or not sharded.sharding.window_bytes:
            continue
        sent = _exchange_bytes(sharded, dimension)
        if sent is None:
            continue
        found[operation] = sent
        found |= {
            value.owner: 0.0
            for value in operation.operands
            if isinstance(value.owner, Operation) and is_only_joined(value)
        }
    return found


def _exchange_bytes(sharded: ShardedOperation, dimension: int) -> float | None:
    """Return the bytes of the one exchange that a concatenation becomes, `None` without one.

    The operands must be slices of one tensor, all along the dimension of the concatenation.
    """
    operation = sharded.entry.operation
    slices = [sliced_source(value, dimension) for value in operation.operands]
    source = slices[0][0]
    size = (tensor_shape(source) or ())[dimension]
    extent = (tensor_shape(operation.results[0]) or ())[dimension]
    extents = known_extents(sharded.grid.shape)
    parts = prod(extents[axis] for axis in sharded.sharding.results[0][dimension])
    if size is None or extent is None or any(each is not source for each, _ in slices):
        return None
    owned, made = (list(pairwise(default_offsets(n, parts))) for n in (size, extent))
    sections = sections_of_slices(sharded.rule.windows, [first for _, first in slices], made)
    exchange = plan_joined_exchange(owned, list(zip(*sections, strict=True)))
    if exchange is None:
        return None
    share = local_bytes(tensor_bytes(source), sharded.sharding.results[0], extents)
    return exchange.sent * share * parts / size


def _resharding(value: SSAValue, held: Sharding, uses: Sequence[ShardedUse]) -> float:
    """Return the bytes sent to reshard a value to all shardings that its users want."""
    extents, whole = known_extents(held.grid.shape), ((),) * held.rank
    # On its way to another grid a value is replicated.
    all_wanted = {use.axes if use.sharding.grid == held.grid else whole for use in uses}
    return sum(
        reshard_bytes(held.dimension_axes, wanted, tensor_bytes(value), extents)
        for wanted in sorted(all_wanted)
    )


def _work(sharded: ShardedOperation) -> float:
    extents = known_extents(sharded.grid.shape)
    parts = prod(extents[axis] for axes in sharded.sharding.factor_axes for axis in axes)
    return prod(known_extents([factor.size for factor in sharded.rule.factors])) / parts


def _finishing(sharded: ShardedOperation, shardings: TensorShardings) -> float:
    """Return the bytes sent to finish an operation's reductions."""
    chosen = sharded.sharding
    if not chosen.reduced:
        return 0.0
    extents, sent = known_extents(sharded.grid.shape), 0.0
    for index, value in enumerate(sharded.entry.operation.results):
        split_by_all = [
            {axis for axes in use.sharding.dimension_axes for axis in axes}
            if use.sharding.grid == sharded.grid
            else set[int]()
            for use in shardings.uses.get(value, [])
        ]
        scattered = set[int]()
        if split_by_all:
            scattered = set(chosen.reduced).intersection(*split_by_all)
        axes = chosen.results[index]
        result = UnreducedResult(sharded.rule, chosen.factor_axes, index, axes)
        held = local_bytes(tensor_bytes(value), axes, extents)
        sent += result.reduction_price(held, frozenset(scattered), extents, sent_bytes(extents))
    return sent

"""Improves the shardings: where contractions leave their results elsewhere, others may follow.

Propagation does not see sizes. When an operation is then planned by cost, its result may come
out split in another way than propagation expected, and each later operation would bring it back.
Here such results are taken as given, propagation is done anew with them, and the result is
kept if it does no more work and sends fewer bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from xdsl.ir import Operation, SSAValue

from ....ir.tensor_types import tensor_bytes, tensor_shape
from ....sharding.cost import BYTES_PER_POINT, known_extents, local_size, reshard_bytes
from ....sharding.factors import FactorRule
from ....sharding.grid import Grid
from ....sharding.local_shape import default_offsets
from ....sharding.op_sharding import Preference, finishing_bytes
from ....sharding.propagation import Origin, RuleClass, classify
from ....sharding.sharding import DimensionAxes, Sharding, extends
from ....sharding.slice_exchange import MOST_PARTS, plan_joined_exchange
from ..rules.builder import integer
from ..rules.tensor import cut_from
from .graph import ShardingGraph
from .tensor_shardings import (
    JOIN,
    PlannedOperation,
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
"""The ways in which candidates are tried, the plainest first."""

ROUNDS = 4
"""How many candidates are tried at most, each with more results taken as given."""


@dataclass(frozen=True, slots=True)
class TableState:
    """What is known of each tensor of a graph, to be restored later."""

    tensors: tuple[tuple[DimensionAxes, tuple[bool, ...], tuple[Origin, ...]], ...]
    grids: tuple[Grid | None, ...]

    @staticmethod
    def of(graph: ShardingGraph) -> TableState:
        """The state of a graph."""
        return TableState(
            tuple((each.axes, each.open_dimensions, tuple(each.origins)) for each in graph.tensors),
            tuple(graph.grids),
        )

    def restore(self, graph: ShardingGraph) -> None:
        """Bring a graph back to this state."""
        for tensor, (axes, open_dimensions, origins) in zip(
            graph.tensors, self.tensors, strict=True
        ):
            tensor.axes, tensor.open_dimensions = axes, open_dimensions
            tensor.origins = list(origins)
        graph.grids[:] = self.grids


@dataclass(frozen=True, slots=True)
class _Candidate:
    """The shardings of a program, what they cost, and the table that they follow.

    What nobody said anything about is whole in them, as it will be: that costs as well.
    """

    preference: Preference
    shardings: TensorShardings
    work: float
    bytes_sent: float
    state: TableState

    @staticmethod
    def of(graph: ShardingGraph, preference: Preference) -> _Candidate:
        """Place everything in a graph as it is now."""
        shardings = ShardingAssigner(graph, complete=True, preference=preference).assign()
        work, bytes_sent = shardings_cost(shardings)
        return _Candidate(preference, shardings, work, bytes_sent, TableState.of(graph))

    def betters(self, other: _Candidate) -> bool:
        """Fewer bytes, and not so much more work that it outweighs them."""
        return self.bytes_sent < other.bytes_sent and self.cost < other.cost

    @property
    def cost(self) -> float:
        """What is sent, and the work in the same units."""
        return self.bytes_sent + BYTES_PER_POINT * self.work


def best_shardings(
    graph: ShardingGraph, start: TableState, propagate: Callable[[], None]
) -> tuple[ShardingAssigner, TensorShardings]:
    """The shardings of a propagated graph, or better ones.

    `start` is the table before propagation, `propagate` propagates over the graph as it is.
    """
    assigner = ShardingAssigner(graph, complete=False)
    shardings = assigner.assign()
    resharded = any(planned.sharding.bytes_before for planned in shardings.planned)
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
    """Candidates in which ever more results of contractions are taken as given."""
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
    """The nodes of contractions' results that are not where the table has them."""
    moved: dict[int, tuple[DimensionAxes, Grid]] = {}
    for planned in shardings.planned:
        results = planned.entry.operation.results
        for value, axes in zip(results, planned.sharding.results, strict=True):
            node = graph.values.get(value)
            if node is None or node in graph.pinned or extends(graph.tensors[node].axes, axes):
                continue
            if graph.grids[node] in (None, planned.grid) and (
                classify(_rule(planned)) is RuleClass.OTHER
            ):
                moved[node] = axes, planned.grid
    return moved


def shardings_cost(shardings: TensorShardings) -> tuple[float, float]:
    """The work of each process, in loop iterations, and the bytes that it sends."""
    work, sent = 0.0, 0.0
    joined = _joined_anew(shardings)
    for planned in shardings.planned:
        work += _work(planned)
        sent += joined.get(planned.entry.operation, planned.sharding.window_bytes)
        sent += _finishing(planned, shardings)
    for value, uses in shardings.uses.items():
        held = shardings.definitions.get(value)
        if held is not None:
            sent += _resharding(value, held, uses)
    return round(work), sent


def _joined_anew(shardings: TensorShardings) -> dict[Operation, float]:
    """What operations send that cut a tensor and join its parts anew: it is exchanged at once.

    The join sends it, and slices that nobody else reads nothing.
    """
    found: dict[Operation, float] = {}
    for planned in shardings.planned:
        operation = planned.entry.operation
        dimension = integer(operation, "dim") if operation.name == JOIN else None
        if dimension is None or not planned.sharding.window_bytes:
            continue
        sent = _exchanged(planned, dimension)
        if sent is None:
            continue
        found[operation] = sent
        found |= {
            value.owner: 0.0
            for value in operation.operands
            if isinstance(value.owner, Operation) and is_only_joined(value)
        }
    return found


def _exchanged(planned: PlannedOperation, dimension: int) -> float | None:
    """What a join of parts of one tensor sends at once, `None` if it is none or cannot."""
    operation, windows = planned.entry.operation, _rule(planned).windows
    cuts = [cut_from(value, dimension) for value in operation.operands]
    source = cuts[0][0]
    size = (tensor_shape(source) or ())[dimension]
    extent = (tensor_shape(operation.results[0]) or ())[dimension]
    extents = known_extents(planned.grid.shape)
    parts = prod(extents[axis] for axis in planned.sharding.results[0][dimension])
    if size is None or extent is None or any(each is not source for each, _ in cuts):
        return None
    owned, joined = (list(pairwise(default_offsets(n, parts))) for n in (size, extent))
    wanted = [
        [
            (first + low, first + high)
            for (_, first), window in zip(cuts, windows, strict=True)
            for low, high in (window.read(*each),)
            if low < high
        ]
        for each in joined
    ]
    exchange = plan_joined_exchange(owned, wanted) if parts <= MOST_PARTS else None
    if exchange is None:
        return None
    share = local_size(tensor_bytes(source), planned.sharding.results[0], extents)
    return exchange.sent * share * parts / size


def _resharding(value: SSAValue, held: Sharding, uses: Sequence[ShardedUse]) -> float:
    """What it takes to bring a value to all shardings that its users want."""
    extents, whole = known_extents(held.grid.shape), ((),) * held.rank
    # On its way to another grid a value is whole on every process.
    all_wanted = {use.axes if use.sharding.grid == held.grid else whole for use in uses}
    return sum(
        reshard_bytes(held.dimension_axes, wanted, tensor_bytes(value), extents)
        for wanted in sorted(all_wanted)
    )


def _work(planned: PlannedOperation) -> float:
    rule = _rule(planned)
    extents = known_extents(planned.grid.shape)
    parts = prod(extents[axis] for axes in planned.sharding.factor_axes for axis in axes)
    return prod(known_extents([factor.size for factor in rule.factors])) / parts


def _rule(planned: PlannedOperation) -> FactorRule:
    assert planned.entry.rule is not None
    return planned.entry.rule


def _finishing(planned: PlannedOperation, shardings: TensorShardings) -> float:
    """What it takes to finish an operation's reductions."""
    chosen = planned.sharding
    if not chosen.reduced:
        return 0.0
    extents, sent = known_extents(planned.grid.shape), 0.0
    for index, value in enumerate(planned.entry.operation.results):
        split_by_all = [
            {axis for axes in use.sharding.dimension_axes for axis in axes}
            if use.sharding.grid == planned.grid
            else set[int]()
            for use in shardings.uses.get(value, [])
        ]
        scattered = set[int]()
        if split_by_all:
            scattered = set(chosen.reduced).intersection(*split_by_all)
        held = local_size(tensor_bytes(value), chosen.results[index], extents)
        sent += finishing_bytes(
            _rule(planned), chosen.factor_axes, index, held, frozenset(scattered), extents
        )
    return sent

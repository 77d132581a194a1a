"""Betters a placement: where contractions leave their results elsewhere, the rest may follow.

Propagation does not see sizes. When an operation is then planned by cost, its result may come
out split in another way than propagation expected, and each later operation would bring it back.
Here such results are taken as given, propagation is done anew with them, and the new placement is
kept if it does no more work and sends fewer bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from ...sharding.cost import known_extents, local_size, reshard_bytes
from ...sharding.grid import Grid
from ...sharding.plan import Plan, extends, finishing_bytes
from ...sharding.projection import DimensionAxes
from ...sharding.propagation import Origin, RuleClass, classify
from .annotations import tensor_shape
from .graph import Entry, ShardingGraph
from .placement import Placement, Placer, element_bytes

ROUNDS = 4
"""How many placements are tried at most, each with more results taken as given."""


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
    """A placement, what it costs, and the table that it follows."""

    placer: Placer
    placement: Placement
    work: float
    bytes_sent: float
    state: TableState

    @staticmethod
    def of(graph: ShardingGraph, *, move_reductions: bool) -> _Candidate:
        """Place everything in a graph as it is now."""
        placer = Placer(graph, complete=False, move_reductions=move_reductions)
        placement = placer.place()
        work, bytes_sent = placement_cost(placement)
        return _Candidate(placer, placement, work, bytes_sent, TableState.of(graph))

    def betters(self, other: _Candidate) -> bool:
        """Fewer bytes, and no more work."""
        return self.bytes_sent < other.bytes_sent and self.work <= other.work


def best_placement(
    graph: ShardingGraph, start: TableState, propagate: Callable[[], None]
) -> tuple[Placer, Placement]:
    """The placement of a propagated graph, or a better one.

    `start` is the table before propagation, `propagate` propagates over the graph as it is.
    """
    placer = Placer(graph, complete=False)
    placement = placer.place()
    if not _moved_results(graph, placement):
        return placer, placement
    propagated = TableState.of(graph)
    best = _Candidate.of(graph, move_reductions=False)
    for move_reductions in (False, True):
        propagated.restore(graph)
        for candidate in _improvements(graph, start, propagate, move_reductions):
            if candidate.betters(best):
                best = candidate
    best.state.restore(graph)
    return best.placer, best.placement


def _improvements(
    graph: ShardingGraph, start: TableState, propagate: Callable[[], None], move_reductions: bool
) -> Iterator[_Candidate]:
    """Placements in which ever more results of contractions are taken as given."""
    given: dict[int, DimensionAxes] = {}
    for _ in range(ROUNDS):
        candidate = _Candidate.of(graph, move_reductions=move_reductions)
        yield candidate
        moved = _moved_results(graph, candidate.placement)
        if not moved.keys() - given.keys():
            return
        given |= moved
        grids = list(graph.grids)
        start.restore(graph)
        for node, axes in given.items():
            graph.tensors[node].axes = axes
            graph.tensors[node].open_dimensions = (False,) * len(axes)
            graph.grids[node] = grids[node]
        propagate()


def _moved_results(graph: ShardingGraph, placement: Placement) -> dict[int, DimensionAxes]:
    """The nodes of contractions' results that are not where the table has them."""
    moved: dict[int, DimensionAxes] = {}
    for entry, plan in placement.plans:
        assert entry.rule is not None
        for value, axes in zip(entry.operation.results, plan.results, strict=True):
            node = graph.values.get(value)
            if node is None or node in graph.pinned or extends(graph.tensors[node].axes, axes):
                continue
            if classify(entry.rule) is RuleClass.OTHER:
                moved[node] = axes
    return moved


def placement_cost(placement: Placement) -> tuple[float, float]:
    """The work of each process, in loop iterations, and the bytes that it sends."""
    work, sent = 0.0, 0.0
    for entry, plan in placement.plans:
        work += _work(entry, plan, placement)
        sent += _finishing(entry, plan, placement)
    for value, uses in placement.uses.items():
        held = placement.definitions.get(value)
        if held is None:
            continue
        extents = known_extents(held.grid.shape)
        for wanted in {use.sharding.dimension_axes for use in uses}:
            if wanted != held.dimension_axes:
                sent += reshard_bytes(held.dimension_axes, wanted, _size(value), extents)
    return round(work), sent


def _size(value: SSAValue) -> float:
    return element_bytes(value) * prod(known_extents(tensor_shape(value) or ()))


def _work(entry: Entry, plan: Plan, placement: Placement) -> float:
    assert entry.rule is not None
    extents = _extents_at(entry, placement)
    parts = prod(extents[axis] for axes in plan.factor_axes for axis in axes)
    return prod(known_extents([factor.size for factor in entry.rule.factors])) / parts


def _extents_at(entry: Entry, placement: Placement) -> tuple[int, ...]:
    for value in (*entry.operation.operands, *entry.operation.results):
        held = placement.definitions.get(value)
        if held is not None:
            return known_extents(held.grid.shape)
    return ()


def _finishing(entry: Entry, plan: Plan, placement: Placement) -> float:
    """What it takes to finish an operation's reductions."""
    if not plan.reduced:
        return 0.0
    assert entry.rule is not None
    extents, sent = _extents_at(entry, placement), 0.0
    for index, value in enumerate(entry.operation.results):
        split_by_all = [
            {axis for axes in use.sharding.dimension_axes for axis in axes}
            for use in placement.uses.get(value, [])
        ]
        scattered = set[int]()
        if split_by_all:
            scattered = set(plan.reduced).intersection(*split_by_all)
        held = local_size(_size(value), plan.results[index], extents)
        sent += finishing_bytes(
            entry.rule, plan.factor_axes, index, held, frozenset(scattered), extents
        )
    return sent

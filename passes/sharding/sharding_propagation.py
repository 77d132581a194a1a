"""`sharding-propagation`: propagate sharding annotations to all tensors of a program.

Annotations have the meaning that they have for MLIR's pass of the same name. They are propagated to
a fixpoint in Shardy's order, conflicts are resolved by cost, and the result is written as
annotations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...ir.diagnostics import remarks_wanted
from ...sharding.cost import known_extents
from ...sharding.factor_propagation import Direction
from ...sharding.grid import Grid
from ...sharding.propagation import OperationNode, Propagation
from ...sharding.refinement import Refinement
from ..imports.import_annotations import import_annotations
from ..inline_calls import call_constants_directly
from .annotations.writer import AnnotationWriter
from .partition.known_offsets import fold_known_offsets
from .propagation.explain import explain_resharding, explain_shardings
from .propagation.graph import ShardingGraph, build_graph
from .propagation.improvement import TableState, best_shardings
from .propagation.sub_axes import (
    annotate_on_finer_grid,
    coarsen_nodes,
    refine_nodes,
    refinement_for,
)

Traversal = Literal["forward", "backward", "forward-backward", "backward-forward"]

_PASSES: dict[str, tuple[Direction, ...]] = {
    "forward": (Direction.FORWARD,),
    "backward": (Direction.BACKWARD,),
    "forward-backward": (Direction.FORWARD, Direction.BACKWARD),
    "backward-forward": (Direction.BACKWARD, Direction.FORWARD),
}


def propagated_graph(
    module: ModuleOp, passes: tuple[Direction, ...]
) -> tuple[ShardingGraph, TableState]:
    """Return the graph of a module after propagation, and the state of its table before.

    If tensors end up split along sub-axes, the module's annotations are moved to a finer grid
    first. Raises OperationError for invalid annotations.
    """
    graph = build_graph(module)
    start = TableState.of(graph)
    refinement = propagate(graph, passes)
    while refinement is not None:
        annotate_on_finer_grid(graph, refinement)
        graph = build_graph(module)
        start = TableState.of(graph)
        refinement = propagate(graph, passes)
    return graph, start


def propagate(graph: ShardingGraph, passes: tuple[Direction, ...]) -> Refinement | None:
    """Propagate over a graph, one grid after the other.

    A tensor belongs to the first grid that reaches it. Returns a finer grid if the graph has to be
    rebuilt on it, otherwise `None`.
    """
    grids = dict.fromkeys(grid for grid in graph.grids if grid is not None)
    for grid in grids:
        refinement = refinement_for(graph, grid)
        if refinement is not None:
            refine_nodes(graph, refinement)
        _propagate_on(graph, grid, grid if refinement is None else refinement.fine, passes)
        if refinement is not None and not coarsen_nodes(graph, refinement):
            return refinement
    return None


def _propagate_on(
    graph: ShardingGraph, grid: Grid, extents_of: Grid, passes: tuple[Direction, ...]
) -> None:
    operations = graph.operations
    if any(other not in (None, grid) for other in graph.grids):
        operations = [
            OperationNode(
                node.rule,
                tuple(_on_grid(graph, slot, grid) for slot in node.operands),
                tuple(_on_grid(graph, slot, grid) for slot in node.results),
                node.single_use,
            )
            for node in operations
        ]
    table = Propagation(
        graph.tensors, operations, known_extents(extents_of.shape), explain=remarks_wanted()
    )
    table.run(passes=passes)
    for index, tensor in enumerate(graph.tensors):
        if graph.grids[index] is None and any(tensor.axes):
            graph.grids[index] = grid


def _on_grid(graph: ShardingGraph, slot: int | None, grid: object) -> int | None:
    return slot if slot is None or graph.grids[slot] in (None, grid) else None


@dataclass(frozen=True)
class ShardingPropagationPass(ModulePass):
    """Propagate sharding annotations to all tensors of a program."""

    name = "sharding-propagation"

    traversal: Traversal | None = None
    """Restricts the directions: `forward` propagates only to users, `backward` only to producers;
    the other two do one after the other. By default both directions are propagated together.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        import_annotations(op)
        call_constants_directly(op)
        fold_known_offsets(op)
        passes = (Direction.BOTH,) if self.traversal is None else _PASSES[self.traversal]
        graph, start = propagated_graph(op, passes)
        assigner, shardings = best_shardings(graph, start, lambda: _propagate_again(graph, passes))
        if remarks_wanted():
            explain_shardings(graph)
            explain_resharding(shardings)
        AnnotationWriter(graph, shardings, assigner).write()


def _propagate_again(graph: ShardingGraph, passes: tuple[Direction, ...]) -> None:
    """Propagate over a graph on its own grids, which need no further refinement."""
    for grid in dict.fromkeys(grid for grid in graph.grids if grid is not None):
        _propagate_on(graph, grid, grid, passes)

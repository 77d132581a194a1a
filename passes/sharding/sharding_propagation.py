"""`sharding-propagation`: spreads the sharding annotations of a program over its tensors.

Reads annotations as MLIR's pass of the same name does, propagates to a fixpoint in Shardy's
order, settles conflicts by cost, and writes annotations back in MLIR's form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.diagnostics import remarks_wanted
from ...sharding.cost import known_extents
from ...sharding.factor_propagation import Direction
from ...sharding.propagation import OperationNode, Propagation
from .annotation_writer import AnnotationWriter
from .explain import explain_shardings
from .graph import ShardingGraph, build_graph
from .placement import Placer

Traversal = Literal["forward", "backward", "forward-backward", "backward-forward"]

_PASSES: dict[str, tuple[Direction, ...]] = {
    "forward": (Direction.FORWARD,),
    "backward": (Direction.BACKWARD,),
    "forward-backward": (Direction.FORWARD, Direction.BACKWARD),
    "backward-forward": (Direction.BACKWARD, Direction.FORWARD),
}


def propagate(graph: ShardingGraph, passes: tuple[Direction, ...] = (Direction.BOTH,)) -> None:
    """Propagate over a graph, one grid after the other.

    A tensor belongs to the first grid that reaches it.
    """
    grids = dict.fromkeys(grid for grid in graph.grids if grid is not None)
    for grid in grids:
        operations = graph.operations
        if len(grids) > 1:
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
            graph.tensors, operations, known_extents(grid.shape), explain=remarks_wanted()
        )
        table.run(passes=passes)
        for index, tensor in enumerate(graph.tensors):
            if graph.grids[index] is None and any(tensor.axes):
                graph.grids[index] = grid


def _on_grid(graph: ShardingGraph, slot: int | None, grid: object) -> int | None:
    return slot if slot is None or graph.grids[slot] in (None, grid) else None


@dataclass(frozen=True)
class ShardingPropagationPass(ModulePass):
    """Spread sharding annotations over the program, to a fixpoint.

    `traversal` restricts the directions: `forward` tells users only, `backward` producers only,
    and the other two do the one and then the other. Without it all tell all.
    """

    name = "sharding-propagation"

    traversal: Traversal | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        graph = build_graph(op)
        passes = (Direction.BOTH,) if self.traversal is None else _PASSES[self.traversal]
        propagate(graph, passes)
        if remarks_wanted():
            explain_shardings(graph)
        placer = Placer(graph, complete=False)
        AnnotationWriter(graph, placer.place(), placer).write()

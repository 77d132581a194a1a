"""`sharding-propagation`: propagate sharding annotations to all tensors of a program.

Annotations have the meaning that they have for MLIR's pass of the same name. They are propagated to
a fixpoint in Shardy's order, conflicts are resolved by cost, and the result is written as
annotations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import OpResult, SSAValue
from xdsl.passes import ModulePass

from ...ir.diagnostics import Note, remark, remarks_wanted
from ...ir.locations import maker_of
from ...sharding.cost import known_extents
from ...sharding.factor_propagation import Direction
from ...sharding.grid import Grid
from ...sharding.propagation import OperationNode, Origin, Propagation
from ...sharding.refinement import Refinement
from ...sharding.sharding import Sharding, is_finer_split
from ..imports.import_annotations import import_annotations
from ..inline_calls import call_constants_directly
from .annotations.access import SHARD
from .annotations.writer import AnnotationWriter
from .partition.known_offsets import fold_known_offsets
from .propagation.graph import ShardingGraph, build_graph
from .propagation.improvement import TableState, best_shardings
from .propagation.sub_axes import (
    annotate_on_finer_grid,
    coarsen_nodes,
    refine_nodes,
    refinement_for,
)
from .propagation.tensor_shardings import TensorShardings

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
            replace(
                node,
                operands=tuple(_on_grid(graph, slot, grid) for slot in node.operands),
                results=tuple(_on_grid(graph, slot, grid) for slot in node.results),
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


CATEGORY = "sharding"
"""The category of remarks about shardings."""


def explain_shardings(graph: ShardingGraph) -> None:
    """Emit one remark per tensor that has a sharding after propagation.

    A note for each axis names the operation and factors through which it was propagated, the stage
    and the strategy.
    """
    for value, node in graph.values.items():
        grid, tensor = graph.grids[node], graph.tensors[node]
        operation = maker_of(value)
        if grid is None or operation.name == SHARD:
            continue
        sharding = Sharding(grid, tensor.axes)
        notes = [note for origin in tensor.origins for note in _notes_of(graph, node, origin)]
        why = ", as annotated" if node in graph.pinned else ""
        remark(CATEGORY, operation, f"{_name_of(value)} is placed {sharding}{why}", notes)


def explain_resharding(shardings: TensorShardings) -> None:
    """Emit one remark per resharded operand, and one per operation without a factor rule."""
    for operation in shardings.replicated:
        remark(CATEGORY, operation, "has no factor rule: its operands and results are replicated")
    for sharded in shardings.operations:
        entry, chosen = sharded.entry, sharded.sharding
        operation = entry.operation
        for index, (value, wanted) in enumerate(
            zip(operation.operands, chosen.operands, strict=True)
        ):
            found = shardings.definitions.get(value)
            if found is None or (
                found.grid == sharded.grid and is_finer_split(wanted, found.dimension_axes)
            ):
                continue
            remark(
                CATEGORY,
                operation,
                f"operand {index} is resharded from {found} to {Sharding(sharded.grid, wanted)}",
                [Note(f"the chosen plan sends {chosen.bytes_sent:.0f} bytes per process")],
            )


def _name_of(value: SSAValue) -> str:
    what = "result" if isinstance(value, OpResult) else "argument"
    index = getattr(value, "index", 0)
    return f"{what} #{index}"


def _notes_of(graph: ShardingGraph, node: int, origin: Origin) -> list[Note]:
    relation = graph.operations[origin.operation]
    strategy = "aggressive" if origin.aggressive else "basic"
    stage = origin.stage.name.lower().replace("_", "-")
    notes: list[Note] = []
    for dimension, (before, after) in enumerate(zip(origin.before, origin.after, strict=True)):
        for axis in after[len(before) :]:
            factors = _factors_of(relation, node, dimension)
            notes.append(
                Note(
                    f"axis {axis} came to dimension {dimension} through {factors} of "
                    f"'{graph.origins[origin.operation].name}', stage {stage}, {strategy}",
                    graph.origins[origin.operation],
                )
            )
    return notes


def _factors_of(relation: OperationNode, node: int, dimension: int) -> str:
    """Return the factors of a tensor's dimension at a relation, as text."""
    slots = (*relation.operands, *relation.results)
    tensors = (*relation.rule.operands, *relation.rule.results)
    for slot, tensor in zip(slots, tensors, strict=True):
        if slot == node:
            names = [
                f"{index} ({relation.rule.factors[index].kind.name.lower().replace('_', '-')})"
                for index in tensor[dimension]
            ]
            return ("factor " if len(names) == 1 else "factors ") + ", ".join(names)
    return "no factor"

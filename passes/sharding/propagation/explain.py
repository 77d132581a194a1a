"""Emit remarks that say, for every value, how it is sharded and why.

`mesh-opt --remarks=sharding` prints one remark per tensor, with a note for each axis: the operation
and factors through which the axis was propagated, the stage and the strategy.
"""

from __future__ import annotations

from xdsl.ir import OpResult, SSAValue

from ....ir.diagnostics import Note, remark
from ....ir.locations import maker_of
from ....sharding.propagation import OperationNode, Origin
from ....sharding.sharding import Sharding, is_finer_split
from ..annotations.access import SHARD
from .graph import ShardingGraph
from .tensor_shardings import TensorShardings

CATEGORY = "sharding"
"""The category of remarks about shardings."""


def explain_shardings(graph: ShardingGraph) -> None:
    """Emit one remark per tensor that has a sharding after propagation."""
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

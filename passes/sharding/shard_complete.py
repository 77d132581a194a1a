"""`shard-complete`: replicate every tensor of annotated functions that has no sharding.

After this pass, partitioning meets no tensor without a sharding. This concerns unused arguments,
arguments that are returned unchanged, and other tensors that propagation did not reach.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..imports.import_annotations import import_annotations
from .annotations.writer import AnnotationWriter
from .partition.known_offsets import fold_known_offsets
from .propagation.graph import build_graph
from .propagation.tensor_shardings import ShardingAssigner


@dataclass(frozen=True)
class ShardCompletePass(ModulePass):
    """Replicate every tensor of annotated functions that has no sharding."""

    name = "shard-complete"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        import_annotations(op)
        fold_known_offsets(op)
        graph = build_graph(op)
        assigner = ShardingAssigner(graph, complete=True)
        AnnotationWriter(graph, assigner.assign(), assigner).write()

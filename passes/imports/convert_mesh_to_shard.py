"""`convert-mesh-to-shard`: replace what a program in memory has of `mesh`.

Text of `mesh` is read as `shard`, so a program that our tools have read has none. A compiler that
builds operations of `mesh` itself runs this pass first.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.mesh import translate_mesh


@dataclass(frozen=True)
class ConvertMeshToShardPass(ModulePass):
    """Write what a program in memory has of `mesh` as `shard`."""

    name = "convert-mesh-to-shard"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        translate_mesh(op)

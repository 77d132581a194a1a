"""`convert-mesh-to-shard`: convert ops of the `mesh` dialect to `shard`.

The parser reads `mesh` text as `shard`, so parsed programs contain none. A compiler that builds
`mesh` ops in memory runs this pass first.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.mesh import translate_mesh


class ConvertMeshToShardPass(ModulePass):
    """Convert the `mesh` ops of a program built in memory to `shard`."""

    name = "convert-mesh-to-shard"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        translate_mesh(op)

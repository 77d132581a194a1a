"""Remove sharding annotations: what is left is the program as it runs on one device."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ..imports.import_annotations import import_annotations

ANNOTATION, SHARDING = "shard.shard", "shard.sharding"


@dataclass(frozen=True)
class StripAnnotationsPass(ModulePass):
    """Replace annotated tensors by what was annotated."""

    name = "strip-annotations"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        import_annotations(op)
        for operation in tuple(op.walk()):
            if operation.name == ANNOTATION:
                Rewriter.replace_op(operation, [], [operation.operands[0]])
        for operation in tuple(op.walk()):
            if operation.name == SHARDING and not operation.results[0].uses:
                Rewriter.erase_op(operation)

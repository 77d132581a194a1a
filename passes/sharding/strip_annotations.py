"""`strip-annotations`: remove sharding annotations, leaving the program for a single device."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..imports.import_annotations import import_annotations
from .annotations.access import drop_annotations


@dataclass(frozen=True)
class StripAnnotationsPass(ModulePass):
    """Remove all sharding annotations."""

    name = "strip-annotations"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        import_annotations(op)
        drop_annotations(op)

"""`strip-annotations`: remove sharding annotations, leaving the program for a single device."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ..imports.import_annotations import import_annotations
from ..manager.module_pass import module_pass
from .annotations.access import drop_annotations


@module_pass("strip-annotations")
def strip_annotations(module: ModuleOp) -> None:
    """Remove all sharding annotations."""
    import_annotations(module)
    drop_annotations(module)

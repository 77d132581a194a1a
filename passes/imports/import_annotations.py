"""Convert annotations in `sdy` and `mhlo` to `shard` before a pass that reads shardings.

Passes on shardings read `shard` only. Without this, such a pass would silently ignore them.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...ir.attribute_access import BOUNDARY_GROUPS, boundary_entries
from ...ir.regions import walk
from ..sharding.annotations.access import MHLO_SHARDING, SDY_SHARDING

_SHARDINGS = frozenset({SDY_SHARDING, MHLO_SHARDING})


def import_annotations(module: ModuleOp) -> None:
    """Run the conversion of `convert-sdy-to-shard` on a module that has annotations for it.

    Raises OperationError for shardings that `shard` cannot express.
    """
    if any(map(_is_annotated, walk(module))):
        from .convert_sdy_to_shard import convert_sdy_to_shard

        convert_sdy_to_shard(module)


def _is_annotated(operation: Operation) -> bool:
    """Return whether an operation is of `sdy`, or has a sharding in the form of `sdy` or `mhlo`."""
    if operation.name.startswith("sdy.") or not _SHARDINGS.isdisjoint(operation.attributes):
        return True
    return any(
        not _SHARDINGS.isdisjoint(entry)
        for group in BOUNDARY_GROUPS
        if group in operation.properties
        for entry in boundary_entries(operation, group)
    )

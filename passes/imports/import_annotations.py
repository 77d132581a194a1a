"""Convert `sdy` annotations to `shard` before a pass that reads shardings.

Passes on shardings read `shard` only. Without this, such a pass would silently ignore the
annotations of a program in `sdy`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Attribute, Operation

from ...ir.regions import walk
from ..sharding.annotations.access import MHLO_SHARDING, SDY_SHARDING

MANUAL_COMPUTATION = "sdy.manual_computation"

_BOUNDARY = frozenset({"arg_attrs", "res_attrs"})
_SHARDINGS = frozenset({SDY_SHARDING, MHLO_SHARDING})


def import_annotations(module: ModuleOp) -> None:
    """Run the conversion of `convert-sdy-to-shard` on a module that has any `sdy`.

    Raises OperationError for shardings that `shard` cannot express.
    """
    for operation in walk(module):
        if _is_sdy(operation):
            from .convert_sdy_to_shard import convert_sdy_to_shard

            convert_sdy_to_shard(module)
            break


def _is_sdy(operation: Operation) -> bool:
    if operation.name.startswith("sdy.") or not _SHARDINGS.isdisjoint(operation.attributes):
        return True
    if _BOUNDARY.isdisjoint(operation.properties):
        return False
    return any(
        isinstance(entry, DictionaryAttr) and not _SHARDINGS.isdisjoint(entry.data)
        for which in _BOUNDARY & operation.properties.keys()
        for entry in _entries(operation.properties[which])
    )


def _entries(group: Attribute) -> Sequence[Attribute]:
    return cast("ArrayAttr[Attribute]", group).data if isinstance(group, ArrayAttr) else ()

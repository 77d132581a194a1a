"""Move encodings through elementwise operations that are in no dispatch yet.

    f(unset(x), y) -> unset(f(x, set(y)))
    set(f(x)) -> f(set(x)), where f widens, scales or broadcasts x

A tensor of another shape is encoded with the map by which it is read
(`propagation.py`).
"""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.iree_encoding.dialect import SetEncodingOp
from ...ir.host_programs import host_operations
from ..sizes.dimension_sizes import DimensionSizes
from .analysis.dispatch_regions import dispatch_region_of
from .propagation import SET, hoist_through_producer, sink_unset_encoding


class PropagateEncodingsThroughGenericOpsPass(ModulePass):
    """Move encodings through elementwise operations outside of `flow.dispatch.region`."""

    name = "iree-dispatch-creation-propagate-encodings-through-generic-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        sizes = DimensionSizes()
        operations = tuple(o for o in host_operations(op) if dispatch_region_of(o) is None)
        for operation in operations:
            if operation.parent is not None:
                sink_unset_encoding(operation, sizes)
        for operation in reversed(operations):
            if operation.name == SET and operation.parent is not None:
                hoist_through_producer(cast(SetEncodingOp, operation), sizes)

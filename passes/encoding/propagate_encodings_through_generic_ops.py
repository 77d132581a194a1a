"""Move encodings through elementwise operations that are in no dispatch yet.

    f(unset(x), y) -> unset(f(x, set(y)))
    set(f(x)) -> f(set(x)), where f widens, scales or broadcasts x

A tensor of another shape is encoded with the map by which it is read
(`propagation.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...ir.host_programs import host_operations
from ..sizes.dimension_sizes import DimensionSizes
from .analysis.dispatch_regions import dispatch_region_of
from .propagation import propagate_encodings


class PropagateEncodingsThroughGenericOpsPass(ModulePass):
    """Move encodings through elementwise operations outside of `flow.dispatch.region`."""

    name = "iree-dispatch-creation-propagate-encodings-through-generic-ops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        def operations() -> Iterable[Operation]:
            return (each for each in host_operations(op) if dispatch_region_of(each) is None)

        propagate_encodings(operations, DimensionSizes())

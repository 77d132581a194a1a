"""Move encodings through elementwise operations that are in no dispatch yet.

    f(unset(x), y) -> unset(f(x, set(y)))
    set(f(x)) -> f(set(x)), where f widens, scales or broadcasts x

A tensor of another shape is encoded with the map by which it is read
(`propagation.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...ir.host_programs import host_operations
from ..manager.module_pass import module_pass
from ..sizes.dimension_sizes import DimensionSizes
from .analysis.dispatch_regions import dispatch_region_of
from .propagation import propagate_encodings


@module_pass("iree-dispatch-creation-propagate-encodings-through-generic-ops")
def propagate_encodings_through_generic_ops(module: ModuleOp) -> None:
    """Move encodings through elementwise operations outside of `flow.dispatch.region`."""

    def operations() -> Iterable[Operation]:
        return (each for each in host_operations(module) if dispatch_region_of(each) is None)

    propagate_encodings(operations, DimensionSizes())

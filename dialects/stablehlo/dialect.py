"""The complete StableHLO dialect."""

from __future__ import annotations

from ...ir.dialect_extension import dialect_of
from . import (
    attributes,
    collectives,
    control_flow,
    elementwise,
    products,
    reductions,
    shapes,
    types,
)

Stablehlo = dialect_of(
    "stablehlo",
    attributes,
    collectives,
    control_flow,
    elementwise,
    products,
    reductions,
    shapes,
    types,
)

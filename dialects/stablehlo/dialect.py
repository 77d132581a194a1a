"""The complete StableHLO dialect."""

from __future__ import annotations

from xdsl.ir import Attribute, Dialect

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

_ATTRIBUTES = [
    kind
    for kind in (*vars(attributes).values(), *vars(types).values())
    if isinstance(kind, type)
    and issubclass(kind, Attribute)
    and getattr(kind, "name", "").startswith("stablehlo.")
]

Stablehlo = Dialect(
    "stablehlo",
    [
        elementwise.ConstantOp,
        *elementwise.UNARY_OPS,
        *elementwise.BINARY_OPS,
        *elementwise.OTHERS,
        *shapes.OPERATIONS,
        *products.OPERATIONS,
        *reductions.OPERATIONS,
        *control_flow.OPERATIONS,
        *collectives.OPERATIONS,
    ],
    _ATTRIBUTES,
)

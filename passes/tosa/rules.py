"""The table of rules that convert TOSA."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation, SSAValue

from ...ir.rules import Rules
from ..stablehlo.lowering.emitter import Emitter, shape

tosa_rule = Rules[Callable[[Emitter, Operation], SSAValue | None]]()
"""`@tosa_rule("tosa.reverse")`: `function(emitter, operation)` emits what computes the result, or
returns `None` if the operation stays."""


def only_element(e: Emitter, value: SSAValue) -> SSAValue:
    """Emit the read of the element of a tensor that has one."""
    return e.element(value, [0] * len(shape(value)))

"""The table of rules that convert extensions of linalg."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from ...ir.rules import Rules
from ..stablehlo.lowering.lowering import Lowering, Tensors

linalg_ext_rule = Rules[Callable[[Lowering, Operation], Tensors]]()
"""`@linalg_ext_rule("tm_tensor.sort")`: `function(lowering, operation) -> tensors`, one for each
result. Operands are `ins`, then `outs`; the contents of `outs` are read only if the op says so."""

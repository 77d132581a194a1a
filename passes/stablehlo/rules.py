"""How operations are converted: tables that the files of this package fill.

- `@scalar_rule("stablehlo.add")`: `function(emitter, operation, scalars) -> scalar` makes one
  element of the result from one of each operand. The operation still has its StableHLO types.
- `@tensor_rule("stablehlo.pad")`: `function(lowering, operation, tensors) -> tensors`. One name is
  no operation: `quantised` is for operations that compute with quantised numbers.
- `@call_rule("check.expect_eq")`: the same for a `custom_call` of that target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue

from ...ir.rules import Rules
from .emitter import Emitter

ScalarRule = Callable[[Emitter, Operation, Sequence[SSAValue]], SSAValue]
TensorRule = Callable[[Any, Operation, Sequence[SSAValue]], Sequence[SSAValue]]

scalar_rule = Rules[ScalarRule]()
tensor_rule = Rules[TensorRule]()
call_rule = Rules[TensorRule]()

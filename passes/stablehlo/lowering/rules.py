"""The tables of conversion rules, which the files of this package fill.

- `@scalar_rule("stablehlo.add")`: `function(emitter, operation, scalars) -> scalar` emits one
  element of the result from one of each operand. The op still has its StableHLO types.
- `@tensor_rule("stablehlo.pad")`: `function(lowering, operation, tensors) -> tensors`. The name
  `quantised` is not an op: here and in scalar rules it converts ops on quantised numbers.
- `@call_rule("check.expect_eq")`: a tensor rule for a `custom_call` of that target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue

from ....ir.rules import Rules
from .emitter import Emitter

Scalars = Sequence[SSAValue]
Tensors = Sequence[SSAValue]

ScalarRule = Callable[[Emitter, Operation, Scalars], SSAValue]
TensorRule = Callable[[Any, Operation, Tensors], Tensors]

scalar_rule = Rules[ScalarRule]()
tensor_rule = Rules[TensorRule]()
call_rule = Rules[TensorRule]()

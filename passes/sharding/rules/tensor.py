"""Rules of `tensor` operations that make or copy whole tensors."""

from __future__ import annotations

from xdsl.ir import Operation

from ....sharding.factors import FactorRule
from .builder import elementwise_rule
from .registry import rule


@rule("tensor.empty", "tensor.splat", "tensor.cast", "tensor.bitcast")
def whole(operation: Operation) -> FactorRule | None:
    """Each dimension of the result is one factor, shared with a tensor operand if there is one."""
    return elementwise_rule(operation)

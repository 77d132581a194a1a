"""Decompose batched matrix products without merging their batch dimensions.

    matmul(x: [a, b, i, k], y: [a, b, k, j])  ->  stablehlo.dot_general, batching over a and b

PyTorch merges `a` and `b`. If each is split along an axis of a mesh, as batch and heads are, no
split of the merged dimension has the same shards, and the operands would be gathered.
"""

from __future__ import annotations

from typing import Any

from .decomposition_table import composite_rule
from .inline_mlir import emit_inline_mlir
from .rules import decomposition, is_static, require, torch


@decomposition("matmul.default")
def matmul(x: Any, y: Any) -> Any:
    batching = min(x.dim(), y.dim()) > 2
    if batching and not is_static((*x.shape, *y.shape)):
        return _dot(x, y)
    if not is_static(x.shape) and x.dim() > 2 and y.dim() == 2:
        return _dot(x, y)
    # torch-mlir's conversion to StableHLO keeps batch dimensions.
    require(not batching or max(x.dim(), y.dim()) <= 3)
    return _taken_apart("matmul", x, y)


@decomposition("linear.default")
def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    if is_static(x.shape) or x.dim() <= 2:
        return _taken_apart("linear", x, weight, bias)
    product = _dot(x, weight.t())
    return product if bias is None else product + bias


def _taken_apart(name: str, *arguments: Any) -> Any:
    rule: Any = composite_rule(getattr(torch.ops.aten, name).default)
    require(rule is not None)
    return rule(*arguments)


def _dot(x: Any, y: Any) -> Any:
    """Multiply batched matrices, or a batch by one matrix; some sizes are dynamic."""
    batch = torch.broadcast_shapes(x.shape[:-2], y.shape[:-2]) if y.dim() > 2 else ()
    if batch:
        x, y = x.expand(*batch, *x.shape[-2:]), y.expand(*batch, *y.shape[-2:])
    dimensions = list(range(len(batch)))
    body = (
        f"%r = stablehlo.dot_general %a0, %a1, batching_dims = {dimensions} x {dimensions},"
        f" contracting_dims = [{x.dim() - 1}] x [{y.dim() - 2}] : ({{0}}, {{1}}) -> {{r}}"
    )
    return emit_inline_mlir(body, (*x.shape[:-1], y.shape[-1]), x.dtype, x, y)

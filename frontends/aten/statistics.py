"""Decompose variances and distances, for which PyTorch has its own kernels."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from .rules import decomposition, decomposition_with_op, require, torch

# Distances ---------------------------------------------------------------------------------------


@decomposition("_cdist_forward.default")
def cdist(x: Any, y: Any, p: float, compute_mode: int | None = None) -> Any:
    """Return the distances between all rows of two matrices."""
    apart = torch.abs(x[..., :, None, :] - y[..., None, :, :])
    return _norm(apart, p)


def _norm(x: Any, p: float) -> Any:
    """Return the p-norm of non-negative numbers along the last dimension."""
    if not x.shape[-1]:
        return x.sum(-1)
    if p == 0:
        return (x != 0).to(x.dtype).sum(-1)
    if p == 1:
        return x.sum(-1)
    if p == float("inf"):
        return x.amax(-1)
    return torch.sqrt((x * x).sum(-1)) if p == 2 else (x**p).sum(-1) ** (1 / p)


@decomposition("_pdist_forward.default")
def pdist(x: Any, p: float = 2) -> Any:
    """Return the distances between each row of a matrix and the rows after it."""
    count = x.shape[0]
    require(isinstance(count, int) and x.numel())
    rows, others = torch.triu_indices(count, count, 1)
    return _norm(torch.abs(x[rows] - x[others]), p)


# Variances ---------------------------------------------------------------------------------------


@decomposition("var.correction")
def variance(
    x: Any,
    dim: Sequence[int] | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> Any:
    """Return NaN for too few elements: torch-mlir divides by a negative number.

    It crashes on rank 0.
    """
    if not x.dim():
        few = (1 if correction is None else correction) >= 1
        none = torch.abs(x - x)
        return none / torch.zeros_like(none) if few else none
    if x.is_complex():
        parts = (
            torch.var(part, dim, correction=correction, keepdim=keepdim)
            for part in (x.real, x.imag)
        )
        return sum(parts)
    dim = list(dim) if dim else list(range(x.dim()))
    count: Any = prod(x.shape[each] for each in dim)
    require(isinstance(count, int) and count <= (1 if correction is None else correction))
    total = torch.square(x - x.mean(dim, keepdim=True)).sum(dim, keepdim=keepdim)
    return total / torch.zeros_like(total)


@decomposition("std.correction")
def deviation(x: Any, dim: Any = None, **options: Any) -> Any:
    return torch.sqrt(variance(x, dim, **options))


@decomposition_with_op("var_mean.correction", "std_mean.correction")
def with_mean(
    operation: Any, x: Any, dim: Any = None, *, keepdim: bool = False, **options: Any
) -> Any:
    aten = torch.ops.aten
    spread = aten.var if operation is aten.var_mean.correction else aten.std
    found = spread.correction(x, dim, keepdim=keepdim, **options)
    if not x.dim():
        return found, x.clone()
    return found, x.mean(dim or list(range(x.dim())), keepdim=keepdim)

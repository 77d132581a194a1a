"""Decompose variances and distances, for which PyTorch has its own kernels."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from .rules import decomposition, decomposition_with_op, in_f32, is_narrow, require, torch, widened

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


def _slope(x: Any, norm: Any, p: float) -> Any:
    """Return the derivatives of the p-norm along the last dimension; 0 where it has a corner."""
    if p == 0:
        return torch.zeros_like(x)
    norm, sign = norm[..., None], torch.sign(x)
    if p == 1:
        return sign
    if p == float("inf"):
        return torch.where(torch.abs(x) == norm, sign, 0)
    corner = (norm == 0) | (x == 0)
    ratio = torch.where(corner, 1, torch.abs(x)) / torch.where(norm == 0, 1, norm)
    return torch.where(corner, 0, sign * (ratio if p == 2 else ratio ** (p - 1)))


@decomposition("_cdist_backward.default")
def cdist_backward(grad: Any, x: Any, y: Any, p: float, found: Any) -> Any:
    if not grad.numel():
        return torch.zeros_like(x)
    apart = x[..., :, None, :] - y[..., None, :, :]
    return (grad[..., None] * _slope(apart, found, p)).sum(-2)


@decomposition("_pdist_backward.default")
def pdist_backward(grad: Any, x: Any, p: float, found: Any) -> Any:
    count = x.shape[0]
    require(isinstance(count, int))
    rows, others = torch.triu_indices(count, count, 1)
    terms = grad[:, None] * _slope(x[rows] - x[others], found, p)
    return torch.zeros_like(x).index_add(0, rows, terms).index_add(0, others, -terms)


# Variances ---------------------------------------------------------------------------------------


@decomposition("var.correction")
def variance(x: Any, dim: Any = None, **options: Any) -> Any:
    return _in_type_of(x, _variance(x, dim, **options))


@decomposition("std.correction")
def deviation(x: Any, dim: Any = None, **options: Any) -> Any:
    return _in_type_of(x, torch.sqrt(_variance(x, dim, **options)))


def _in_type_of(x: Any, numbers: Any) -> Any:
    return numbers if x.is_complex() else numbers.to(x.dtype)


def _variance(
    x: Any,
    dim: Sequence[int] | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> Any:
    """Return the variance, computed in the type of the elements: torch-mlir computes it in f64.

    It is NaN for too few elements; torch-mlir divides by a negative number, and crashes on rank 0.
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
    total = _squares_apart(widened(x), dim).sum(dim, keepdim=keepdim)
    count = torch.full_like(total, prod(x.shape[each] for each in dim))
    return total / torch.relu(count - (1 if correction is None else correction))


def _squares_apart(x: Any, dim: Sequence[int]) -> Any:
    return torch.square(x - x.mean(dim, keepdim=True))


@decomposition("native_layer_norm.default")
def layer_norm(x: Any, shape: Sequence[int], weight: Any, bias: Any, epsilon: float) -> Any:
    dim = list(range(x.dim() - len(shape), x.dim()))
    normal, mean, scale = _normal(x, dim, epsilon)
    normal = normal if weight is None else normal * weight
    normal = normal if bias is None else normal + bias
    # As PyTorch's: a linear layer becomes one product of a contiguous tensor, else one for each
    # part of a batch.
    return tuple(each.to(x.dtype).contiguous() for each in (normal, mean, scale))


@decomposition("native_group_norm.default")
def group_norm(
    x: Any, weight: Any, bias: Any, N: Any, C: Any, _: Any, group: int, epsilon: float
) -> Any:
    normal, mean, scale = _normal(x.reshape(N, group, -1), [2], epsilon)
    normal = normal.reshape(x.shape)
    channels = [C, *[1] * (x.dim() - 2)]
    normal = normal if weight is None else normal * weight.reshape(channels)
    normal = normal if bias is None else normal + bias.reshape(channels)
    means = (each.reshape(N, group) for each in (mean, scale))
    return tuple(each.to(x.dtype).contiguous() for each in (normal, *means))


def _normal(x: Any, dim: Sequence[int], epsilon: float) -> tuple[Any, Any, Any]:
    """Return numbers of mean 0 and variance 1, the mean, and the factor."""
    wide = widened(x)
    mean = wide.mean(dim, keepdim=True)
    scale = torch.rsqrt(_squares_apart(wide, dim).mean(dim, keepdim=True) + epsilon)
    return (wide - mean) * scale, mean, scale


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


@decomposition("rms_norm.default")
def rms_norm(x: Any, shape: Sequence[Any], weight: Any = None, eps: float | None = None) -> Any:
    """Compute in f32, where the squares of narrow floats do not overflow."""
    require(is_narrow(x) and (weight is None or weight.dtype == x.dtype))
    return in_f32(torch.ops.aten.rms_norm.default, x, shape, weight, eps)

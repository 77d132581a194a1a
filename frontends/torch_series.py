"""Decompose functions to Chebyshev series, and sums for which PyTorch has its own kernels.

    i0e(x)  ->  c0 / 2 + c1 T1(x / 4 - 1) + c2 T2(x / 4 - 1) + ...    for |x| <= 8

Beyond 8 the series is of `sqrt(x) i0e(x)` in `16 / x - 1`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy import special

from .torch_rules import decomposition, of_each, only_if


@cache
def _coefficients(function: Callable[[Any], Any], degree: int, far: bool) -> list[float]:
    """Return the series of a function on [0, 8], or (`far`) of its product with sqrt(x) beyond."""

    def near_by(t: Any) -> Any:
        return function(4 * (t + 1))

    def far_off(t: Any) -> Any:
        x = 16 / (t + 1)
        return function(x) * np.sqrt(x)

    return [float(each) for each in chebyshev.chebinterpolate(far_off if far else near_by, degree)]


def series(torch: Any, coefficients: Sequence[float], t: Any) -> Any:
    """Evaluate a Chebyshev series at `t` (Clenshaw's algorithm)."""
    last, before = torch.zeros_like(t), torch.zeros_like(t)
    for each in reversed(coefficients[1:]):
        last, before = 2 * t * last - before + each, last
    return t * last - before + coefficients[0]


def _scaled_bessel(torch: Any, x: Any, function: Callable[[Any], Any]) -> Any:
    x = x if x.dtype.is_floating_point else x.to(torch.get_default_dtype())
    wide = x if x.dtype == torch.float64 else x.to(torch.float32)
    degrees = (36, 30) if wide.dtype == torch.float64 else (22, 12)
    size = torch.abs(wide)
    near_by = series(torch, _coefficients(function, degrees[0], False), size / 4 - 1)
    beyond = torch.clamp(size, min=8)
    far_off = series(torch, _coefficients(function, degrees[1], True), 16 / beyond - 1)
    found = torch.where(size <= 8, near_by, far_off / torch.sqrt(beyond))
    return torch.where(torch.isnan(wide), wide, found)


@decomposition("special_i0e.default")
def i0e(torch: Any, x: Any) -> Any:
    return _scaled_bessel(torch, x, special.i0e).to(real_type(torch, x))


@decomposition("i0.default", "special_i0.default")
def i0(torch: Any, x: Any) -> Any:
    return (_scaled_bessel(torch, x, special.i0e) * torch.exp(torch.abs(x))).to(real_type(torch, x))


def real_type(torch: Any, x: Any) -> Any:
    """Return the result type of functions of real numbers."""
    return x.dtype if x.dtype.is_floating_point else torch.get_default_dtype()


# Distances ---------------------------------------------------------------------------------------


@decomposition("_cdist_forward.default")
def cdist(torch: Any, x: Any, y: Any, p: float, compute_mode: int | None = None) -> Any:
    """Return the distances between all rows of two matrices."""
    del compute_mode
    apart = torch.abs(x[..., :, None, :] - y[..., None, :, :])
    return _norm(torch, apart, p)


def _norm(torch: Any, x: Any, p: float) -> Any:
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
def pdist(torch: Any, x: Any, p: float = 2) -> Any:
    """Return the distances between each row of a matrix and the rows after it."""
    count = x.shape[0]
    only_if(isinstance(count, int) and x.numel())
    rows, others = torch.triu_indices(count, count, 1)
    return _norm(torch, torch.abs(x[rows] - x[others]), p)


# Variances ---------------------------------------------------------------------------------------


@decomposition("var.correction")
def variance(
    torch: Any,
    x: Any,
    dim: Sequence[int] | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> Any:
    """Return NaN for too few elements: torch-mlir divides by a negative number."""
    if x.is_complex():
        parts = (
            torch.var(part, dim, correction=correction, keepdim=keepdim)
            for part in (x.real, x.imag)
        )
        return sum(parts)
    dim = list(dim) if dim else list(range(x.dim()))
    count: Any = prod(x.shape[each] for each in dim)
    only_if(isinstance(count, int) and count <= (1 if correction is None else correction))
    total = torch.square(x - x.mean(dim, keepdim=True)).sum(dim, keepdim=keepdim)
    return total / torch.zeros_like(total)


@decomposition("std.correction")
def deviation(torch: Any, x: Any, dim: Any = None, **options: Any) -> Any:
    return torch.sqrt(variance(torch, x, dim, **options))


@of_each("var_mean.correction", "std_mean.correction")
def with_mean(
    torch: Any, operation: Any, x: Any, dim: Any = None, *, keepdim: bool = False, **options: Any
) -> Any:
    aten = torch.ops.aten
    spread = aten.var if operation is aten.var_mean.correction else aten.std
    found = spread.correction(x, dim, keepdim=keepdim, **options)
    return found, x.mean(dim or list(range(x.dim())), keepdim=keepdim)


# Exponentials ------------------------------------------------------------------------------------

_SQUARINGS, _TERMS = 16, 12


@decomposition("linalg_matrix_exp.default")
def matrix_exp(torch: Any, x: Any) -> Any:
    """Sum the series of the matrix divided by a power of 2, then square repeatedly."""
    only_if(x.dtype.is_floating_point and x.numel())
    size = torch.abs(x).sum(-1).amax(-1)
    squarings = torch.clamp(torch.ceil(torch.log2(size)) + 1, 0, _SQUARINGS)[..., None, None]
    small = x * torch.exp2(-squarings)
    one = torch.eye(x.shape[-1], dtype=x.dtype).expand(x.shape)
    found = one
    for term in range(_TERMS if x.dtype == torch.float32 else 20, 0, -1):
        found = one + small @ found / term
    for step in range(_SQUARINGS):
        found = torch.where(step < squarings, found @ found, found)
    return found

"""Decompose running reductions to steps that each double the number of reduced elements."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from .complex_numbers import as_complex, by_parts
from .rules import decomposition, require, torch

Combine = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]
"""Reduces the tensors of a scan so far with those of the elements before; associative."""


def _inclusive_scan(combine: Combine, values: Sequence[Any], dim: int) -> Sequence[Any]:
    """Return the running reduction of tensors of one shape along a dimension of static size."""
    if not values[0].dim():
        return values
    size = values[0].shape[dim]
    require(isinstance(size, int))
    step = 1
    while step < size:
        before = [each.narrow(dim, 0, size - step) for each in values]
        after = [each.narrow(dim, step, size - step) for each in values]
        values = [
            torch.cat((each.narrow(dim, 0, step), new), dim)
            for each, new in zip(values, combine(before, after), strict=True)
        ]
        step *= 2
    return values


def _running_extremum(x: Any, dim: int, beats: Callable[[Any, Any], Any]) -> Any:
    if x.dim() == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    require(isinstance(x.shape[dim], int))

    def combine(before: Sequence[Any], after: Sequence[Any]) -> Sequence[Any]:
        # The last of equal elements counts, and so does the last NaN.
        stays = beats(after[0], before[0]) | torch.isnan(after[0])
        stays = stays & (~torch.isnan(before[0]) | torch.isnan(after[0]))
        pairs = zip(before, after, strict=True)
        return [torch.where(stays, new, old) for old, new in pairs]

    shape = [-1 if axis == dim % x.dim() else 1 for axis in range(x.dim())]
    places = torch.arange(x.shape[dim]).reshape(shape).expand(x.shape)
    return tuple(_inclusive_scan(combine, (x, places), dim))


@decomposition("cummax.default")
def cummax(x: Any, dim: int) -> Any:
    return _running_extremum(x, dim, operator.ge)


@decomposition("cummin.default")
def cummin(x: Any, dim: int) -> Any:
    return _running_extremum(x, dim, operator.le)


@decomposition("logcumsumexp.default")
def logcumsumexp(x: Any, dim: int) -> Any:
    """Add logarithms; plain sums of exponentials would overflow."""
    if x.dim() == 0:
        return x.clone()
    require(not x.is_complex())

    def combine(before: Sequence[Any], after: Sequence[Any]) -> Sequence[Any]:
        most = torch.maximum(before[0], after[0])
        least = torch.minimum(before[0], after[0])
        # The difference of equal infinities is NaN.
        same = torch.isinf(most) & (most == least)
        return [torch.where(same, most, most + torch.log1p(torch.exp(least - most)))]

    (found,) = _inclusive_scan(combine, (x,), dim)
    return found


@decomposition("cumprod.default")
def cumprod(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """Multiply bytes in i32, and complex numbers: torch-mlir crashes."""
    kind = x.dtype if dtype is None else dtype
    if kind == torch.uint8:
        return torch.cumprod(x, dim, dtype=torch.int32).to(kind)
    require(kind.is_complex)

    def combine(before: Sequence[Any], after: Sequence[Any]) -> Sequence[Any]:
        return [before[0] * after[0]]

    (found,) = _inclusive_scan(combine, (as_complex(x, kind),), dim)
    return found


@decomposition("cumsum.default")
def cumsum(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """Sum bytes in i32, and complex numbers by parts: torch-mlir crashes."""
    operation = torch.ops.aten.cumsum.default
    if dtype == torch.uint8:
        return operation(x, dim, dtype=torch.int32).to(dtype)
    return by_parts(operation, x, dim, dtype=dtype)

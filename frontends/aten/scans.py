"""Decompose running reductions to windows, or to steps that each double the reduced elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .complex_numbers import as_complex, by_parts
from .inline_mlir import emit_elementwise
from .rules import decomposition, is_static, require, torch

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


_RUNNING = """
%start = stablehlo.constant dense<{start}> : {{0:[]}}
%r = "stablehlo.reduce_window"(%a0, %start) <{{{{
    window_dimensions = array<i64: {sizes}>, padding = dense<{padding}> : tensor<{rank}x2xi64>
}}}}> ({{{{
  ^bb0(%x: {{0:[]}}, %y: {{0:[]}}):
    %s = stablehlo.{name} %x, %y : {{0:[]}}
    stablehlo.return %s : {{0:[]}}
}}}}) : ({{0}}, {{0:[]}}) -> {{r}}
"""


def _least(dtype: Any) -> str:
    """Return the text of the least number of a type, the identity of maxima."""
    if not dtype.is_floating_point:
        return str(torch.iinfo(dtype).min)
    return f"0x{int(_most(dtype), 16) + (1 << torch.finfo(dtype).bits - 1):X}"


def _most(dtype: Any) -> str:
    if not dtype.is_floating_point:
        return str(torch.iinfo(dtype).max)
    # All bits of the exponent of infinity are set, and none of its fraction.
    found = torch.finfo(dtype)
    return f"0x{(1 << found.bits - 1) - round(1 / found.eps):0{found.bits // 4}X}"


def _running(name: str, x: Any, dim: int) -> Any:
    """Return the running maximum or minimum of a tensor; NaN propagates."""
    start = _least(x.dtype) if name == "maximum" else _most(x.dtype)
    sizes, padding = [1] * x.dim(), [[0, 0] for _ in range(x.dim())]
    sizes[dim], padding[dim][0] = x.shape[dim], x.shape[dim] - 1
    listed = ", ".join(map(str, sizes))
    body = _RUNNING.format(start=start, sizes=listed, padding=padding, rank=x.dim(), name=name)
    return emit_elementwise(body, x)


def _running_extremum(name: str, x: Any, dim: int) -> Any:
    """Find where elements equal the running extremum: the last of these counts, as the last NaN."""
    if x.dim() == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    dim %= x.dim()
    require(is_static(x.shape) and x.numel())
    numbers = x.to(torch.uint8) if x.dtype == torch.bool else x
    is_one = (numbers == _running(name, numbers, dim)) | torch.isnan(numbers)
    shape = [-1 if axis == dim else 1 for axis in range(x.dim())]
    places = torch.arange(x.shape[dim], dtype=torch.int32).reshape(shape)
    found = _running("maximum", torch.where(is_one, places, 0), dim).to(torch.int64)
    # Zeros keep their signs.
    return x.gather(dim, found), found


@decomposition("cummax.default")
def cummax(x: Any, dim: int) -> Any:
    return _running_extremum("maximum", x, dim)


@decomposition("cummin.default")
def cummin(x: Any, dim: int) -> Any:
    return _running_extremum("minimum", x, dim)


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

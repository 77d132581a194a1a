"""Decompose operations that order elements: sorts, medians, histograms and searches.

    searchsorted(s, x)  ->  (~(s[..., None, :] >= x[..., None])).sum(-1)

Many boundaries are looked up instead, one for each binary digit of the count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .inline_mlir import emit_results
from .reductions import as_integers
from .rules import decomposition, torch

_SORT = """
%results = "stablehlo.sort"(%a0, %a1) <{{{{dimension = {dim} : i64, is_stable = true}}}}> ({{{{
^bb0(%x: {kind}, %y: {kind}, %i: tensor<i64>, %j: tensor<i64>):
  {keys}
  %first = stablehlo.compare {order}, %kx, %ky, TOTALORDER : ({kind}, {kind}) -> tensor<i1>
  stablehlo.return %first : tensor<i1>
}}}}) : ({{0}}, {{1}}) -> ({{0}}, {{1}})
"""

_KEY = """
  %z{x} = stablehlo.constant dense<0.0> : {kind}
  %n{x} = stablehlo.constant dense<{nan}> : {kind}
  %zero{x} = stablehlo.compare EQ, %{x}, %z{x}, FLOAT : ({kind}, {kind}) -> tensor<i1>
  %s{x} = stablehlo.select %zero{x}, %z{x}, %{x} : tensor<i1>, {kind}
  %none{x} = stablehlo.compare NE, %{x}, %{x}, FLOAT : ({kind}, {kind}) -> tensor<i1>
  %k{x} = stablehlo.select %none{x}, %n{x}, %s{x} : tensor<i1>, {kind}
"""

_NAN = {
    "float16": ("f16", "0x7E00"),
    "bfloat16": ("bf16", "0x7FC0"),
    "float32": ("f32", "0x7FC00000"),
    "float64": ("f64", "0x7FF8000000000000"),
}
"""For each float type of PyTorch: its MLIR type, and a NaN that orders above infinity."""


@decomposition("sort.default")
def sort(x: Any, dim: int = -1, descending: bool = False) -> Any:
    """Sort NaN as the largest number; torch-mlir's comparison does not order it."""
    if not x.dim():
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    if not x.dtype.is_floating_point:
        return as_integers(torch.ops.aten.sort.default, x, dim, descending)
    dim %= x.dim()
    element, nan = _NAN[str(x.dtype).removeprefix("torch.")]
    kind = f"tensor<{element}>"
    keys = "".join(_KEY.format(x=each, kind=kind, nan=nan) for each in "xy")
    shape = [-1 if axis == dim else 1 for axis in range(x.dim())]
    places = torch.arange(x.shape[dim]).view(shape).expand(x.shape)
    order = "GT" if descending else "LT"
    body = _SORT.format(dim=dim, kind=kind, keys=keys, order=order)
    return tuple(emit_results(body, [(x.shape, x.dtype), (x.shape, torch.int64)], x, places))


@decomposition("sort.stable")
def stable_sort(x: Any, *, stable: Any = None, dim: int = -1, descending: bool = False) -> Any:
    # All our sorts are stable.
    return torch.ops.aten.sort.default(x, dim, descending)


@decomposition("kthvalue.default")
def kthvalue(x: Any, k: Any, dim: int = -1, keepdim: bool = False) -> Any:
    found = torch.ops.aten.sort.default(x, dim, False)
    if x.dim():
        found = tuple(each.narrow(dim, k - 1, 1) for each in found)
    return found if keepdim or not x.dim() else tuple(each.squeeze(dim) for each in found)


def _middle(x: Any, dim: int, keepdim: bool, ignores_nan: bool) -> Any:
    if x.dim() == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    # The sort puts NaN last.
    values, places = torch.ops.aten.sort.default(x, dim, False)
    numbers = (~torch.isnan(x)).sum(dim, keepdim=True)
    size = x.shape[dim]
    last = size - 1 + torch.zeros_like(numbers)
    half = torch.clamp((numbers - 1) // 2, min=0)
    at = half if ignores_nan else torch.where(numbers < size, numbers, last // 2)
    found = values.gather(dim, at), places.gather(dim, at)
    return found if keepdim else tuple(each.squeeze(dim) for each in found)


@decomposition("median.dim")
def median_dim(x: Any, dim: int, keepdim: bool = False) -> Any:
    return _middle(x, dim, keepdim, False)


@decomposition("nanmedian.dim")
def nanmedian_dim(x: Any, dim: int, keepdim: bool = False) -> Any:
    return _middle(x, dim, keepdim, True)


@decomposition("median.default")
def median(x: Any) -> Any:
    return _middle(x.reshape(-1), 0, False, False)[0]


@decomposition("nanmedian.default")
def nanmedian(x: Any) -> Any:
    return _middle(x.reshape(-1), 0, False, True)[0]


@decomposition("histc.default")
def histc(x: Any, bins: int = 100, least: float = 0, most: float = 0) -> Any:
    x = x.reshape(-1)
    low: Any = least
    high: Any = most
    if least == most:
        low, high = x.amin(), x.amax()
        apart = (low == high).to(x.dtype)
        low, high = low - apart, high + apart
    places = torch.clamp(torch.floor((x - low) * bins / (high - low)), 0, bins - 1)
    inside = (x >= low) & (x <= high)
    return ((places[:, None] == torch.arange(bins)) & inside[:, None]).to(x.dtype).sum(0)


def _edges(x: Any, bins: int, ends: Any) -> Any:
    """Return the edges of equal bins between two ends; the least and largest element for `None`."""
    if ends is None and x.numel() == 0:
        ends = (0, 1)
    if ends is None:
        low, high = x.amin(), x.amax()
    else:
        low, high = (torch.full((), each, dtype=x.dtype) for each in ends)
    apart = (low == high).to(x.dtype) / 2
    low, high = low - apart, high + apart
    # As `linspace`, whose ends are exact.
    numbers, step = torch.arange(bins + 1, dtype=x.dtype), (high - low) / bins
    return torch.where(
        numbers < (bins + 1) // 2, low + step * numbers, high - step * (bins - numbers)
    )


def _counted(points: Any, edges: Sequence[Any], weight: Any, density: bool) -> Any:
    """Count the rows of a matrix in a grid of bins, with the edges along each column."""
    rows, count = points.shape[0], 1
    places = torch.zeros(rows, dtype=torch.int64)
    inside = torch.ones(rows, dtype=torch.bool)
    for x, along in zip(points.unbind(1), edges, strict=True):
        bins = along.shape[0] - 1
        # The last bin includes its upper edge.
        place = torch.clamp(torch.searchsorted(along, x, right=True) - 1, max=bins - 1)
        places, count = places * bins + place, count * bins
        inside = inside & (x >= along[0]) & (x <= along[-1])
    hits = ((places[:, None] == torch.arange(count)) & inside[:, None]).to(points.dtype)
    found = (hits if weight is None else weight.reshape(-1, 1) * hits).sum(0)
    found = found.reshape([along.shape[0] - 1 for along in edges])
    if density:
        found = found / found.sum()
        for dimension, along in enumerate(edges):
            shape = [-1 if d == dimension else 1 for d in range(len(edges))]
            found = found / along.diff().reshape(shape)
    return found


@decomposition("histogram.bin_ct")
def histogram(
    x: Any, bins: int = 100, *, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    edges = _edges(x, bins, range)
    return _counted(x.reshape(-1, 1), [edges], weight, density), edges


@decomposition("histogram.bins_tensor")
def histogram_of_edges(x: Any, bins: Any, *, weight: Any = None, density: bool = False) -> Any:
    return _counted(x.reshape(-1, 1), [bins], weight, density), bins.clone()


@decomposition("_histogramdd_bin_edges.default")
def edges_of_columns(
    x: Any, bins: Sequence[int], *, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    ends = [None] * len(bins) if range is None else list(zip(range[::2], range[1::2], strict=True))
    columns = x.reshape(-1, len(bins)).unbind(1)
    return [_edges(*each) for each in zip(columns, bins, ends, strict=True)]


@decomposition("_histogramdd_from_bin_cts.default")
def histogram_of_columns(
    x: Any, bins: Sequence[int], *, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    edges = edges_of_columns(x, bins, range=range)
    return _counted(x.reshape(-1, len(bins)), edges, weight, density)


@decomposition("_histogramdd_from_bin_tensors.default")
def histogram_of_column_edges(
    x: Any, bins: Sequence[Any], *, weight: Any = None, density: bool = False
) -> Any:
    return _counted(x.reshape(-1, len(bins)), bins, weight, density)


@decomposition("multilabel_margin_loss_forward.default")
def multilabel(x: Any, target: Any, reduction: int) -> Any:
    if x.dim() == 0:
        loss, chosen = multilabel(x[None], target[None], reduction)
        return loss, chosen[0]
    # PyTorch's own rule wrongly counts targets after the first negative one.
    classes = x.shape[-1]
    numbers = torch.arange(classes)
    valid = numbers < torch.where(target < 0, numbers, classes).amin(-1, keepdim=True)
    chosen = (numbers == torch.where(valid, target, -1)[..., None]).any(-2)
    hit = x.gather(-1, torch.where(valid, target, 0))
    margins = torch.clamp(1 - hit[..., None] + x[..., None, :], min=0)
    margins = torch.where(valid[..., None] & ~chosen[..., None, :], margins, 0.0)
    loss = margins.sum((-1, -2)) / classes
    if reduction:
        loss = loss.mean() if reduction == 1 else loss.sum()
    return loss, chosen.to(x.dtype)


@decomposition("searchsorted.Tensor", "searchsorted.Scalar")
def searchsorted(
    boundaries: Any,
    x: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    """Count the boundaries before each element; with `right`, equal ones count too."""
    right = right or side == "right"
    if sorter is not None:
        boundaries = boundaries.gather(-1, sorter)
    dtype = torch.int32 if out_int32 else torch.int64
    one, count = isinstance(x, torch.Tensor) and x.dim() > 0, boundaries.shape[-1]

    def before(boundary: Any, element: Any) -> Any:
        # The negated comparison puts all boundaries before NaN.
        return ~(boundary > element) if right else ~(boundary >= element)

    if one and isinstance(count, int) and count > MOST_COUNTED:
        return _bisected(boundaries, x, before).to(dtype)
    elements = x[..., None] if one else x
    if one and boundaries.dim() > 1:
        boundaries = boundaries[..., None, :]
    return before(boundaries, elements).sum(-1).to(dtype)


MOST_COUNTED = 128
"""The most boundaries that are compared with each element; of more, few are looked up."""


def _bisected(boundaries: Any, x: Any, before: Callable[[Any, Any], Any]) -> Any:
    """Count the boundaries before each element, a binary digit of the count at a time."""
    count = boundaries.shape[-1]
    found = torch.zeros_like(x, dtype=torch.int64)
    for digit in reversed(range(count.bit_length())):
        more = found + (1 << digit)
        last = torch.clamp(more, max=count) - 1
        boundary = boundaries[last] if boundaries.dim() == 1 else boundaries.gather(-1, last)
        found = torch.where(before(boundary, x) & (more <= count), more, found)
    return found


@decomposition("bucketize.Tensor", "bucketize.Scalar")
def bucketize(x: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    return searchsorted(boundaries, x, out_int32=out_int32, right=right)


@decomposition("mode.default")
def mode(x: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """Return the least of the most frequent values, and its last position."""
    if x.dim() == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    if x.dtype == torch.bool:
        values, places = mode(x.to(torch.int8), dim, keepdim)
        return values.to(torch.bool), places
    x = x.movedim(dim, -1)
    ordered, places = torch.ops.aten.sort.default(x, -1, False)
    counts = (ordered[..., None] == ordered[..., None, :]).sum(-1)
    # Values are sorted: the first of the largest counts belongs to the least value.
    first = counts.argmax(-1, keepdim=True)
    at = first + torch.clamp(counts.gather(-1, first) - 1, min=0)
    found = ordered.gather(-1, at), places.gather(-1, at)
    if keepdim:
        return tuple(each.movedim(-1, dim) for each in found)
    return tuple(each.squeeze(-1) for each in found)

"""Decompose operations that select elements by value, so that result sizes depend on data."""

from __future__ import annotations

from typing import Any

from .rules import decomposition, require, torch


def _starts(x: Any) -> Any:
    """Return whether each element of a vector (row of a matrix) differs from the one before it."""
    others = x[1:] != x[:-1]
    others = others.any(1) if x.dim() > 1 else others
    return torch.cat((torch.ones(1, dtype=torch.bool), others))


def _runs(x: Any, starts: Any) -> tuple[Any, Any, Any]:
    """Return the first elements of runs, the run index of each element, and the run lengths."""
    places = torch.nonzero(starts).squeeze(1)
    ends = torch.cat((places[1:], torch.full_like(places[:1], x.shape[0])))
    return x.index_select(0, places), torch.cumsum(starts.to(torch.int64), 0) - 1, ends - places


@decomposition("_unique2.default")
def unique(
    x: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Any:
    """Return empty tensors for results that are not requested."""
    flat = x.reshape(-1)
    require(x.numel())
    kind = torch.uint8 if x.dtype == torch.bool else x.dtype
    ordered, places = torch.ops.aten.sort.default(flat.to(kind), 0, False)
    values, numbers, counts = _runs(ordered, _starts(ordered))
    none = places[:0]
    inverse = torch.zeros_like(places).scatter(0, places, numbers).reshape(x.shape)
    return (
        values.to(x.dtype),
        inverse if return_inverse else none,
        counts if return_counts else none,
    )


def _rows(x: Any, dim: int) -> Any:
    """Flatten each slice along a dimension to a row."""
    moved = x.movedim(dim, 0).reshape(x.shape[dim], -1)
    return moved.to(torch.uint8) if x.dtype == torch.bool else moved


def _chosen(x: Any, dim: int, starts: Any, order: Any, inverse: Any) -> Any:
    """Return the first slice of each run, the run index of each slice, and the run lengths."""
    places, numbers, counts = _runs(order, starts)
    numbers = torch.zeros_like(order).scatter(0, order, numbers) if inverse else numbers[:0]
    return x.index_select(dim, places), numbers, counts


@decomposition("unique_dim.default")
def unique_dim(
    x: Any, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Any:
    """Order rows lexicographically, by the first elements in which they differ."""
    require(x.numel())
    rows = _rows(x, dim)
    differ = (rows[:, None] != rows).to(torch.int32)
    # Equal rows differ nowhere: argmax gives 0, and they compare equal at the first element.
    own = rows.gather(1, differ.argmax(-1))
    before = own > own.T
    numbers = torch.arange(x.shape[dim])
    before = before | (~differ.any(-1) & (numbers < numbers[:, None]))
    order = torch.zeros_like(numbers).scatter(0, before.sum(1), numbers)
    starts = _starts(rows.index_select(0, order))
    values, inverse, counts = _chosen(x, dim, starts, order, return_inverse)
    return values, inverse, counts if return_counts else counts[:0]


@decomposition("unique_consecutive.default")
def unique_consecutive(
    x: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    require(x.numel())
    if dim is not None:
        starts, numbers = _starts(_rows(x, dim)), torch.arange(x.shape[dim])
        values, inverse, counts = _chosen(x, dim, starts, numbers, return_inverse)
        return values, inverse, counts if return_counts else counts[:0]
    flat = x.reshape(-1)
    values, numbers, counts = _runs(flat, _starts(flat))
    none = numbers[:0]
    return (
        values,
        numbers.reshape(x.shape) if return_inverse else none,
        counts if return_counts else none,
    )


@decomposition("nonzero.default")
def nonzero(x: Any) -> Any:
    """Handle rank 0, whose positions have no coordinates: torch-mlir crashes on it.

    It also has no complex numbers here.
    """
    if x.is_complex():
        return torch.nonzero(x.to(torch.bool))
    require(not x.dim())
    return torch.nonzero(x.reshape(1))[:, :0]


@decomposition("nonzero_static.default")
def nonzero_static(x: Any, *, size: int, fill_value: int = -1) -> Any:
    """Return the first `size` positions of non-zero elements, padded with `fill_value` rows."""
    if not (x.dim() and x.numel()):
        # The one element of rank 0 has a position without coordinates.
        return torch.full((size, x.dim()), fill_value, dtype=torch.int64)
    hits = (x != 0).reshape(-1)
    # Indices of the non-zero elements first, then those of the others.
    _, order = torch.ops.aten.sort.stable(hits.to(torch.int32), stable=True, dim=0, descending=True)
    more = max(size - hits.shape[0], 0)
    places = torch.nn.functional.pad(order[:size], (0, more))
    columns: list[Any] = []
    for extent in reversed(x.shape):
        columns.append(places % extent)
        places = torch.div(places, extent, rounding_mode="floor")
    found = torch.stack(columns[::-1], 1)
    return torch.where((torch.arange(size) < hits.sum())[:, None], found, fill_value)


@decomposition("repeat_interleave.Tensor")
def repeat_interleave(repeats: Any, *, output_size: Any = None) -> Any:
    """Repeat each index as often as `repeats` says."""
    ends = torch.cumsum(repeats, 0)
    if output_size is None:
        output_size = repeats.sum().item()
        torch._check(output_size >= 0)
    return torch.searchsorted(ends, torch.arange(output_size), right=True).to(repeats.dtype)


@decomposition("bincount.default")
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """Add weights, which torch-mlir's conversion ignores, and count other integers than i64."""
    require(weights is not None or x.dtype != torch.int64)
    counts = torch.ops.aten.bincount.default(x.to(torch.int64), None, minlength)
    if weights is None:
        return counts
    kind = torch.float32 if weights.dtype == torch.float32 else torch.float64
    zeros = torch.zeros_like(counts, dtype=kind)
    return zeros.index_add(0, x.to(torch.int64), weights.to(kind))

"""Decompose operations that search for positions in a tensor, or write to positions.

    searchsorted(s, x)  ->  (~(s[..., None, :] >= x[..., None])).sum(-1)

A binary search would be a loop for each element. A sum is a contraction, which can be tiled and
split.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from .torch_rules import decomposition, only_if


@decomposition("slice_scatter.default")
def slice_scatter(
    torch: Any,
    x: Any,
    part: Any,
    dim: int = 0,
    start: Any = None,
    end: Any = None,
    step: int = 1,
) -> Any:
    """Clamp the bounds to the tensor: the end of `x[1:] = y` is the largest integer.

    torch-mlir's conversion to StableHLO lists all indices up to the end before it looks at the
    size.
    """
    size = x.shape[dim]
    only_if(all(isinstance(each, int) for each in (size, start or 0, end or 0)))
    first, last, _ = slice(start, end).indices(size)
    last = max(first, last)
    only_if((start, end) != (first, last))
    return torch.ops.aten.slice_scatter.default(x, part, dim, first, last, step)


@decomposition("diagonal_scatter.default")
def diagonal_scatter(
    torch: Any, x: Any, part: Any, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Any:
    rows, columns = torch.arange(x.shape[dim1]), torch.arange(x.shape[dim2])
    on_diagonal = columns == rows[:, None] + offset
    if not part.numel():
        return x.clone()
    # Element (i, i + offset) is number i of the part, or i + offset below the main diagonal.
    numbers = torch.clamp(rows + min(offset, 0), 0, part.shape[-1] - 1)
    spread = part.index_select(-1, numbers)[..., None]
    moved = x.movedim((dim1, dim2), (-2, -1))
    return torch.where(on_diagonal, spread, moved).movedim((-2, -1), (dim1, dim2))


@decomposition("block_diag.default")
def block_diag(torch: Any, tensors: Sequence[Any]) -> Any:
    blocks = [torch.atleast_2d(each) for each in tensors]
    dtype = blocks[0].dtype
    for each in blocks:
        dtype = torch.promote_types(dtype, each.dtype)
    width, before = sum(each.shape[1] for each in blocks), 0
    rows: list[Any] = []
    for each in blocks:
        pads = (before, width - before - each.shape[1])
        rows.append(torch.nn.functional.pad(each.to(dtype), pads))
        before += each.shape[1]
    return torch.cat(rows)


# Sorted numbers ----------------------------------------------------------------------------------


@decomposition("searchsorted.Tensor", "searchsorted.Scalar")
def searchsorted(
    torch: Any,
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
    one = isinstance(x, torch.Tensor) and x.dim() > 0
    elements = x[..., None] if one else x
    if one and boundaries.dim() > 1:
        boundaries = boundaries[..., None, :]
    # The negated comparison puts all boundaries before NaN.
    before = ~(boundaries > elements) if right else ~(boundaries >= elements)
    return before.sum(-1).to(dtype)


@decomposition("bucketize.Tensor", "bucketize.Scalar")
def bucketize(
    torch: Any, x: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False
) -> Any:
    return searchsorted(torch, boundaries, x, out_int32=out_int32, right=right)


@decomposition("mode.default")
def mode(torch: Any, x: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """Return the least of the most frequent values, and its last position."""
    if x.dim() == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    if x.dtype == torch.bool:
        values, places = mode(torch, x.to(torch.int8), dim, keepdim)
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


# Pools -------------------------------------------------------------------------------------------


def _windows(torch: Any, size: int, count: int) -> tuple[Any, Any]:
    """Return the positions in each of `count` windows over `size` elements, and which are valid.

    Both have the shape `[count, widest]`. Windows overlap if `size` is not a multiple of `count`.
    """
    widest = max(-(-(at + 1) * size // count) - at * size // count for at in range(count))
    numbers = torch.arange(count)[:, None]
    places = numbers * size // count + torch.arange(widest)
    ends = ((numbers + 1) * size + count - 1) // count
    within = places < ends
    return torch.where(within, places, 0), within


def _adaptive(name: str, rank: int) -> None:
    @decomposition(f"{name}.default")
    def pool(torch: Any, x: Any, counts: Sequence[int]) -> Any:  # pyright: ignore[reportUnusedFunction]
        sizes = x.shape[-rank:]
        known = all(isinstance(each, int) for each in (*sizes, *counts))
        only_if(known and x.dtype.is_floating_point and 0 not in (*sizes, *counts))
        counts = list(counts) * (rank // len(counts))
        # Build [..., count, widest, count, widest, ...], then move `widest` to the end.
        inside, flat = torch.ones((), dtype=torch.bool), torch.zeros((), dtype=torch.int64)
        lead = x.dim() - rank
        found = x
        for each, (size, count) in enumerate(zip(sizes, counts, strict=True)):
            places, within = _windows(torch, size, count)
            axis = lead + 2 * each
            chosen = found.index_select(axis, places.reshape(-1))
            found = chosen.reshape(*found.shape[:axis], *places.shape, *found.shape[axis + 1 :])
            shape = [*places.shape, *[1] * (2 * (rank - 1 - each))]
            inside = inside & within.reshape(shape)
            flat = flat + places.reshape(shape) * prod(sizes[each + 1 :])
        order = [
            *range(lead),
            *range(lead, lead + 2 * rank, 2),
            *range(lead + 1, lead + 2 * rank, 2),
        ]
        turned = [at - lead for at in order[lead:]]
        found = torch.where(inside, found, -torch.inf).permute(order).flatten(lead + rank)
        values, at = found.max(-1)
        places = flat.permute(turned).flatten(rank)
        return values, places.expand(found.shape).gather(-1, at[..., None]).squeeze(-1)


for _rank in (2, 3):
    _adaptive(f"adaptive_max_pool{_rank}d", _rank)

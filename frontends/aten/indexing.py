"""Decompose indexing: indices, masks, strides, slices to write to, and sums of indexed rows."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from contextvars import ContextVar
from importlib import import_module
from itertools import accumulate
from math import prod
from typing import Any

from .inline_mlir import emit_inline_mlir
from .rules import decomposition, decomposition_with_op, is_static, non_negative, require, torch


@decomposition("as_strided.default", "as_strided_copy.default")
def as_strided(
    x: Any, size: Sequence[Any], stride: Sequence[Any], storage_offset: Any = None
) -> Any:
    # PyTorch expresses some reshapes this way. torch-mlir does not model storage and rejects
    # dynamic sizes here.
    require(x.is_contiguous())
    start = x.storage_offset()
    first = start if storage_offset is None else storage_offset
    if _is_reshape(x, size, stride) and _known(first == start):
        return torch.ops.aten.view.default(x, size)
    require(not is_static(x.shape))
    return take(x, _places(size, stride, first - start))


def _known(condition: Any) -> bool:
    return import_module("torch.fx.experimental.symbolic_shapes").statically_known_true(condition)


def _is_reshape(x: Any, size: Sequence[Any], stride: Sequence[Any]) -> bool:
    """Return whether a contiguous tensor of this size has these strides and as many elements."""
    packed = [1, *accumulate(reversed(size[1:]), operator.mul)][::-1]
    # The stride of a dimension of extent 1 does not matter.
    rows = zip(size, stride, packed, strict=True) if size else ()
    return all(_known(count == 1) or _known(a == b) for count, a, b in rows) and _known(
        x.numel() == (size[0] * packed[0] if size else 1)
    )


def _places(size: Sequence[Any], stride: Sequence[Any], first: Any) -> Any:
    """Return the place in memory of each element of a strided tensor."""
    places = torch.full((), first, dtype=torch.int64)
    for count, step in zip(size, stride, strict=True):
        places = places[..., None] + torch.arange(count) * step
    return places


@decomposition("empty_permuted.default", "empty_strided.default")
def empty_strided(size: Sequence[Any], _: Sequence[Any], *, dtype: Any = None, **more: Any) -> Any:
    return torch.empty(size, dtype=dtype)


@decomposition("_efficientzerotensor.default")
def zeros(size: Sequence[Any], *, dtype: Any = None, **more: Any) -> Any:
    return torch.zeros(size, dtype=dtype)


@decomposition("unfold.default")
def unfold(x: Any, dim: int, size: int, step: int) -> Any:
    """Read windows at counted starts; PyTorch's own rule has an index for each element."""
    require(x.dim() and is_static(x.shape))
    dim %= x.dim()
    before, after = list(x.shape[:dim]), list(x.shape[dim + 1 :])
    count = (x.shape[dim] - size) // step + 1
    offsets = [each for each in range(x.dim() + 1) if each != dim]
    numbers = f"offset_dims = {offsets}, start_index_map = [{dim}], index_vector_dim = 1"
    body = f"""
%number = stablehlo.iota dim = 0 : tensor<{count}xi64>
%step = stablehlo.constant dense<{step}> : tensor<{count}xi64>
%starts = stablehlo.multiply %number, %step : tensor<{count}xi64>
%r = "stablehlo.gather"(%a0, %starts) <{{{{
    dimension_numbers = #stablehlo.gather<{numbers}>,
    slice_sizes = array<i64: {", ".join(map(str, (*before, size, *after)))}>
}}}}> : ({{0}}, tensor<{count}xi64>) -> {{r}}
"""
    windows = emit_inline_mlir(body, [*before, count, size, *after], x.dtype, x)
    return windows.movedim(dim + 1, -1)


@decomposition("gather.default")
def gather(x: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    """Select from vectors of one element where PyTorch allows rank 0."""
    require(not x.dim() or not index.dim())
    x, places = (each if each.dim() else each.reshape(1) for each in (x, index))
    return torch.gather(x, 0, places).reshape(index.shape)


@decomposition("as_strided_scatter.default")
def as_strided_scatter(
    x: Any, part: Any, size: Sequence[Any], stride: Sequence[Any], storage_offset: Any = None
) -> Any:
    """Write to places of the flattened tensor."""
    require(x.is_contiguous() and is_static(size) and part.numel())
    places = _places(size, stride, 0 if storage_offset is None else storage_offset)
    flat = torch.index_put(x.reshape(-1), [places.reshape(-1)], part.reshape(-1))
    return flat.reshape(x.shape)


@decomposition("take.default")
def take(x: Any, index: Any) -> Any:
    """Index the flattened tensor. PyTorch's rule would read the value of a single index."""
    return torch.ops.aten.index.Tensor(x.reshape(-1), [index])


def _counted_from_the_start(x: Any, indices: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    dimension = 0
    for index in indices:
        if index is not None and index.dtype in (torch.bool, torch.uint8):
            found.append(index)
            dimension += index.dim()
            continue
        size = x.shape[dimension]
        found.append(None if index is None else non_negative(index, size))
        dimension += 1
    return found


def _masked(x: Any, indices: Sequence[Any]) -> Any:
    """Select by a mask with `nonzero`: torch-mlir's own conversion does not terminate."""
    (dimension,) = [at for at, index in enumerate(indices) if index is not None]
    mask = indices[dimension]
    places = torch.nonzero(mask.reshape(-1)).squeeze(1)
    rest = x.shape[dimension + mask.dim() :]
    return x.reshape(*x.shape[:dimension], -1, *rest).index_select(dimension, places)


def _put_by_mask(x: Any, indices: Sequence[Any], values: Any, adds: bool) -> Any:
    """Write values by a mask without data-dependent positions: each element selects its value."""
    (dimension,) = [at for at, index in enumerate(indices) if index is not None]
    mask = indices[dimension] != 0
    rank = x.dim() - dimension - mask.dim()
    ends = list(values.shape[values.dim() - rank :])
    if values.dim() > rank:
        at = values.dim() - rank - 1
        count = values.shape[at]
        if not isinstance(count, int):
            # There may be no values, and index_select needs at least one.
            values = torch.nn.functional.pad(values, [0, 0] * rank + [0, 1])
        if isinstance(count, int) and count == 1:
            values = values.reshape(*values.shape[:at], *[1] * mask.dim(), *ends)
        else:
            numbers = torch.cumsum(mask.reshape(-1).to(torch.int64), 0) - 1
            values = values.index_select(at, torch.clamp(numbers, min=0))
            values = values.reshape(*values.shape[:at], *mask.shape, *ends)
    chosen = mask.reshape(*mask.shape, *[1] * rank)
    return torch.where(chosen, x + values if adds else values, x)


@decomposition("masked_select.default")
def masked_select(x: Any, mask: Any) -> Any:
    x, mask = torch.broadcast_tensors(x, mask)
    return _masked(x, [mask])


@decomposition("masked_scatter.default")
def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    """Let each chosen element select its value, where PyTorch's rule depends on `nonzero`."""
    require(not is_static(source.shape) or source.numel())
    x, mask = torch.broadcast_tensors(x, mask)
    numbers = torch.cumsum(mask.reshape(-1).to(torch.int64), 0) - 1
    values = source.reshape(-1).index_select(0, torch.clamp(numbers, min=0))
    return torch.where(mask, values.reshape(x.shape), x)


@decomposition("masked_scatter_backward.default")
def masked_scatter_backward(grad: Any, mask: Any, sizes: Sequence[int]) -> Any:
    grad, mask = torch.broadcast_tensors(grad, mask)
    grad, chosen, count = grad.reshape(-1), mask.reshape(-1), prod(sizes)
    # An element that is not chosen goes to one place after the last.
    places = torch.where(chosen, torch.cumsum(chosen.to(torch.int64), 0) - 1, count)
    return grad.new_zeros(count + 1).index_add(0, places, grad)[:count].reshape(sizes)


_in_rule: ContextVar[bool] = ContextVar("in_rule", default=False)
"""Whether the current operation was emitted by `_from_the_start`, which then leaves it unchanged.
"""


def _by_any_number(x: Any, indices: Sequence[Any], values: Any = None, adds: bool = False) -> Any:
    """Select or write by indices of adjacent dimensions, whose number depends on data.

    torch-mlir does not join such indices, and writes by the first index if there is none.
    """
    places = [at for at, index in enumerate(indices) if index is not None]
    first, last = places[0], places[-1]
    require(len(places) == last - first + 1)
    require(not any(indices[at].dtype in (torch.bool, torch.uint8) for at in places))
    number: Any = 0
    for at in places:
        number = number * x.shape[at] + non_negative(indices[at], x.shape[at])
    joined, rows = x.flatten(first, last), number.reshape(-1).to(torch.int64)
    shape = (*x.shape[:first], *number.shape, *x.shape[last + 1 :])
    if values is None:
        return joined.index_select(first, rows).reshape(shape)
    values = values.expand(shape).flatten(first, first + number.dim() - 1)
    # Write one more, out of bounds, which has no effect.
    rows = torch.nn.functional.pad(rows, (0, 1), value=joined.shape[first])
    values = torch.nn.functional.pad(values, [0, 0] * (x.dim() - last - 1) + [0, 1])
    return torch.ops.aten.index_put(joined, [*[None] * first, rows], values, adds).reshape(x.shape)


@decomposition_with_op("index.Tensor", "index_put.default")
def _from_the_start(operation: Any, x: Any, indices: Sequence[Any], *others: Any) -> Any:
    """Make negative indices non-negative: torch-mlir's StableHLO conversion reads them wrongly."""
    given = [index for index in indices if index is not None]
    if len(given) == 1 and given[0].dtype in (torch.bool, torch.uint8):
        if operation is torch.ops.aten.index.Tensor:
            return _masked(x, indices)
        return _put_by_mask(x, indices, *(*others, False)[:2])
    require(not _in_rule.get())
    free = import_module("torch.fx.experimental.symbolic_shapes").free_unbacked_symbols
    token = _in_rule.set(True)
    try:
        if any(free(index.shape) for index in given):
            return _by_any_number(x, indices, *others)
        return operation(x, _counted_from_the_start(x, indices), *others)
    finally:
        _in_rule.reset(token)


@decomposition("embedding_bag.padding_idx")
def embedding_bag_of(table: Any, *options: Any) -> Any:
    """Make a negative padding index non-negative: in `embedding_bag`, -1 means none."""
    *others, padding_idx = options
    if padding_idx is not None and padding_idx < 0:
        padding_idx += table.shape[0]
    return embedding_bag(table, *others, padding_idx)


@decomposition("_embedding_bag.default", "_embedding_bag_forward_only.default")
def embedding_bag(
    table: Any,
    indices: Any,
    offsets: Any,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    starts = offsets[:-1] if include_last_offset else offsets
    begun = torch.zeros(indices.shape[0] + 1, dtype=torch.int64)
    begun = begun.index_add(0, offsets, torch.ones_like(offsets, dtype=torch.int64))
    # The bag of each index. Those after the last offset belong to a bag that is left out.
    bag = begun.cumsum(0)[:-1] - 1
    count = offsets.shape[0]
    neutral = -torch.inf if mode == 2 else 0.0
    rows, ones = table[indices], torch.ones_like(indices, dtype=torch.int64)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, None]
    if padding_idx is not None and padding_idx >= 0:
        kept = indices != padding_idx
        rows, ones = torch.where(kept[:, None], rows, neutral), kept.to(torch.int64)
    counts = torch.zeros(count, dtype=torch.int64).index_add(0, bag, ones)
    bags = rows.new_full((count, rows.shape[1]), neutral)
    if mode == 2:
        bags = bags.index_reduce(0, bag, rows, "amax")
        bags = torch.where(counts[:, None] > 0, bags, 0.0)
    else:
        bags = bags.index_add(0, bag, rows)
    if mode == 1:
        bags = bags / torch.clamp(counts, min=1)[:, None]
    bags, counts = bags[: starts.shape[0]], counts[: starts.shape[0]]
    # The other results only serve gradients.
    return bags, torch.zeros_like(indices), counts, torch.zeros_like(starts)


@decomposition("transformers::grouped_mm_fallback.default")
def grouped_mm(x: Any, weights: Any, ends: Any) -> Any:
    """Multiply runs of rows by one matrix each, as the experts of `transformers` do."""
    starts = torch.cat((torch.zeros_like(ends[:1]), ends[:-1]))
    rows = torch.arange(x.shape[0])
    # Every expert gets all rows, with zeros for those of other experts: otherwise the sizes would
    # depend on data.
    own = (rows >= starts[:, None]) & (rows < ends[:, None])
    return torch.matmul(torch.where(own[:, :, None], x, 0.0), weights).sum(0)


@decomposition("split_with_sizes.default")
def split_with_sizes(x: Any, sizes: Sequence[Any], dim: int = 0) -> Any:
    """Slice by sizes that are not known."""
    require(not is_static(sizes))
    starts = accumulate(sizes, initial=0)
    return [torch.narrow(x, dim, *each) for each in zip(starts, sizes, strict=False)]


@decomposition("slice_scatter.default")
def slice_scatter(
    x: Any, part: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    """Clamp the bounds to the tensor: the end of `x[1:] = y` is the largest integer.

    torch-mlir's conversion to StableHLO lists all indices up to the end before it looks at the
    size.
    """
    size = x.shape[dim]
    require(is_static((size, start or 0, end or 0)))
    first, last, _ = slice(start, end).indices(size)
    last = max(first, last)
    require((start, end) != (first, last))
    return torch.ops.aten.slice_scatter.default(x, part, dim, first, last, step)


@decomposition("diagonal_scatter.default")
def diagonal_scatter(x: Any, part: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
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
def block_diag(tensors: Sequence[Any]) -> Any:
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


@decomposition("embedding_renorm.default")
def embedding_renorm(x: Any, index: Any, max_norm: float, norm_type: float) -> Any:
    """Shorten the indexed rows that are longer than `max_norm`."""
    length = torch.linalg.vector_norm(x, norm_type, 1, keepdim=True)
    named = (index.reshape(-1) == torch.arange(x.shape[0])[:, None]).any(1, keepdim=True)
    return torch.where(named & (length > max_norm), x * (max_norm / (length + 1e-7)), x)

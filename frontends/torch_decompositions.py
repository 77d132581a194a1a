"""Operations of PyTorch, taken apart into others that torch-mlir converts."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import accumulate
from typing import Any

from . import torch_elements, torch_matrices, torch_places, torch_series
from .torch_functions import complex_numbers, special_functions
from .torch_rules import Decompositions, table
from .torch_spectra import composite_rule, composites

RULES = (torch_elements, torch_matrices, torch_places, torch_series)
"""The files that fill the table of rules, beside those above."""


def known_decompositions(torch: Any, names: Sequence[str]) -> Decompositions:
    """How PyTorch takes apart what `names` call, such as `aten.take`; not all can be."""
    table = import_module("torch._decomp").decomposition_table
    dispatched = set(torch._C._dispatch_get_all_op_names())
    found: dict[Any, Callable[..., Any]] = {}
    for name in names:
        namespace, _, rest = name.partition(".")
        base, _, overload = rest.partition(".")
        packet = getattr(getattr(torch.ops, namespace, None), base, None)
        operation = getattr(packet, overload or "default", None)
        # TorchScript has more of them than PyTorch.
        if operation is None or operation.name() not in dispatched:
            continue
        composite = composite_rule(torch, operation)
        if composite is not None:
            found[operation] = composite
        elif operation in table:
            found[operation] = table[operation]
    return found


def decompositions(torch: Any) -> Decompositions:
    """What neither PyTorch nor torch-mlir takes apart, and what they take apart wrongly."""
    groups = (
        table,
        composites,
        _views,
        special_functions,
        complex_numbers,
        _indices,
        _pools,
        _bags,
        _margins,
        _orders,
        _running_extrema,
        _experts,
    )
    return {key: rule for group in groups for key, rule in group(torch).items()}


def _views(torch: Any) -> Decompositions:
    aten = torch.ops.aten
    known = import_module("torch.fx.experimental.symbolic_shapes").statically_known_true

    def as_strided(
        x: Any, size: Sequence[Any], stride: Sequence[Any], storage_offset: Any = None
    ) -> Any:
        # PyTorch writes some reshapes so. torch-mlir has no storage, nor takes open sizes here.
        packed = [1, *accumulate(reversed(size[1:]), operator.mul)][::-1]
        start = x.storage_offset()
        same_count = known(x.numel() == size[0] * packed[0]) if size else x.numel() == 1
        if (
            same_count
            and x.is_contiguous()
            # How far apart the elements of a dimension are does not matter if there is one.
            and all(
                known(count == 1) or known(a == b)
                for count, a, b in zip(size, stride, packed, strict=True)
            )
            and known((start if storage_offset is None else storage_offset) == start)
        ):
            return aten.view.default(x, size)
        return NotImplemented

    return {aten.as_strided.default: as_strided}


def _indices(torch: Any) -> Decompositions:
    """Indices that count from the end, which torch-mlir's StableHLO takes for others."""
    aten = torch.ops.aten
    taken: list[Any] = []

    def counted(x: Any, indices: Sequence[Any]) -> list[Any]:
        found: list[Any] = []
        dimension = 0
        for index in indices:
            if index is not None and index.dtype in (torch.bool, torch.uint8):
                found.append(index)
                dimension += index.dim()
                continue
            size = x.shape[dimension]
            found.append(None if index is None else torch.where(index < 0, index + size, index))
            dimension += 1
        return found

    def masked(x: Any, indices: Sequence[Any]) -> Any:
        """What a mask chooses: torch-mlir does not end where it is to count that itself."""
        (dimension,) = [at for at, index in enumerate(indices) if index is not None]
        mask = indices[dimension]
        places = torch.nonzero(mask.reshape(-1)).squeeze(1)
        rest = x.shape[dimension + mask.dim() :]
        return x.reshape(*x.shape[:dimension], -1, *rest).index_select(dimension, places)

    def masked_select(x: Any, mask: Any) -> Any:
        x, mask = torch.broadcast_tensors(x, mask)
        return masked(x, [mask])

    def from_the_start(operation: Any) -> Callable[..., Any]:
        def rule(x: Any, indices: Sequence[Any], *others: Any) -> Any:
            given = [index for index in indices if index is not None]
            if operation == aten.index.Tensor and len(given) == 1 and given[0].dtype == torch.bool:
                return masked(x, indices)
            # What this very rule wrote is left as it is.
            if taken:
                return NotImplemented
            taken.append(operation)
            try:
                return operation(x, counted(x, indices), *others)
            finally:
                taken.pop()

        return rule

    rules = {each: from_the_start(each) for each in (aten.index.Tensor, aten.index_put.default)}
    return rules | {aten.masked_select.default: masked_select}


def _pools(torch: Any) -> Decompositions:
    aten = torch.ops.aten

    def rule(operation: Any, rank: int) -> Callable[..., Any]:
        def pool(
            x: Any,
            window: Sequence[int],
            stride: Sequence[int] = (),
            padding: Sequence[int] = (0,),
            dilation: Sequence[int] = (1,),
            ceil_mode: bool = False,
        ) -> Any:
            # torch-mlir rounds sizes down, whatever it is told.
            sizes = tuple(x.shape[-rank:])
            if not ceil_mode or not all(isinstance(size, int) for size in sizes):
                return NotImplemented
            window, stride, padding, dilation = (
                list(each) * (rank // len(each))
                for each in (window, stride or window, padding, dilation)
            )
            ends = _ends(sizes, window, stride, padding, dilation)
            pads = [each for pair in zip(padding[::-1], ends[::-1], strict=True) for each in pair]
            least = -torch.inf if x.dtype.is_floating_point else torch.iinfo(x.dtype).min
            padded = torch.nn.functional.pad(x, pads, value=least)
            found: Any = operation(padded, window, stride, [0] * rank, dilation)
            if isinstance(found, torch.Tensor):
                return found
            places: Any = found[1]
            at: Any = 0
            step = 1
            for size, pad, before in reversed(
                list(zip(sizes, padded.shape[-rank:], padding, strict=True))
            ):
                # Nothing may change in place here.
                at = at + (places % pad - before) * step
                places, step = places // pad, step * size
            return found[0], at

        return pool

    kinds = {1: ("max_pool1d",)} | {
        rank: (f"max_pool{rank}d", f"max_pool{rank}d_with_indices") for rank in (2, 3)
    }
    return {
        getattr(aten, name).default: rule(getattr(aten, name).default, rank)
        for rank, names in kinds.items()
        for name in names
    }


def _ends(
    sizes: Sequence[int],
    window: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> list[int]:
    """How much padding behind each dimension makes windows of a size that is rounded up."""
    found: list[int] = []
    for size, extent, step, before, apart in zip(
        sizes, window, stride, padding, dilation, strict=True
    ):
        covered = apart * (extent - 1) + 1
        count = -(-(size + 2 * before - covered) // step) + 1
        # The last window begins in the image, or in the padding before it.
        count -= (count - 1) * step >= size + before
        found.append(max((count - 1) * step + covered - size - before, before))
    return found


def _bags(torch: Any) -> Decompositions:
    aten = torch.ops.aten

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
        del scale_grad_by_freq, sparse
        starts = offsets[:-1] if include_last_offset else offsets
        places = torch.arange(indices.shape[0])
        ends = torch.cat((starts[1:], torch.full_like(starts[:1], indices.shape[0])))
        if include_last_offset:
            ends = offsets[1:]
        within = (places >= starts[:, None]) & (places < ends[:, None])
        if padding_idx is not None and padding_idx >= 0:
            within = within & (indices != padding_idx)
        rows = table[indices]
        if per_sample_weights is not None:
            rows = rows * per_sample_weights[:, None]
        counts = within.sum(1)
        if mode == 2:
            bags = torch.where(within[:, :, None], rows, -torch.inf).amax(1)
            bags = torch.where(counts[:, None] > 0, bags, 0.0)
        else:
            bags = within.to(rows.dtype) @ rows
        if mode == 1:
            bags = bags / torch.clamp(counts, min=1)[:, None]
        # What else there is serves the gradients.
        return bags, torch.zeros_like(indices), counts, torch.zeros_like(starts)

    kinds = (aten.embedding_bag.padding_idx, aten._embedding_bag.default)
    forward_only = aten._embedding_bag_forward_only.default
    return dict.fromkeys((*kinds, forward_only), embedding_bag)


def _margins(torch: Any) -> Decompositions:
    def multilabel(x: Any, target: Any, reduction: int) -> Any:
        # PyTorch's own rule counts the targets after the first that is negative.
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

    return {torch.ops.aten.multilabel_margin_loss_forward.default: multilabel}


def _orders(torch: Any) -> Decompositions:
    aten = torch.ops.aten

    def sort(x: Any, *, stable: Any = None, dim: int = -1, descending: bool = False) -> Any:
        # Our sorts are stable, whether they have to be or not.
        del stable
        return aten.sort.default(x, dim, descending)

    def middle(x: Any, dim: int, keepdim: bool, ignores_nan: bool) -> Any:
        if x.dim() == 0:
            return x.clone(), torch.zeros_like(x, dtype=torch.int64)
        # NaNs come last.
        values, places = aten.sort.default(x, dim, False)
        numbers = (~torch.isnan(x)).sum(dim, keepdim=True)
        size = x.shape[dim]
        last = size - 1 + torch.zeros_like(numbers)
        half = torch.clamp((numbers - 1) // 2, min=0)
        at = half if ignores_nan else torch.where(numbers < size, numbers, last // 2)
        found = values.gather(dim, at), places.gather(dim, at)
        return found if keepdim else tuple(each.squeeze(dim) for each in found)

    def median_dim(x: Any, dim: int, keepdim: bool = False) -> Any:
        return middle(x, dim, keepdim, False)

    def nanmedian_dim(x: Any, dim: int, keepdim: bool = False) -> Any:
        return middle(x, dim, keepdim, True)

    def median(x: Any) -> Any:
        return middle(x.reshape(-1), 0, False, False)[0]

    def nanmedian(x: Any) -> Any:
        return middle(x.reshape(-1), 0, False, True)[0]

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
        hits = (places[:, None] == torch.arange(bins)) & inside[:, None]
        return hits.to(x.dtype).sum(0)

    return {
        aten.sort.stable: sort,
        aten.histc.default: histc,
        aten.median.dim: median_dim,
        aten.median.default: median,
        aten.nanmedian.dim: nanmedian_dim,
        aten.nanmedian.default: nanmedian,
    }


def _running_extrema(torch: Any) -> Decompositions:
    aten = torch.ops.aten

    def running(beats: Callable[[Any, Any], Any]) -> Callable[[Any, int], Any]:
        def scan(x: Any, dim: int) -> Any:
            if x.dim() == 0:
                return x.clone(), torch.zeros_like(x, dtype=torch.int64)
            size = x.shape[dim]
            if not isinstance(size, int):
                return NotImplemented
            shape = [-1 if axis == dim % x.dim() else 1 for axis in range(x.dim())]
            values, places = x, torch.arange(size).reshape(shape).expand(x.shape)
            # After each step an element knows about twice as many before it.
            step = 1
            while step < size:
                old = values.narrow(dim, 0, size - step), places.narrow(dim, 0, size - step)
                new = values.narrow(dim, step, size - step), places.narrow(dim, step, size - step)
                # The last of equals counts, and so does the last NaN.
                stays = beats(new[0], old[0]) | torch.isnan(new[0])
                stays = stays & (~torch.isnan(old[0]) | torch.isnan(new[0]))
                values, places = (
                    torch.cat((whole.narrow(dim, 0, step), torch.where(stays, after, before)), dim)
                    for whole, before, after in zip((values, places), old, new, strict=True)
                )
                step *= 2
            return values, places

        return scan

    return {
        aten.cummax.default: running(operator.ge),
        aten.cummin.default: running(operator.le),
    }


def _experts(torch: Any) -> Decompositions:
    """Products of runs of rows with a matrix each, as `transformers` has them in its experts."""

    def grouped_mm(x: Any, weights: Any, ends: Any) -> Any:
        starts = torch.cat((torch.zeros_like(ends[:1]), ends[:-1]))
        rows = torch.arange(x.shape[0])
        # All experts see all rows, with zeros in place of those of others: what each has to do
        # depends on the data, and so would the sizes.
        own = (rows >= starts[:, None]) & (rows < ends[:, None])
        return torch.matmul(torch.where(own[:, :, None], x, 0.0), weights).sum(0)

    operation = getattr(torch.ops.transformers, "grouped_mm_fallback", None)
    return {} if operation is None else {operation.default: grouped_mm}

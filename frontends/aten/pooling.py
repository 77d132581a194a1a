"""Decompose adaptive max pooling, max pooling with `ceil_mode` and on integers, and averages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from operator import mod
from typing import Any

from .convolution import transposed_part
from .rules import (
    as_number,
    decomposition,
    decomposition_with_op,
    for_axes,
    is_empty,
    is_static,
    require,
    torch,
    widened,
)


def _pool(name: str, rank: int) -> None:
    @decomposition(f"{name}.default")
    def pool(  # pyright: ignore[reportUnusedFunction]
        x: Any,
        window: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        dilation: Sequence[int] = (1,),
        ceil_mode: bool = False,
    ) -> Any:
        operation: Any = getattr(torch.ops.aten, name).default
        sizes = tuple(x.shape[-rank:])
        window, stride, padding, dilation = for_axes(
            rank, window, stride or window, padding, dilation
        )
        if x.dim() == rank + 1:
            return _of_one_image(operation, x, window, stride, padding, dilation, ceil_mode)
        # torch-mlir always rounds sizes down, and crashes on many integers.
        real = x.dtype.is_floating_point
        require((ceil_mode or not real) and is_static(sizes))
        ends = _ends(sizes, window, stride, padding, dilation) if ceil_mode else padding
        pads = [each for pair in zip(padding[::-1], ends[::-1], strict=True) for each in pair]
        least = -torch.inf if real else torch.iinfo(x.dtype).min
        padded = torch.nn.functional.pad(x, pads, value=least)
        if real:
            found: Any = operation(padded, window, stride, [0] * rank, dilation)
        else:
            found = _of_integers(padded, window, stride, dilation)
            found = found if name.endswith("with_indices") else found[0]
        if isinstance(found, torch.Tensor):
            return found
        places: Any = found[1]
        at: Any = 0
        step = 1
        for size, pad, before in reversed(
            list(zip(sizes, padded.shape[-rank:], padding, strict=True))
        ):
            # Do not modify in place here.
            at = at + (places % pad - before) * step
            places, step = places // pad, step * size
        return found[0], at


def _of_one_image(operation: Callable[..., Any], x: Any, *options: Any) -> Any:
    """Pool an image as a batch of one: torch-mlir's linalg crashes on images without a batch."""
    found = operation(x.unsqueeze(0), *options)
    if isinstance(found, torch.Tensor):
        return found.squeeze(0)
    return tuple(each.squeeze(0) for each in found)


def _of_integers(
    x: Any, window: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> tuple[Any, Any]:
    """Return the largest numbers of windows, and their positions in the flattened image."""
    lead, windows, corners, offsets = (
        x.dim() - len(window),
        x,
        *[torch.zeros((), dtype=torch.int64)] * 2,
    )
    for at, (extent, step, apart) in enumerate(zip(window, stride, dilation, strict=True), lead):
        size = x.shape[at]
        windows = windows.unfold(at, apart * (extent - 1) + 1, step)[..., ::apart]
        corners = corners[..., None] * size + torch.arange(windows.shape[at]) * step
        offsets = offsets[..., None] * size + torch.arange(extent) * apart
    windows = windows.flatten(-len(window))
    return windows.amax(-1), corners + offsets.reshape(-1)[windows.argmax(-1)]


def _ends(
    sizes: Sequence[int],
    window: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> list[int]:
    """Return the padding after each dimension that makes rounding down give the rounded-up size."""
    found: list[int] = []
    for size, extent, step, before, apart in zip(
        sizes, window, stride, padding, dilation, strict=True
    ):
        covered = apart * (extent - 1) + 1
        count = -(-(size + 2 * before - covered) // step) + 1
        # The last window must start in the image or in the padding before it.
        count -= (count - 1) * step >= size + before
        found.append(max((count - 1) * step + covered - size - before, before))
    return found


_pool("max_pool1d", 1)
for _rank in (2, 3):
    _pool(f"max_pool{_rank}d", _rank)
    _pool(f"max_pool{_rank}d_with_indices", _rank)


@decomposition_with_op("avg_pool1d.default", "avg_pool2d.default", "avg_pool3d.default")
def average(
    operation: Any,
    x: Any,
    window: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor: int | None = None,
) -> Any:
    """Multiply averages by the sizes of windows and divide sums: torch-mlir only knows defaults."""
    rank = int(operation.name()[-2])
    window, stride, padding = for_axes(rank, window, stride or window, padding)
    if x.dim() == rank + 1:
        options = (window, stride, padding, ceil_mode, count_include_pad)
        return _of_one_image(operation, x, *options, *([divisor] if rank > 1 else []))
    sizes = list(x.shape[-rank:])
    require((ceil_mode or divisor or (not count_include_pad and any(padding))) and is_static(sizes))
    # Windows that reach beyond the padding count what they reach over, so pad before.
    ends = _ends(sizes, window, stride, padding, [1] * rank) if ceil_mode else padding
    pads = [each for pair in zip(padding[::-1], ends[::-1], strict=True) for each in pair]
    real = x.dtype.is_floating_point
    wide = widened(x) if real else x.to(torch.float64)
    sums = operation(torch.nn.functional.pad(wide, pads), window, stride) * prod(window)
    counts: Any = divisor or _window_counts(
        sizes, sums.shape[-rank:], window, stride, padding, count_include_pad
    )
    if real:
        return (sums / counts).to(x.dtype)
    return torch.div(torch.round(sums).to(x.dtype), counts, rounding_mode="trunc")


def _window_counts(
    sizes: Sequence[int],
    counts: Sequence[int],
    window: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    with_padding: bool,
) -> Any:
    """Return how many elements each window has, up to the end of the padding or of the image."""
    found = torch.ones((), dtype=torch.int64)
    for size, count, extent, step, pad in zip(sizes, counts, window, stride, padding, strict=True):
        first = torch.arange(count) * step - pad
        last = torch.clamp(first + extent, max=size + pad)
        if not with_padding:
            first, last = torch.clamp(first, min=0), torch.clamp(last, max=size)
        found = found[..., None] * (last - first)
    return found


def _average_gradient(rank: int) -> None:
    @decomposition(f"avg_pool{rank}d_backward.default")
    def backward(  # pyright: ignore[reportUnusedFunction]
        gradient: Any,
        x: Any,
        window: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor: int | None,
    ) -> Any:
        """Spread each average over its window: a transposed convolution with ones."""
        sizes, counted = x.shape[-rank:], gradient.shape[-rank:]
        require(is_static(sizes))
        window, stride, padding = for_axes(rank, window, stride or window, padding)
        counts: Any = divisor or prod(window)
        if not divisor and (ceil_mode or not count_include_pad):
            counts = _window_counts(sizes, counted, window, stride, padding, count_include_pad)
        shares, kernel = gradient.reshape(-1, 1, *counted) / counts, x.new_ones(1, 1, *window)
        found = transposed_part(shares, kernel, stride, padding, [1] * rank, 1, sizes)
        return found.reshape(x.shape)


for _rank in (2, 3):
    _average_gradient(_rank)


def _adaptive_windows(size: Any, count: int) -> tuple[Any, Any]:
    """Return the positions in each of `count` windows over `size` elements, and which are valid.

    Both have the shape `[count, widest]`. Windows overlap if `size` is not a multiple of `count`.
    """
    widest = size // count + 2
    if isinstance(size, int):
        widest = max(-(-(at + 1) * size // count) - at * size // count for at in range(count))
    numbers = torch.arange(count)[:, None]
    places = numbers * size // count + torch.arange(widest)
    ends = ((numbers + 1) * size + count - 1) // count
    within = places < ends
    return torch.where(within, places, 0), within


def _adaptive_weights(size: Any, count: Any, dtype: Any) -> Any:
    """Return the matrix `[count, size]` that averages `size` elements by windows."""
    numbers, divisor = torch.arange(count)[:, None], as_number(count, torch.int64)
    first, last = numbers * size // divisor, ((numbers + 1) * size + count - 1) // divisor
    places = torch.arange(size)
    within = (places >= first) & (places < last)
    return within.to(dtype) / (last - first).to(dtype)


def _adaptive_average(rank: int) -> None:
    @decomposition(f"_adaptive_avg_pool{rank}d.default")
    def pool(x: Any, counts: Sequence[Any]) -> Any:  # pyright: ignore[reportUnusedFunction]
        """Multiply by a matrix along each dimension.

        PyTorch's rule needs known sizes, and torch-mlir's windows of one size that do not overlap.
        """
        sizes = x.shape[-rank:]
        known = is_static((*sizes, *counts))
        require(not known or (not is_empty(counts) and any(map(mod, sizes, counts))))
        wide = widened(x)
        for axis, (size, count) in enumerate(zip(sizes, counts, strict=True), x.dim() - rank):
            weights = _adaptive_weights(size, count, wide.dtype)
            wide = (wide.movedim(axis, -1) @ weights.T).movedim(-1, axis)
        return wide.to(x.dtype)


def _adaptive_average_gradient(rank: int) -> None:
    @decomposition(f"_adaptive_avg_pool{rank}d_backward.default")
    def backward(gradient: Any, x: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        wide = widened(gradient)
        for axis in range(x.dim() - rank, x.dim()):
            weights = _adaptive_weights(x.shape[axis], gradient.shape[axis], wide.dtype)
            wide = (wide.movedim(axis, -1) @ weights).movedim(-1, axis)
        return wide.to(x.dtype)


for _rank in (2, 3):
    _adaptive_average(_rank)
    _adaptive_average_gradient(_rank)


def _adaptive_pool(name: str, rank: int) -> None:
    @decomposition(f"{name}.default")
    def pool(x: Any, counts: Sequence[int]) -> Any:  # pyright: ignore[reportUnusedFunction]
        sizes = x.shape[-rank:]
        require(is_static(counts) and not is_empty((*counts, *sizes)))
        require(x.dtype.is_floating_point)
        (counts,) = for_axes(rank, counts)
        # Build [..., count, widest, count, widest, ...], then move `widest` to the end.
        inside, flat = torch.ones((), dtype=torch.bool), torch.zeros((), dtype=torch.int64)
        lead = x.dim() - rank
        found = x
        for each, (size, count) in enumerate(zip(sizes, counts, strict=True)):
            places, within = _adaptive_windows(size, count)
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


def _pool_gradient(name: str, rank: int) -> None:
    @decomposition(f"{name}_backward.default")
    def backward(gradient: Any, x: Any, *options: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
        """Add each element to the place that it came from; windows may overlap."""
        flat, places = torch.zeros_like(x).flatten(-rank), options[-1].flatten(-rank)
        return flat.scatter_add(-1, places, gradient.flatten(-rank)).reshape(x.shape)


for _rank in (2, 3):
    _adaptive_pool(f"adaptive_max_pool{_rank}d", _rank)
    _pool_gradient(f"adaptive_max_pool{_rank}d", _rank)
    _pool_gradient(f"fractional_max_pool{_rank}d", _rank)
_pool_gradient("max_pool3d_with_indices", 3)

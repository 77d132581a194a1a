"""Decompose operations that read images at computed places: grid samples, and fractional max pools.

grid_sampler_3d(x: [n, c, d, h, w], grid: [n, a, b, c, 3]) -> for each of the 8 pixels around a
point its weight, and the pixel where it is inside of the image
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

from .resizing import cubic
from .rules import as_number, decomposition, is_static, require, torch

_BILINEAR, _NEAREST, _BICUBIC = 0, 1, 2
_ZEROS, _BORDER, _REFLECTION = 0, 1, 2


@decomposition("grid_sampler_3d.default")
def grid_sampler_3d(x: Any, grid: Any, interpolation: int, *options: Any) -> Any:
    require(interpolation in (_BILINEAR, _NEAREST) and x.numel())
    return grid_sampler(x, grid, interpolation, *options)


@decomposition("grid_sampler_2d.default")
def grid_sampler(x: Any, grid: Any, interpolation: int, padding: int, align_corners: bool) -> Any:
    """Add weighted pixels. PyTorch's own rule calculates all places once for each channel."""
    # The last dimension of the grid counts columns first.
    numbers = [as_number(size, grid.dtype) for size in x.shape[2:]]
    points = [
        (grid[..., -1 - axis] + 1) / 2 * (size - 1)
        if align_corners
        else ((grid[..., -1 - axis] + 1) * size - 1) / 2
        for axis, size in enumerate(numbers)
    ]
    padded = [
        partial(_padded, size=size, padding=padding, align_corners=align_corners)
        for size in numbers
    ]
    if interpolation == _BICUBIC:
        return _weighted(x, points, padded, partial(cubic, a=-0.75), range(-1, 3))
    points = [inside(point) for inside, point in zip(padded, points, strict=True)]
    if interpolation == _NEAREST:
        places = [torch.round(each) for each in points]
        return _pixels(x, places, torch.ones_like(places[0]))
    # Pixels beyond the padded places have no weight, or are outside.
    return _weighted(x, points, [_same] * len(points), lambda far: 1 - torch.abs(far), range(2))


def _same(place: Any) -> Any:
    return place


def _weighted(
    x: Any,
    points: Sequence[Any],
    padded: Sequence[Callable[[Any], Any]],
    weigh: Callable[[Any], Any],
    sides: Sequence[int],
) -> Any:
    """Add up the pixels around points, each weighed by its distance in every dimension."""
    lower = [torch.floor(each) for each in points]
    found: Any = 0
    for corner in product(sides, repeat=len(points)):
        weight: Any = 1
        for point, low, side in zip(points, lower, corner, strict=True):
            weight = weight * weigh(point - low - side)
        ends = [inside(low + side) for inside, low, side in zip(padded, lower, corner, strict=True)]
        found = found + _pixels(x, ends, weight)
    return found


def _padded(place: Any, *, size: Any, padding: int, align_corners: bool) -> Any:
    """Return a coordinate in pixels inside of the image, or unchanged where zeros surround it."""
    if padding == _REFLECTION:
        place = _reflected(place, size, align_corners)
    if padding == _ZEROS:
        return place
    most = size - 1
    bounded = torch.clamp(place, min=0)
    if isinstance(most, torch.Tensor):
        bounded = torch.minimum(bounded, most)
    else:
        bounded = torch.clamp(bounded, max=most)
    return torch.where(torch.isnan(place), most, bounded)


def _reflected(place: Any, size: Any, align_corners: bool) -> Any:
    """Reflect at the centres of the first and the last pixel, or at their outer edges."""
    low, span = (0.0, size - 1) if align_corners else (-0.5, size)
    if isinstance(span, int) and not span:
        return torch.zeros_like(place)
    far = torch.abs(place - low)
    rest = torch.fmod(far, span)
    odd = torch.floor(far / span) % 2 == 1
    return torch.where(odd, span - rest, rest) + low


def _pixels(x: Any, places: Sequence[Any], weight: Any) -> Any:
    """Return weighted pixels, and zero outside of the image. `places` are whole numbers."""
    inside: Any = True
    flat: Any = 0
    sizes = [as_number(size, torch.int64) for size in x.shape[2:]]
    for place, size in zip(places, sizes, strict=True):
        within = (place >= 0) & (place < size)
        inside = within & inside
        flat = flat * size + torch.where(within, place, 0).to(torch.int64)
    index = flat.reshape(x.shape[0], 1, -1).expand(-1, x.shape[1], -1)
    pixels = x.flatten(2).gather(2, index).reshape(*x.shape[:2], *flat.shape[1:])
    return torch.where(inside[:, None], pixels * weight[:, None], 0.0)


def _fractional_pool(name: str, rank: int) -> None:
    @decomposition(f"{name}.default")
    def pool(  # pyright: ignore[reportUnusedFunction]
        x: Any, window: Sequence[int], counts: Sequence[int], samples: Any
    ) -> Any:
        """Take the maximum of each window. PyTorch's last NaN of a window wins."""
        sizes = x.shape[-rank:]
        require(is_static(x.shape) and x.numel())
        image = x.reshape(-1, *x.shape[-rank - 1 :])
        # There may be samples of more images than there are.
        samples = samples[: image.shape[0]]
        # In two dimensions the first sample is that of the columns.
        order = [1, 0] if rank == 2 else [0, 1, 2]
        flat: Any = 0
        for axis, (size, extent, count) in enumerate(zip(sizes, window, counts, strict=True)):
            starts = _starts(samples[..., order[axis]], size, extent, count)
            places = starts[..., None] + torch.arange(extent)
            shape = [1] * (2 * rank)
            shape[axis], shape[rank + axis] = count, extent
            flat = flat * size + places.reshape(*places.shape[:2], *shape)
        flat = flat.flatten(2 + rank)
        pixels = image.flatten(2).gather(2, flat.flatten(2)).reshape(flat.shape)
        values, at = pixels.max(-1)
        numbers = torch.arange(flat.shape[-1])
        last = torch.where(torch.isnan(pixels), numbers, -1).amax(-1)
        at = torch.where(last < 0, at, last)
        places = flat.gather(-1, at[..., None]).squeeze(-1)
        shape = (*x.shape[:-rank], *counts)
        return values.reshape(shape), places.reshape(shape)


def _starts(sample: Any, size: int, extent: int, count: int) -> Any:
    """Return where the windows of a sample start: the last one ends at the end of the image."""
    last = torch.full((*sample.shape, 1), size - extent, dtype=torch.int64)
    if count < 2:
        return last[..., :count]
    sample = sample[..., None]
    step = torch.full((), size - extent, dtype=sample.dtype) / (count - 1)
    numbers = torch.arange(count - 1).to(sample.dtype)
    first = torch.trunc((numbers + sample) * step) - torch.trunc(sample * step)
    return torch.cat((first.to(torch.int64), last), -1)


for _rank in (2, 3):
    _fractional_pool(f"fractional_max_pool{_rank}d", _rank)

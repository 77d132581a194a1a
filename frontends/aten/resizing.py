"""Decompose antialiased image resizing, and image resizing on bytes, to matrix products.

upsample_aa(x: [n, c, h, w], (a, b)) -> rows: [a, h] @ x @ columns: [w, b]

Like PyTorch, bytes are weighted by integers, and rounded after the columns and after the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from importlib import import_module
from typing import Any

from .rules import decomposition, is_static, require, torch


def _linear(x: Any) -> Any:
    return torch.clamp(1 - torch.abs(x), min=0)


def cubic(x: Any, a: float = -0.5) -> Any:
    """Evaluate the Keys kernel. PyTorch's antialiased resizes use a = -0.5, others a = -0.75."""
    x = torch.abs(x)
    near_by = ((a + 2) * x - (a + 3)) * x * x + 1
    far_off = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return torch.where(x < 1, near_by, torch.where(x < 2, far_off, torch.zeros_like(x)))


def _scale(size: int, count: int, align_corners: bool, factor: float | None) -> float:
    """Return the distance between the centres of two new pixels, in old pixels."""
    if align_corners:
        return (size - 1) / (count - 1) if count > 1 else 0.0
    return size / count if factor is None or factor <= 0 else 1 / factor


def _weights(
    filters: tuple[Callable[..., Any], int],
    size: int,
    count: int,
    align_corners: bool,
    factor: float | None,
) -> Any:
    """Return the weight of each of `size` pixels in each of `count`: `[count, size]`, float64."""
    function, radius = filters
    scale = _scale(size, count, align_corners, factor)
    wide = max(scale, 1.0)
    pixels, numbers = torch.arange(size), torch.arange(count)
    centres = scale * (numbers.to(torch.float64) + 0.5)[:, None]
    reach = radius * wide
    # Round the range of pixels as PyTorch's kernels do.
    first = torch.clamp((centres - reach + 0.5).to(torch.int64), min=0)
    last = torch.clamp((centres + reach + 0.5).to(torch.int64), max=size)
    weights = function((pixels - centres + 0.5) / wide)
    weights = torch.where((pixels >= first) & (pixels < last), weights, 0.0)
    return weights / weights.sum(1, keepdim=True)


def _near_weights(
    filters: tuple[Callable[..., Any], int],
    size: int,
    count: int,
    align_corners: bool,
    factor: float | None,
) -> Any:
    """Return the weights without antialiasing; edge pixels stand for those outside."""
    function, radius = filters
    numbers = torch.arange(count).to(torch.float64)[:, None]
    scale = _scale(size, count, align_corners, factor)
    places = numbers * scale if align_corners else scale * (numbers + 0.5) - 0.5
    weights = function(torch.arange(-radius, size + radius) - torch.clamp(places, -1, size))
    before, inner, after = weights.split((radius, size, radius), 1)
    pixels = torch.arange(size)
    first = torch.where(pixels == 0, before.sum(1, keepdim=True), 0.0)
    last = torch.where(pixels == size - 1, after.sum(1, keepdim=True), 0.0)
    return inner + first + last


def _resized(x: Any, rows: Any, columns: Any) -> Any:
    if x.dtype == torch.uint8:
        across = _of_bytes(x, columns, lambda pixels, weights: pixels @ weights.T)
        found = _of_bytes(across, rows, lambda pixels, weights: weights @ pixels)
        return found.to(torch.uint8)
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    return (rows.to(wide) @ (x.to(wide) @ columns.to(wide).T)).to(x.dtype)


def _of_bytes(x: Any, weights: Any, product: Callable[[Any, Any], Any]) -> Any:
    """Multiply by 16-bit weights, with as many fractional bits as fit."""
    places = torch.arange(22)
    fits = 0.5 + weights.amax() * 2.0 ** (places + 1).to(torch.float64) < 1 << 15
    count = fits.sum().to(torch.int32)
    scaled = weights * 2.0 ** count.to(torch.float64)
    whole = torch.trunc(scaled + torch.where(scaled < 0, -0.5, 0.5)).to(torch.int32)
    one = torch.ones_like(count)
    found = product(x.to(torch.int32), whole) + (one << (count - 1))
    return torch.clamp(found >> count, 0, 255)


def _antialiased(name: str, function: Callable[..., Any], radius: int) -> None:
    @decomposition(f"{name}.default")
    def resize(  # pyright: ignore[reportUnusedFunction]
        x: Any,
        counts: Sequence[int],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Any:
        require(x.dtype.is_floating_point or x.dtype == torch.uint8)
        require(is_static((*x.shape[-2:], *counts)))
        rows, columns = (
            _weights((function, radius), size, count, align_corners, scale)
            for size, count, scale in zip(x.shape[-2:], counts, (scales_h, scales_w), strict=True)
        )
        return _resized(x, rows, columns)


_antialiased("_upsample_bilinear2d_aa", _linear, 1)
_antialiased("_upsample_bicubic2d_aa", cubic, 2)


def _of_neighbours(name: str, function: Callable[..., Any], radius: int) -> None:
    @decomposition(f"{name}.vec")
    def resize(  # pyright: ignore[reportUnusedFunction]
        x: Any,
        counts: Sequence[int] | None,
        align_corners: bool,
        factors: Sequence[float] | None = None,
    ) -> Any:
        """Resize bytes; PyTorch's rules compute in f32 and round differently than its kernels.

        For other images of open sizes this is PyTorch's rule: its kernel makes the sizes known.
        """
        if x.dtype != torch.uint8:
            require(not is_static(x.shape))
            rules = import_module("torch._decomp").decomposition_table
            if factors is not None:
                counts = [*map(_scaled, x.shape[2:], factors)]
            rule = rules[getattr(torch.ops.aten, name).default]
            return rule(x, counts, align_corners, *(factors or ()))
        sizes = x.shape[-2:]
        require(is_static((*sizes, *(counts or ()))))
        given = [None, None] if factors is None else list(factors)
        if counts is None:
            counts = [int(size * (each or 1)) for size, each in zip(sizes, given, strict=True)]
        rows, columns = (
            _near_weights((function, radius), size, count, align_corners, factor)
            for size, count, factor in zip(sizes, counts, given, strict=True)
        )
        return _resized(x, rows, columns)


def _scaled(size: int, factor: float) -> int:
    """Return the product of a size and a factor, rounded down, without floats: 3 * 5 // 2 is 7."""
    fraction = Fraction(factor)
    require(fraction.denominator <= 1 << 16)
    return size * fraction.numerator // fraction.denominator


_of_neighbours("upsample_bilinear2d", _linear, 1)
_of_neighbours("upsample_bicubic2d", partial(cubic, a=-0.75), 2)


@decomposition(
    *(
        f"{name}{rank}d.vec"
        for name in ("upsample_nearest", "_upsample_nearest_exact")
        for rank in (1, 3)
    )
)
def repeated(x: Any, counts: Sequence[int] | None, factors: Sequence[float] | None) -> Any:
    """Repeat elements of dynamic sizes by whole factors: torch-mlir converts no sizes to floats."""
    require(factors is not None and not is_static(x.shape))
    require(all(float(each).is_integer() for each in factors or ()))
    for dimension, factor in enumerate(factors or (), 2):
        shape = (*x.shape[: dimension + 1], int(factor), *x.shape[dimension + 1 :])
        x = x.unsqueeze(dimension + 1).expand(shape).flatten(dimension, dimension + 1)
    return x

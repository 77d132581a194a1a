"""Images of other sizes, by filters that cover what becomes one pixel.

upsample_aa(x: [n, c, h, w], (a, b))  ->  rows: [a, h] @ x @ columns: [w, b]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .torch_rules import decomposition


def _linear(torch: Any, x: Any) -> Any:
    return torch.clamp(1 - torch.abs(x), min=0)


def _cubic(torch: Any, x: Any) -> Any:
    """The kernel of Keys with the factor that PyTorch's antialiased resizes have, -0.5."""
    x = torch.abs(x)
    near_by = (1.5 * x - 2.5) * x * x + 1
    far_off = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return torch.where(x < 1, near_by, torch.where(x < 2, far_off, torch.zeros_like(x)))


def _weights(
    torch: Any,
    filters: tuple[Callable[..., Any], int],
    size: int,
    count: int,
    align_corners: bool,
    factor: float | None,
) -> Any:
    """How much each of `size` pixels counts in each of `count`: `[count, size]`, in float64."""
    function, radius = filters
    if align_corners:
        scale = (size - 1) / (count - 1) if count > 1 else 0.0
    else:
        scale = size / count if factor is None or factor <= 0 else 1 / factor
    wide = max(scale, 1.0)
    pixels, numbers = torch.arange(size), torch.arange(count)
    centres = scale * (numbers.to(torch.float64) + 0.5)[:, None]
    reach = radius * wide
    # Which pixels count is decided by their number, rounded as PyTorch's kernels do.
    first = torch.clamp((centres - reach + 0.5).to(torch.int64), min=0)
    last = torch.clamp((centres + reach + 0.5).to(torch.int64), max=size)
    weights = function(torch, (pixels - centres + 0.5) / wide)
    weights = torch.where((pixels >= first) & (pixels < last), weights, 0.0)
    return weights / weights.sum(1, keepdim=True)


def _antialiased(name: str, function: Callable[..., Any], radius: int) -> None:
    @decomposition(f"{name}.default")
    def resize(  # pyright: ignore[reportUnusedFunction]
        torch: Any,
        x: Any,
        counts: Sequence[int],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Any:
        sizes = x.shape[-2:]
        known = all(isinstance(each, int) for each in (*sizes, *counts))
        if not known or not x.dtype.is_floating_point:
            return NotImplemented
        wide = torch.float64 if x.dtype == torch.float64 else torch.float32
        rows, columns = (
            _weights(torch, (function, radius), size, count, align_corners, scale).to(wide)
            for size, count, scale in zip(sizes, counts, (scales_h, scales_w), strict=True)
        )
        return (rows @ (x.to(wide) @ columns.T)).to(x.dtype)


_antialiased("_upsample_bilinear2d_aa", _linear, 1)
_antialiased("_upsample_bicubic2d_aa", _cubic, 2)

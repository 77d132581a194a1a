"""Decompose Fourier transforms along static sizes, one dimension at a time, `stft` and `istft`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from .inline_mlir import emit_inline_mlir
from .rules import decomposition, is_static, require, torch


def _transform(x: Any, kind: str, dimension: int, size: int, dtype: Any, scale: float) -> Any:
    """Transform one dimension.

    `scale` is PyTorch's factor; StableHLO already divides inverses by the size.
    """
    x = x.movedim(dimension, -1)
    if kind.startswith("I"):
        scale *= size
    length = size // 2 + 1 if kind == "RFFT" else size
    body = f"%r = stablehlo.fft %a0, type = {kind}, length = [{size}] : ({{0}}) -> {{r}}"
    found = emit_inline_mlir(body, (*x.shape[:-1], length), dtype, x)
    return (found if scale == 1 else found * scale).movedim(-1, dimension)


def _scale(sizes: Sequence[int], normalization: int) -> float:
    return {0: 1.0, 1: prod(sizes) ** -0.5, 2: 1.0 / prod(sizes)}[normalization]


@decomposition("_fft_c2c.default")
def complex_to_complex(x: Any, dim: Sequence[int], normalization: int, forward: bool) -> Any:
    require(dim and is_static(x.shape[each] for each in dim))
    for each in dim:
        kind, size = "FFT" if forward else "IFFT", x.shape[each]
        x = _transform(x, kind, each, size, x.dtype, _scale([size], normalization))
    return x


@decomposition("_fft_r2c.default")
def real_to_complex(x: Any, dim: Sequence[int], normalization: int, onesided: bool) -> Any:
    require(dim and is_static(x.shape[each] for each in dim))
    if not onesided:
        whole = torch.view_as_complex(torch.stack((x, torch.zeros_like(x)), -1))
        return complex_to_complex(whole, dim, normalization, True)
    size = x.shape[dim[-1]]
    scale = _scale([size], normalization)
    x = _transform(x, "RFFT", dim[-1], size, x.dtype.to_complex(), scale)
    return complex_to_complex(x, dim[:-1], normalization, True) if dim[:-1] else x


@decomposition("_fft_c2r.default")
def complex_to_real(x: Any, dim: Sequence[int], normalization: int, last_dim_size: int) -> Any:
    require(dim and is_static(x.shape[each] for each in dim))
    if dim[:-1]:
        x = complex_to_complex(x, dim[:-1], normalization, False)
    scale = _scale([last_dim_size], normalization)
    x = x.narrow(dim[-1], 0, last_dim_size // 2 + 1)
    return _transform(x, "IRFFT", dim[-1], last_dim_size, x.dtype.to_real(), scale)


@decomposition("fft_fftfreq.default")
def frequencies(n: int, d: float = 1.0, *, dtype: Any = None, **options: Any) -> Any:
    kind = dtype or torch.get_default_dtype()
    places = torch.arange(n)
    return torch.where(places < (n + 1) // 2, places, places - n).to(kind) * (1.0 / (n * d))


@decomposition("fft_rfftfreq.default")
def half_frequencies(n: int, d: float = 1.0, *, dtype: Any = None, **options: Any) -> Any:
    kind = dtype or torch.get_default_dtype()
    return torch.arange(n // 2 + 1).to(kind) * (1.0 / (n * d))


@decomposition("stft.default")
def short_time(
    x: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:
    """Transform windowed frames; torch-mlir takes only half of the result, or does not end."""
    require(not align_to_window)
    hop = hop_length or n_fft // 4
    weights = _window(window, win_length or n_fft, n_fft, x.dtype.to_real())
    starts = torch.arange(0, x.shape[-1] - n_fft + 1, hop)
    frames = x[..., starts[:, None] + torch.arange(n_fft)] * weights
    norm = "ortho" if normalized else "backward"
    half = onesided or (onesided is None and not frames.is_complex())
    transform = torch.fft.rfft if half else torch.fft.fft
    found = transform(frames, norm=norm).mT
    return found if return_complex else torch.view_as_real(found)


def _window(window: Any, size: int, n_fft: int, dtype: Any) -> Any:
    """Return the weights of a frame: the window, or ones, with zeros around it."""
    weights = torch.ones(size, dtype=dtype) if window is None else window
    before = (n_fft - size) // 2
    return torch.nn.functional.pad(weights, (before, n_fft - size - before))


@decomposition("istft.default")
def inverse_short_time(
    x: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Any:
    """Add up the windowed inverse transforms of frames, and divide by the squares of the windows.

    Adding up is a transposed convolution with one channel for each element of a frame.
    """
    require(x.is_complex())
    hop, size = hop_length or n_fft // 4, win_length or n_fft
    # A real result is made of the first half of the spectrum, even where the whole one is given.
    # The slice has a known size.
    frames = x.narrow(-2, 0, n_fft if return_complex else n_fft // 2 + 1).mT
    norm = "ortho" if normalized else "backward"
    transform = torch.fft.ifft if return_complex else torch.fft.irfft
    parts = transform(frames, n=n_fft, norm=norm)
    weights = _window(window, size, n_fft, x.dtype.to_real())
    start = n_fft // 2 if center else 0
    whole = n_fft + hop * (x.shape[-1] - 1)
    end = whole - start if length is None else start + length

    def added(rows: Any) -> Any:
        """Return the sum of frames `[batch, frames, n_fft]`, each at its place in the signal."""
        one = torch.eye(n_fft, dtype=rows.dtype)[:, None]
        found = torch.nn.functional.conv_transpose1d(rows.mT, one, stride=hop).squeeze(1)
        found = found[:, start : min(end, whole)]
        return torch.nn.functional.pad(found, (0, max(end - whole, 0)))

    squares = added((weights * weights).expand(1, x.shape[-1], n_fft))
    squares = torch.where(squares > 1e-11, squares, 1.0)
    batched = (parts * weights).reshape(-1, x.shape[-1], n_fft)
    if parts.is_complex():
        sums = torch.complex(added(batched.real), added(batched.imag))
    else:
        sums = added(batched)
    return (sums / squares).reshape(*x.shape[:-2], -1)

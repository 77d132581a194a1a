"""Decompose Fourier transforms of static sizes, one dimension at a time."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from .inline_mlir import emit_inline_mlir
from .operands import is_static
from .rules import decomposition, require


def _transform(
    torch: Any, x: Any, kind: str, dimension: int, size: int, dtype: Any, scale: float
) -> Any:
    """Transform one dimension.

    `scale` is PyTorch's factor; StableHLO already divides inverses by the size.
    """
    x = x.movedim(dimension, -1)
    if kind.startswith("I"):
        scale *= size
    length = size // 2 + 1 if kind == "RFFT" else size
    value = f"({scale}, 0.0)" if dtype.is_complex else f"{scale}"
    body = (
        f"%f = stablehlo.fft %a0, type = {kind}, length = [{size}] : ({{0}}) -> {{r}}\n"
        f"%c = stablehlo.constant dense<{value}> : {{r}}\n"
        "%r = stablehlo.multiply %f, %c : {r}"
    )
    found = emit_inline_mlir(torch, body, (*x.shape[:-1], length), dtype, x)
    return found.movedim(-1, dimension)


def _scale(sizes: Sequence[int], normalization: int) -> float:
    return {0: 1.0, 1: prod(sizes) ** -0.5, 2: 1.0 / prod(sizes)}[normalization]


@decomposition("_fft_c2c.default")
def complex_to_complex(
    torch: Any, x: Any, dim: Sequence[int], normalization: int, forward: bool
) -> Any:
    require(dim and is_static(x.shape))
    for each in dim:
        kind, size = "FFT" if forward else "IFFT", x.shape[each]
        x = _transform(torch, x, kind, each, size, x.dtype, _scale([size], normalization))
    return x


@decomposition("_fft_r2c.default")
def real_to_complex(
    torch: Any, x: Any, dim: Sequence[int], normalization: int, onesided: bool
) -> Any:
    require(dim and is_static(x.shape))
    if not onesided:
        whole = torch.view_as_complex(torch.stack((x, torch.zeros_like(x)), -1))
        return complex_to_complex(torch, whole, dim, normalization, True)
    size = x.shape[dim[-1]]
    scale = _scale([size], normalization)
    x = _transform(torch, x, "RFFT", dim[-1], size, x.dtype.to_complex(), scale)
    return complex_to_complex(torch, x, dim[:-1], normalization, True) if dim[:-1] else x


@decomposition("_fft_c2r.default")
def complex_to_real(
    torch: Any, x: Any, dim: Sequence[int], normalization: int, last_dim_size: int
) -> Any:
    require(dim and is_static(x.shape))
    if dim[:-1]:
        x = complex_to_complex(torch, x, dim[:-1], normalization, False)
    scale = _scale([last_dim_size], normalization)
    x = x.narrow(dim[-1], 0, last_dim_size // 2 + 1)
    return _transform(torch, x, "IRFFT", dim[-1], last_dim_size, x.dtype.to_real(), scale)

"""Decompose transposed convolutions of dynamic sizes that have one channel per group.

Zeros are put between the pixels, and a margin around them, for a convolution with the mirrored
window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .rules import decomposition, is_static, require, torch


@decomposition("convolution.default")
def depthwise_transposed(
    x: Any,
    weight: Any,
    bias: Any,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Any:
    """Convolve an enlarged image: torch-mlir's linalg collapses a wrong rank."""
    require(transposed and groups > 1 and not is_static(x.shape))
    require(is_static(weight.shape) and weight.shape[0] == weight.shape[1] * groups == groups)
    windows = weight.shape[2:]
    rank = len(windows)
    for axis in range(rank):
        x = _spread(x, axis - rank, stride[axis])
    margins: list[int] = []
    for axis in reversed(range(rank)):
        margin = dilation[axis] * (windows[axis] - 1) - padding[axis]
        margins += [margin, margin + output_padding[axis]]
    x = torch.nn.functional.pad(x, margins)
    ones, none = [1] * rank, [0] * rank
    mirrored = weight.flip(list(range(2, 2 + rank)))
    return torch.ops.aten.convolution.default(
        x, mirrored, bias, ones, none, dilation, False, none, groups
    )


def _spread(x: Any, dimension: int, stride: int) -> Any:
    """Put zeros between the elements along a dimension, which is counted from the end."""
    if stride == 1:
        return x
    zeros = [torch.zeros_like(x)] * (stride - 1)
    spread = torch.stack((x, *zeros), dimension).flatten(dimension - 1, dimension)
    return spread.narrow(dimension, 0, x.shape[dimension] * stride - stride + 1)

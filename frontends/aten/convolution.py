"""Decompose gradients of convolutions, and transposed convolutions of dynamic sizes.

The latter are those with one channel per group: zeros are put between the pixels, and a
margin around them, for a convolution with the mirrored window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .inline_mlir import emit_inline_mlir
from .rules import decomposition, for_axes, is_static, require, torch


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


@decomposition("convolution_backward.default")
def gradients(
    gradient: Any,
    x: Any,
    weight: Any,
    _: Any,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    wanted: Sequence[bool],
) -> tuple[Any, Any, Any]:
    """Return the gradients of a convolution where torch-mlir crashes.

    It may be transposed, in groups, of volumes, or skip the last pixels. The gradient of a
    convolution is a transposed one, and reversed.
    """
    require(is_static((*x.shape, *gradient.shape)))
    rank = len(weight.shape) - 2
    stride, padding, dilation = for_axes(rank, stride, padding, dilation)
    sizes = zip(x.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True)
    skipped = ((n + 2 * pad - apart * (w - 1) - 1) % step for n, w, step, pad, apart in sizes)
    require(transposed or groups > 1 or rank == 3 or any(skipped))
    if transposed:
        options = (stride, padding, dilation, False, [0] * rank, groups)
        of_x = torch.ops.aten.convolution.default(gradient, weight, None, *options)
        of_x = _window(of_x, [0] * rank, x.shape[2:])
    else:
        of_x = transposed_part(gradient, weight, stride, padding, dilation, groups, x.shape[2:])
    operands = (gradient, x) if transposed else (x, gradient)
    of_weight = _of_weight(*operands, weight.shape, (stride, padding, dilation), groups)
    of_bias = gradient.sum([0, *range(2, x.dim())])
    found = zip((of_x, of_weight, of_bias), wanted, strict=True)
    of_x, of_weight, of_bias = (each if is_wanted else None for each, is_wanted in found)
    return of_x, of_weight, of_bias


def transposed_part(
    x: Any,
    weight: Any,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    sizes: Sequence[int],
) -> Any:
    """Return the pixels of a transposed convolution from `padding` on, zeros after its end."""
    none = [0] * len(stride)
    options = (stride, none, dilation, True, none, groups)
    return _window(torch.ops.aten.convolution.default(x, weight, None, *options), padding, sizes)


def _of_weight(
    x: Any,
    gradient: Any,
    shape: Sequence[int],
    steps: tuple[Sequence[int], Sequence[int], Sequence[int]],
    groups: int,
) -> Any:
    """Convolve the operand with the gradient: channels become the batch, and the batch channels.

    Steps of the window become distances of its elements, and distances steps.
    """
    stride, dilation = list(steps[0]), list(steps[2])
    lengths = zip(x.shape[2:], gradient.shape[2:], shape[2:], *steps, strict=True)
    pads = [
        [pad, apart * (w - 1) + step * (m - 1) + 1 - n - pad]
        for n, m, w, step, pad, apart in lengths
    ]
    axes = ", ".join(map(str, range(len(stride))))
    body = (
        f"%r = stablehlo.convolution(%a0, %a1) "
        f"dim_numbers = [f, b, {axes}]x[i, o, {axes}]->[f, b, {axes}], "
        f"window = {{{{stride = {dilation}, pad = {pads}, rhs_dilate = {stride}}}}} "
        f"{{{{batch_group_count = {groups} : i64, feature_group_count = 1 : i64}}}} "
        ": ({0}, {1}) -> {r}"
    )
    return emit_inline_mlir(body, shape, x.dtype, x, gradient)


def _window(x: Any, starts: Sequence[int], sizes: Sequence[int]) -> Any:
    """Return a part of each image, which zeros follow."""
    for axis, (start, size) in enumerate(zip(starts, sizes, strict=True), 2):
        margin = [0] * (2 * (x.dim() - axis) - 1) + [max(0, start + size - x.shape[axis])]
        x = torch.nn.functional.pad(x, margin).narrow(axis, start, size)
    return x

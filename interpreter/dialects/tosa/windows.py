"""Execute convolutions, pooling, Fourier transforms and image resizing of the `tosa` dialect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from xdsl.ir import Operation

from ....ir.attribute_access import flag, integers, operation_name, text
from ....ir.diagnostics import OperationError
from ....runtime.abi.arrays import Array, Value, arithmetic_dtype
from ....runtime.abi.values import integer_width, signed
from ...frames import Frame
from ...numbers import width_of
from ...registry import Results, impl
from .data import numbers
from .operations import centred, ignores_nan, narrowed, saturated


def _windows(
    op: Operation, array: Array, kernel: Sequence[int], filler: float
) -> tuple[Array, Array]:
    """Return the windows of an NHWC array as N, OH, OW, C, KH, KW, and a mask of unpadded elements.

    `array` is padded by `pad` (top, bottom, left, right) with `filler`.
    """
    top, bottom, left, right = integers(op, "pad")
    dilations = integers(op, "dilation") or (1, 1)
    widths = ((0, 0), (top, bottom), (left, right), (0, 0))
    padded = np.pad(array, widths, constant_values=filler)
    inside = np.pad(np.ones(array.shape[1:3], np.bool_), widths[1:3])
    steps = integers(op, "stride"), dilations
    mask = _views(op, inside[None, :, :, None], kernel, *steps)
    return _views(op, padded, kernel, *steps), mask[0, :, :, 0]


def _views(
    op: Operation,
    padded: Array,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> Array:
    """Return the windows of an array (N, spatial, C) as (N, windows, C, kernel).

    Raises OperationError.
    """
    reach = [(size - 1) * step + 1 for size, step in zip(kernel, dilations, strict=True)]
    counts = [n - size + 1 for n, size in zip(padded.shape[1:-1], reach, strict=True)]
    if min(counts) < 0:
        raise OperationError(op, f"has a window of {reach}, larger than its padded input")
    if 0 in counts:
        # No window fits, so there are none. NumPy's view needs room for one.
        room = [(0, int(count == 0)) for count in counts]
        padded = np.pad(padded, ((0, 0), *room, (0, 0)))
    axes = tuple(range(1, 1 + len(reach)))
    first = tuple(slice(0, n, step) for n, step in zip(counts, strides, strict=True))
    spread = tuple(slice(None, None, step) for step in dilations)
    return sliding_window_view(padded, reach, axis=axes)[
        (slice(None), *first, slice(None), *spread)
    ]


@impl("tosa.conv2d", "tosa.depthwise_conv2d")
def _convolution(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source = centred(op, operands, 0, 3)
    weights = centred(op, operands, 1, 4)
    depthwise = operation_name(op) == "tosa.depthwise_conv2d"
    kernel = weights.shape[:2] if depthwise else weights.shape[1:3]
    # The input is already centred: padding by the zero point is padding by 0.
    views, _ = _windows(op, source, kernel, 0)
    if depthwise:
        product = np.einsum("nyxcij,ijcm->nyxcm", views, weights, optimize=True)
        total = product.reshape(*product.shape[:3], product.shape[3] * product.shape[4])
    else:
        total = np.einsum("nyxcij,oijc->nyxo", views, weights, optimize=True)
    return (narrowed(total + _wide_bias(op, operands, total), op.results[0].type),)


@impl("tosa.max_pool2d")
def _max_pool(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    value = np.asarray(operands[0])
    wide = value.astype(arithmetic_dtype(value.dtype), copy=False)
    width = integer_width(op.operands[0].type)
    lowest = -np.inf if width is None else float(-(1 << (width - 1)))
    views, _ = _windows(op, wide, integers(op, "kernel"), lowest)
    largest = np.fmax if ignores_nan(op) else np.maximum
    return (largest.reduce(views, axis=(4, 5)).astype(value.dtype),)


@impl("tosa.avg_pool2d")
def _average_pool(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source = centred(op, operands, 0, 1)
    views, mask = _windows(op, source, integers(op, "kernel"), 0)
    counts = mask.sum(axis=(2, 3))[None, :, :, None]
    total = views.sum(axis=(4, 5))
    if total.dtype.kind == "f":
        return (narrowed(total / counts.astype(total.dtype), op.results[0].type),)
    zero = np.asarray(operands[2]).reshape(())
    result = _divided(total, counts) + np.int64(zero)
    result_type = op.results[0].type
    return (narrowed(saturated(result, width_of(op, result_type)), result_type),)


def _divided(total: Array, counts: Array) -> Array:
    """Divide sums by the numbers of their terms as the TOSA specification does.

    It scales by a 31-bit reciprocal that is rounded up, so that halves round away from zero.
    """
    bits = 30 + np.ceil(np.log2(np.maximum(counts, 1))).astype(np.int64)
    factor = (((1 << 30) + 1) << (bits - 30)) // np.maximum(counts, 1)
    return (total * factor + (np.int64(1) << (bits - 1))) >> bits


@impl("tosa.conv3d")
def _convolution_3d(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source, weights = centred(op, operands, 0, 3), centred(op, operands, 1, 4)
    pad, strides = integers(op, "pad"), integers(op, "stride")
    dilations = integers(op, "dilation")
    padded = np.pad(source, ((0, 0), pad[:2], pad[2:4], pad[4:], (0, 0)))
    views = _views(op, padded, weights.shape[1:4], strides, dilations)
    total = np.einsum("ndyxcijk,oijkc->ndyxo", views, weights, optimize=True)
    return (narrowed(total + _wide_bias(op, operands, total), op.results[0].type),)


@impl("tosa.transpose_conv2d")
def _transposed_convolution(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    source, weights = centred(op, operands, 0, 3), centred(op, operands, 1, 4)
    top, bottom, left, right = integers(op, "out_pad")
    step_y, step_x = integers(op, "stride")
    batch, height, width, _ = source.shape
    outputs, kernel_y, kernel_x, _ = weights.shape
    shape = (
        batch,
        (height - 1) * step_y + kernel_y,
        (width - 1) * step_x + kernel_x,
        outputs,
    )
    total = np.zeros(shape, source.dtype)
    for i in range(kernel_y):
        for j in range(kernel_x):
            spread = total[:, i : i + height * step_y : step_y, j : j + width * step_x : step_x]
            spread[:, :height, :width] += source @ weights[:, i, j].T
    # Positive padding adds rows and columns of bias at the edges, negative padding crops.
    widths = ((0, 0), (max(top, 0), max(bottom, 0)), (max(left, 0), max(right, 0)), (0, 0))
    grown = np.pad(total, widths)
    cropped = grown[
        :,
        max(-top, 0) : grown.shape[1] - max(-bottom, 0),
        max(-left, 0) : grown.shape[2] - max(-right, 0),
    ]
    return (narrowed(cropped + _wide_bias(op, operands, total), op.results[0].type),)


def _wide_bias(op: Operation, operands: Sequence[Value], total: Array) -> Array:
    bias = np.asarray(operands[2])
    width = integer_width(op.operands[2].type)
    return bias.astype(total.dtype) if width is None else signed(bias, width).astype(np.int64)


@impl("tosa.rfft2d")
def _real_fourier(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    spectrum = np.fft.rfft2(np.asarray(operands[0]), axes=(1, 2))
    dtype = np.asarray(operands[0]).dtype
    return spectrum.real.astype(dtype), spectrum.imag.astype(dtype)


@impl("tosa.fft2d")
def _fourier(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    real, imaginary = (np.asarray(operand) for operand in operands)
    number = real + 1j * imaginary
    if flag(op, "inverse"):
        # Skip the division by the number of points: the operation does not do it.
        spectrum = np.fft.ifft2(number, axes=(1, 2), norm="forward")
    else:
        spectrum = np.fft.fft2(number, axes=(1, 2))
    return spectrum.real.astype(real.dtype), spectrum.imag.astype(real.dtype)


@impl("tosa.resize")
def _resize(op: Operation, operands: Sequence[Value], frame: Frame) -> Results:
    """Sample images at `(position * d + offset) / n`, where the scale is `n / d`.

    Source: the TOSA 1.0 specification, RESIZE.
    """
    image = np.asarray(operands[0])
    scale, offset = numbers(operands[1]), numbers(operands[2])
    border = numbers(operands[3])
    rows = _samples(op, image.shape[1], scale[:2], offset[0], border[0])
    columns = _samples(op, image.shape[2], scale[2:], offset[1], border[1])
    if "BILINEAR" not in text(op, "mode").upper():
        return (image[:, rows.nearest][:, :, columns.nearest],)
    # Compute narrow floats in f32: the sum of four elements is rounded once.
    is_float = integer_width(op.operands[0].type) is None
    wide = image.astype(arithmetic_dtype(image.dtype) if is_float else np.int64)
    total: Array = np.zeros((), wide.dtype)
    for places, heights in rows.weighted(wide.dtype):
        for others, widths in columns.weighted(wide.dtype):
            term = wide[:, places][:, :, others]
            total = total + term * heights[:, None, None] * widths[:, None]
    return (narrowed(total, op.results[0].type),)


@dataclass(frozen=True, slots=True)
class _Samples:
    """Sample positions along a dimension: `delta / parts` of the way from `low` to `high`."""

    low: Array
    high: Array
    delta: Array
    parts: int

    @property
    def nearest(self) -> Array:
        """The indices of the nearest elements; ties select the later one."""
        return np.where(2 * self.delta >= self.parts, self.high, self.low)

    def weighted(self, dtype: np.dtype[Any]) -> list[tuple[Array, Array]]:
        """Return both neighbours with weights that sum to 1 (floats) or to `parts` (integers)."""
        whole = np.asarray(self.parts, dtype)
        weights = [whole - self.delta.astype(dtype), self.delta.astype(dtype)]
        if dtype.kind == "f":
            share = self.delta.astype(dtype) / whole
            weights = [1 - share, share]
        return list(zip((self.low, self.high), weights, strict=True))


def _samples(
    op: Operation, extent: int, scale: Sequence[int], offset: int, border: int
) -> _Samples:
    parts, step = scale
    if parts < 1 or step < 1:
        raise OperationError(op, f"has the scale {parts}/{step}, expected positive numbers")
    reach = (extent - 1) * parts - offset + border
    if reach < 0 or reach % step:
        raise OperationError(
            op,
            f"samples {extent} elements from {offset} to {border} behind the last in {parts} parts"
            f" each, which steps of {step} do not divide",
        )
    if not (-parts <= offset and border < parts):
        raise OperationError(
            op, f"samples from {offset} to {border} behind the last, outside of the image"
        )
    places = np.arange(reach // step + 1, dtype=np.int64) * step + offset
    low = places // parts
    last = extent - 1
    return _Samples(np.clip(low, 0, last), np.clip(low + 1, 0, last), places - low * parts, parts)

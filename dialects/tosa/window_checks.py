"""Verifiers of tosa's contractions, convolutions and poolings. They raise VerifyException."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import number_list
from ...ir.tensor_types import StaticShape, shape_text, sizes_agree, static_shape
from .checks import require_shape, verify_zero_points


def verify_matmul(operation: Operation) -> None:
    """Check that N x H x C times N x C x W gives N x H x W."""
    verify_zero_points(operation, 2)
    left, right = static_shape(operation.operands[0]), static_shape(operation.operands[1])
    if len(left) != 3 or len(right) != 3:
        raise VerifyException(f"expected operands of rank 3, got {len(left)} and {len(right)}")
    if not sizes_agree(left[0], right[0]) or not sizes_agree(left[2], right[1]):
        raise VerifyException(
            f"expected operands N x H x C and N x C x W, got '{shape_text(left, 'x')}' and "
            f"'{shape_text(right, 'x')}'"
        )
    batch = left[0] if left[0] >= 0 else right[0]
    require_shape(operation.results[0], (batch, left[1], right[2]), "output")


def _window_extent(
    name: str, size: int, kernel: int, stride: int, dilation: int, before: int, after: int
) -> int:
    """Return the number of windows along a dimension; -1 if it is dynamic.

    Raises VerifyException if the windows do not fill the dimension exactly.
    """
    if size < 0 or kernel < 0:
        return -1
    room = size + before + after - (kernel - 1) * dilation - 1
    if room % stride:
        raise VerifyException(
            f"expected input_{name} - 1 + pads - (kernel_{name} - 1) * dilation to be wholly "
            f"divisible by its stride, got ({size} - 1 + {before} + {after} - ({kernel} - 1) * "
            f"{dilation}) / {stride}"
        )
    return room // stride + 1


_SPATIAL_NAMES = ("depth", "height", "width")


def _windows(operation: Operation, sizes: StaticShape, kernels: StaticShape) -> list[int]:
    count = len(sizes)
    strides = number_list(operation.properties["stride"])
    dilations = number_list(operation.properties.get("dilation")) or (1,) * count
    pads = number_list(operation.properties["pad"])
    for name, numbers, wanted in (
        ("stride", strides, count),
        ("dilation", dilations, count),
        ("pad", pads, 2 * count),
    ):
        if len(numbers) != wanted:
            raise VerifyException(f"expected {wanted} numbers in '{name}', got {len(numbers)}")
    if 0 in kernels:
        raise VerifyException(f"expect all kernel values to be >= 1, got {shape_text(kernels)}")
    if min((*strides, *dilations)) < 1 or min(pads) < 0:
        raise VerifyException("expected positive strides and dilations and no negative padding")
    return [
        _window_extent(
            _SPATIAL_NAMES[3 - count + i],
            sizes[i],
            kernels[i],
            strides[i],
            dilations[i],
            pads[2 * i],
            pads[2 * i + 1],
        )
        for i in range(count)
    ]


def _require_windows(operation: Operation, extents: Sequence[int]) -> None:
    result = static_shape(operation.results[0])
    names = _SPATIAL_NAMES[3 - len(extents) :]
    for name, extent, size in zip(names, extents, result[1:], strict=False):
        if not sizes_agree(extent, size):
            raise VerifyException(
                f"calculated output {name} did not match expected: calculated={extent}, "
                f"expected={size}"
            )


def verify_conv(operation: Operation) -> None:
    """Check that N x spatial x C with weights F x kernel x C gives N x spatial x F."""
    verify_zero_points(operation, 3)
    source, weight, bias = map(static_shape, operation.operands[:3])
    rank = len(source)
    if rank not in (4, 5) or len(weight) != rank:
        raise VerifyException(
            f"expected input and weight of one rank, 4 or 5, got {rank} and {len(weight)}"
        )
    extents = _windows(operation, source[1:-1], weight[1:-1])
    _require_windows(operation, extents)
    if not sizes_agree(source[-1], weight[-1]):
        raise VerifyException(
            f"expected as many input channels in the weight as in the input, got {weight[-1]} "
            f"and {source[-1]}"
        )
    if len(bias) != 1 or (bias[0] != 1 and not sizes_agree(bias[0], weight[0])):
        raise VerifyException(
            f"bias channels expected to be equal to output channels ({weight[0]}) or 1, got "
            f"{shape_text(bias)}"
        )
    require_shape(operation.results[0], (source[0], *extents, weight[0]), "output")


def verify_depthwise_conv2d(operation: Operation) -> None:
    """Check that N x H x W x C with weights KH x KW x C x M gives N x H x W x (C * M)."""
    verify_zero_points(operation, 3)
    source, weight = map(static_shape, operation.operands[:2])
    if len(source) != 4 or len(weight) != 4:
        raise VerifyException(
            f"expected input and weight of rank 4, got {len(source)} and {len(weight)}"
        )
    extents = _windows(operation, source[1:3], weight[:2])
    _require_windows(operation, extents)
    if not sizes_agree(source[3], weight[2]):
        raise VerifyException(
            f"expected as many channels in the weight as in the input, got {weight[2]} and "
            f"{source[3]}"
        )
    channels = -1 if min(weight[2:]) < 0 else weight[2] * weight[3]
    require_shape(operation.results[0], (source[0], *extents, channels), "output")


def verify_pool2d(operation: Operation) -> None:
    """Check that N x H x W x C gives N x H' x W' x C."""
    verify_zero_points(operation, 1)
    source, kernel = (
        static_shape(operation.operands[0]),
        number_list(operation.properties["kernel"]),
    )
    if len(source) != 4 or len(kernel) != 2:
        raise VerifyException(
            f"expected an input of rank 4 and a kernel of 2 sizes, got {len(source)} and "
            f"{len(kernel)}"
        )
    extents = _windows(operation, source[1:3], kernel)
    _require_windows(operation, extents)
    require_shape(operation.results[0], (source[0], *extents, source[3]), "output")

"""Verifiers of tosa's contractions, convolutions and poolings. They raise VerifyException."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from ...ir.attribute_access import number_list
from ...ir.tensor_types import StaticShape, shape_text, sizes_agree, static_shape
from .attributes import ShapeType
from .checks import require_shape
from .element_checks import (
    require_same_stored,
    verify_accumulator,
    verify_convolution_elements,
    verify_zero_points,
)
from .operation_kinds import constant_numbers


def verify_matmul(operation: Operation) -> None:
    """Check that N x H x C times N x C x W gives N x H x W."""
    verify_zero_points(operation, 2, operation.operands[:2])
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
    verify_convolution_elements(operation)
    source, weight = map(static_shape, operation.operands[:2])
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
    _require_bias(operation, weight[0])
    require_shape(operation.results[0], (source[0], *extents, weight[0]), "output")


def _require_bias(operation: Operation, channels: int) -> None:
    bias = static_shape(operation.operands[2])
    if len(bias) != 1 or (bias[0] != 1 and not sizes_agree(bias[0], channels)):
        raise VerifyException(
            f"bias channels expected to be equal to output channels ({channels}) or 1, got "
            f"{shape_text(bias)}"
        )


def verify_depthwise_conv2d(operation: Operation) -> None:
    """Check that N x H x W x C with weights KH x KW x C x M gives N x H x W x (C * M)."""
    verify_convolution_elements(operation)
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
    _require_bias(operation, channels)
    require_shape(operation.results[0], (source[0], *extents, channels), "output")


def verify_pool2d(operation: Operation) -> None:
    """Check that N x H x W x C gives N x H' x W' x C."""
    if operation.name == "tosa.avg_pool2d":
        verify_accumulator(operation)
        verify_zero_points(operation, 1, (operation.operands[0], operation.results[0]))
    require_same_stored(operation.operands[0], operation.results[0], "input and output")
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


def verify_transpose_conv2d(operation: Operation) -> None:
    """Check N x H x W x C with weights F x KH x KW x C, and the extents that `out_pad` gives."""
    verify_convolution_elements(operation)
    source, weight = map(static_shape, operation.operands[:2])
    strides, pads = (number_list(operation.properties[name]) for name in ("stride", "out_pad"))
    if len(source) != 4 or len(weight) != 4 or len(strides) != 2 or len(pads) != 4:
        raise VerifyException("expected input and weight of rank 4, 2 strides and 4 'out_pad'")
    if min(strides) < 1:
        raise VerifyException(f"expect all stride values to be >= 1, got {list(strides)}")
    extents: list[int] = []
    for index in range(2):
        size, kernel, before, after = source[1 + index], weight[1 + index], *pads[2 * index :][:2]
        if 0 <= kernel <= -min(before, after):
            raise VerifyException(f"expected out_pad > -{kernel}, but got {[before, after]}")
        known = min(size, kernel) >= 0
        extents.append((size - 1) * strides[index] + before + after + kernel if known else -1)
    _require_windows(operation, extents)
    if not sizes_agree(source[3], weight[3]):
        raise VerifyException(
            f"expected as many input channels in the weight as in the input, got {weight[3]} "
            f"and {source[3]}"
        )
    _require_bias(operation, weight[0])
    require_shape(operation.results[0], (source[0], *extents, weight[0]), "output")


def verify_transform(operation: Operation) -> None:
    """Check N x H x W numbers of a transform; a real one gives N x H x (W / 2 + 1)."""
    shape = static_shape(operation.operands[0])
    if len(shape) != 3:
        raise VerifyException(f"operand #0 must have rank 3, got '{operation.operands[0].type}'")
    for name, size in zip(_SPATIAL_NAMES[1:], shape[1:], strict=True):
        if size >= 0 and size.bit_count() != 1:
            raise VerifyException(f"expected {name} to be a power of two, got {size}")
    others = (*operation.operands[1:], *operation.results)
    for each in others:
        require_same_stored(operation.operands[0], each, "all operands and results")
        halved = operation.name == "tosa.rfft2d" and shape[2] >= 0
        require_shape(each, (*shape[:2], shape[2] // 2 + 1 if halved else shape[2]), "output")


def verify_resize(operation: Operation) -> None:
    """Check scale, offset and border of N x H x W x C, and the extents of the result."""
    shape, result = static_shape(operation.operands[0]), static_shape(operation.results[0])
    if len(shape) != 4 or len(result) != 4:
        raise VerifyException(
            f"expected input and output of rank 4, got {len(shape)} and {len(result)}"
        )
    for value, rank in zip(operation.operands[1:], (4, 2, 2), strict=True):
        if not isinstance(value.type, ShapeType) or value.type.rank.data != rank:
            raise VerifyException(f"expected a tosa shape of rank {rank}, got '{value.type}'")
    scale, offset, border = map(constant_numbers, operation.operands[1:])
    if scale is not None and min(scale) < 1:
        raise VerifyException(f"expect all scale values to be > 0, got {shape_text(scale)}")
    for index, name in enumerate(_SPATIAL_NAMES[1:]):
        if scale is None or offset is None or border is None or shape[1 + index] < 0:
            continue
        upper, lower = scale[2 * index : 2 * index + 2]
        reach = (shape[1 + index] - 1) * upper - offset[index] + border[index]
        if reach % lower:
            raise VerifyException(
                f"expected (input_{name} - 1) * scale_n - offset + border to be wholly divisible "
                f"by scale_d, got {reach} / {lower}"
            )
        if not sizes_agree(reach // lower + 1, result[1 + index]):
            raise VerifyException(
                f"calculated output {name} did not match expected: "
                f"calculated={reach // lower + 1}, expected={result[1 + index]}"
            )
    require_shape(operation.results[0], (shape[0], -1, -1, shape[3]), "output")

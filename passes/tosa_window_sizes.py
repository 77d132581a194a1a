"""How large the results of `tosa` convolutions and poolings are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from xdsl.dialects.arith import AddiOp, DivUIOp, MuliOp
from xdsl.dialects.builtin import TensorType
from xdsl.ir import OpResult, SSAValue

from ..ir.locations import builder_before
from .sharding.rules.tosa_windows import sliding

if TYPE_CHECKING:
    from .dimension_sizes import DimensionSizes

Size: TypeAlias = SSAValue | int
Rule = Callable[["DimensionSizes", OpResult, int], Size | None]


def scaled(
    sizes: DimensionSizes, value: OpResult, size: Size, factor: int, offset: int, divisor: int
) -> Size:
    """(size * factor + offset) / divisor, of numbers that are not negative, rounded down."""
    if isinstance(size, int):
        return (size * factor + offset) // divisor
    builder = builder_before(value.op)
    if factor != 1:
        size = builder.insert(MuliOp(size, sizes.constant(factor, value))).result
    if offset:
        size = builder.insert(AddiOp(size, sizes.constant(offset, value))).result
    if divisor != 1:
        size = builder.insert(DivUIOp(size, sizes.constant(divisor, value))).result
    return size


def _channels(sizes: DimensionSizes, value: OpResult) -> Size:
    """As many as the weight has outputs; pooling keeps those of the image."""
    operation = value.op
    if "pool" in operation.name:
        return sizes.size(operation.operands[0], 3)
    weight = operation.operands[1]
    if operation.name != "tosa.depthwise_conv2d":
        return sizes.size(weight, 0)
    channels, multiplier = sizes.size(weight, 2), sizes.size(weight, 3)
    if isinstance(channels, int):
        channels, multiplier = multiplier, channels
    if isinstance(multiplier, int):
        return scaled(sizes, value, channels, multiplier, 0, 1)
    builder = builder_before(operation)
    return builder.insert(MuliOp(sizes.value(weight, 2), multiplier)).result


def _windows(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """As many windows as fit into the padded image."""
    operation = value.op
    image = operation.operands[0]
    windows, image_type = sliding(operation), image.type
    if not isinstance(image_type, TensorType) or windows is None:
        return None
    if index == 0:
        return sizes.size(image, 0)
    if index == len(image_type.get_shape()) - 1:
        return _channels(sizes, value)
    window, extent = windows[index - 1], sizes.size(image, index)
    around = window.before + window.after
    if operation.name == "tosa.transpose_conv2d":
        grown = window.size - window.stride + around
        return scaled(sizes, value, extent, window.stride, grown, 1)
    room = around - window.reach + window.stride
    return scaled(sizes, value, extent, 1, room, window.stride)


TOSA_WINDOW_SIZES: dict[str, Rule] = dict.fromkeys(
    (
        "tosa.avg_pool2d",
        "tosa.conv2d",
        "tosa.conv3d",
        "tosa.depthwise_conv2d",
        "tosa.max_pool2d",
        "tosa.transpose_conv2d",
    ),
    _windows,
)
"""Where the sizes of a result are, by operation."""

"""Rules for the sizes of the results of `tosa` ops."""

from __future__ import annotations

from functools import reduce
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import OpResult, SSAValue

from ...ir.attribute_access import attribute, number_list, optional_integer
from ...ir.index_folding import known_first
from ..sharding.rules.tosa import ELEMENTWISE, LEADING_OPERANDS, REDUCTIONS, constant_shape
from ..sharding.rules.tosa_windows import sliding
from .dimension_sizes import DimensionSizes, Rule, Size, SizeArithmetic, like, size_rule


def _broadcast(count: int | None) -> Rule:
    """Return a rule: the broadcast size of the first `count` operands, of all if it is `None`."""

    def rule(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
        found: Size = 1
        for operand in value.op.operands[:count]:
            if not isinstance(operand.type, TensorType):
                continue
            size = sizes.size(operand, index)
            if size in (1, found):
                continue
            if isinstance(size, int) or found == 1:
                found = size
            elif isinstance(found, SSAValue):
                found = SizeArithmetic(sizes, value).maximum(found, size)
        return found

    return rule


@size_rule("tosa.matmul")
def _product(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    return sizes.size(value.op.operands[1 if index == 2 else 0], index)


@size_rule("tosa.transpose")
def _transposed(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    order = number_list(attribute(value.op, "perms"))
    return sizes.size(value.op.operands[0], order[index]) if index < len(order) else None


for _name in (*ELEMENTWISE, *LEADING_OPERANDS):
    size_rule(f"tosa.{_name}")(_broadcast(LEADING_OPERANDS.get(_name)))
size_rule("tosa.reverse", "tosa.scatter", *(f"tosa.reduce_{name}" for name in REDUCTIONS))(like(0))


@size_rule("tosa.argmax")
def _argmax(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """Return the operand's size, without the searched dimension."""
    axis = optional_integer(value.op, "axis")
    return None if axis is None else sizes.size(value.op.operands[0], index + (index >= axis))


@size_rule("tosa.gather")
def _gather(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """Return batch and channel sizes of the table, or the number of indices."""
    return sizes.size(value.op.operands[1 if index == 1 else 0], index)


@size_rule("tosa.pad")
def _pad(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    widths = constant_shape(value.op, 1)
    if widths is None:
        return None
    added = sum(widths[2 * index : 2 * index + 2])
    return SizeArithmetic(sizes, value).add(sizes.size(value.op.operands[0], index), added)


@size_rule("tosa.reshape")
def _reshape(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """Return the only dynamic size: all elements over the product of the static sizes."""
    result = value.type
    if not isinstance(result, TensorType):
        return None
    others = [extent for other, extent in enumerate(result.get_shape()) if other != index]
    before = sizes.sizes(value.op.operands[0])
    if DYNAMIC_INDEX in others or sum(isinstance(size, SSAValue) for size in before) > 1:
        return None
    if 0 in others:
        return 0
    arithmetic = SizeArithmetic(sizes, value)
    count = reduce(arithmetic.multiply, known_first(before), 1)
    return arithmetic.divide(count, prod(others))


@size_rule("tosa.slice")
def _slice(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    lengths = constant_shape(value.op, 2)
    return None if lengths is None or lengths[index] < 0 else lengths[index]


@size_rule("tosa.tile")
def _tile(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    multiples = constant_shape(value.op, 1)
    if multiples is None:
        return None
    size = sizes.size(value.op.operands[0], index)
    return SizeArithmetic(sizes, value).multiply(size, multiples[index])


def _channels(sizes: DimensionSizes, value: OpResult) -> Size:
    """Return the number of output channels: of the weight or, for pooling, of the image."""
    operation = value.op
    if "pool" in operation.name:
        return sizes.size(operation.operands[0], 3)
    weight = operation.operands[1]
    if operation.name != "tosa.depthwise_conv2d":
        return sizes.size(weight, 0)
    return SizeArithmetic(sizes, value).multiply(sizes.size(weight, 2), sizes.size(weight, 3))


@size_rule(
    "tosa.avg_pool2d",
    "tosa.conv2d",
    "tosa.conv3d",
    "tosa.depthwise_conv2d",
    "tosa.max_pool2d",
    "tosa.transpose_conv2d",
)
def _windows(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """Return the number of windows that fit into the padded image."""
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
    arithmetic = SizeArithmetic(sizes, value)
    if operation.name == "tosa.transpose_conv2d":
        grown = window.size - window.stride + around
        return arithmetic.add(arithmetic.multiply(extent, window.stride), grown)
    room = around - window.reach + window.stride
    return arithmetic.divide(arithmetic.add(extent, room), window.stride)

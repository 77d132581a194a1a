"""Rules for the sizes of the results of `tosa` ops."""

from __future__ import annotations

from functools import reduce
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import OpResult

from ...ir.attribute_access import attribute, integer, number_list, optional_integer
from ...ir.index_folding import known_first
from ..result_sizes import Rule, Sizes, V, like, size_rule
from .operation_kinds import ELEMENTWISE, LEADING_OPERANDS, REDUCTIONS, constant_numbers
from .windows import sliding


def _broadcast(count: int | None) -> Rule:
    """Return a rule: the broadcast size of the first `count` operands, of all if it is `None`."""

    def rule(sizes: Sizes[V], value: OpResult, index: int) -> int | V:
        tensors = (each for each in value.op.operands[:count] if isinstance(each.type, TensorType))
        found = (sizes.size(each, index) for each in tensors)
        return reduce(sizes.arithmetic(value).broadcast, found, 1)

    return rule


@size_rule("tosa.matmul")
def _product(sizes: Sizes[V], value: OpResult, index: int) -> int | V | None:
    return sizes.size(value.op.operands[1 if index == 2 else 0], index)


@size_rule("tosa.transpose")
def _transposed(sizes: Sizes[V], value: OpResult, index: int) -> int | V | None:
    order = number_list(attribute(value.op, "perms"))
    return sizes.size(value.op.operands[0], order[index]) if index < len(order) else None


for _name in (*ELEMENTWISE, *LEADING_OPERANDS):
    size_rule(f"tosa.{_name}")(_broadcast(LEADING_OPERANDS.get(_name)))
size_rule("tosa.fft2d", "tosa.reverse", "tosa.scatter")(like(0))


@size_rule("tosa.rfft2d")
def _half(sizes: Sizes[V], value: OpResult, index: int) -> int | V:
    """Return the operand's size, or the number of different frequencies of a row."""
    size, arithmetic = sizes.size(value.op.operands[0], index), sizes.arithmetic(value)
    return arithmetic.add(arithmetic.divide(size, 2), 1) if index == 2 else size


@size_rule("tosa.resize")
def _resized(sizes: Sizes[V], value: OpResult, index: int) -> int | V | None:
    """Return the number of samples, from an image's offset to its border."""
    size = sizes.size(value.op.operands[0], index)
    scale, offsets, borders = (constant_numbers(each) for each in value.op.operands[1:])
    if index not in (1, 2):
        return size
    if scale is None or offsets is None or borders is None:
        return None
    (parts, step), arithmetic = scale[2 * index - 2 :][:2], sizes.arithmetic(value)
    reach = arithmetic.multiply(arithmetic.add(size, -1), parts)
    around = borders[index - 1] - offsets[index - 1] + step
    return arithmetic.divide(arithmetic.add(reach, around), step)


@size_rule(*(f"tosa.reduce_{name}" for name in REDUCTIONS))
def _reduced(sizes: Sizes[V], value: OpResult, index: int) -> int | V:
    return 1 if index == integer(value.op, "axis") else sizes.size(value.op.operands[0], index)


@size_rule("tosa.argmax")
def _argmax(sizes: Sizes[V], value: OpResult, index: int) -> int | V | None:
    """Return the operand's size, without the searched dimension."""
    axis = optional_integer(value.op, "axis")
    return None if axis is None else sizes.size(value.op.operands[0], index + (index >= axis))


@size_rule("tosa.gather")
def _gather(sizes: Sizes[V], value: OpResult, index: int) -> int | V | None:
    """Return batch and channel sizes of the table, or the number of indices."""
    return sizes.size(value.op.operands[1 if index == 1 else 0], index)


@size_rule("tosa.pad")
def _pad(sizes: Sizes[V], value: OpResult, index: int) -> int | V | None:
    widths = constant_numbers(value.op.operands[1])
    if widths is None:
        return None
    added = sum(widths[2 * index : 2 * index + 2])
    return sizes.arithmetic(value).add(sizes.size(value.op.operands[0], index), added)


@size_rule("tosa.reshape")
def _reshape(sizes: Sizes[V], value: OpResult, index: int) -> int | V | None:
    """Return the only dynamic size: all elements over the product of the static sizes."""
    result = value.type
    if not isinstance(result, TensorType):
        return None
    others = [extent for other, extent in enumerate(result.get_shape()) if other != index]
    before = sizes.sizes(value.op.operands[0])
    if DYNAMIC_INDEX in others:
        return None
    if 0 in others:
        return 0
    arithmetic = sizes.arithmetic(value)
    count = reduce(arithmetic.multiply, known_first(before), 1)
    return arithmetic.divide(count, prod(others))


@size_rule("tosa.slice")
def _slice(sizes: Sizes[V], value: OpResult, index: int) -> int | V | None:
    lengths = constant_numbers(value.op.operands[2])
    return None if lengths is None or lengths[index] < 0 else lengths[index]


@size_rule("tosa.tile")
def _tile(sizes: Sizes[V], value: OpResult, index: int) -> int | V | None:
    multiples = constant_numbers(value.op.operands[1])
    if multiples is None:
        return None
    size = sizes.size(value.op.operands[0], index)
    return sizes.arithmetic(value).multiply(size, multiples[index])


def _channels(sizes: Sizes[V], value: OpResult) -> int | V:
    """Return the number of output channels: of the weight or, for pooling, of the image."""
    operation = value.op
    if "pool" in operation.name:
        return sizes.size(operation.operands[0], 3)
    weight = operation.operands[1]
    if operation.name != "tosa.depthwise_conv2d":
        return sizes.size(weight, 0)
    return sizes.arithmetic(value).multiply(sizes.size(weight, 2), sizes.size(weight, 3))


@size_rule(
    "tosa.avg_pool2d",
    "tosa.conv2d",
    "tosa.conv3d",
    "tosa.depthwise_conv2d",
    "tosa.max_pool2d",
    "tosa.transpose_conv2d",
)
def _windows(sizes: Sizes[V], value: OpResult, index: int) -> int | V | None:
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
    arithmetic = sizes.arithmetic(value)
    if operation.name == "tosa.transpose_conv2d":
        grown = window.size - window.stride + around
        return arithmetic.add(arithmetic.multiply(extent, window.stride), grown)
    room = around - window.reach + window.stride
    return arithmetic.divide(arithmetic.add(extent, room), window.stride)

"""How large the results of `tosa` operations are."""

from __future__ import annotations

from xdsl.dialects.arith import AddiOp, DivUIOp, MaxSIOp, MuliOp
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import OpResult, SSAValue

from ...ir.attribute_access import attribute, number_list
from ...ir.locations import builder_before
from ..sharding.rules.builder import integer
from ..sharding.rules.tosa import constant_shape
from ..sharding.rules.tosa_windows import sliding
from .dimension_sizes import DimensionSizes, Rule, Size, size_rule


def _broadcast(count: int) -> Rule:
    """The common size of the first operands, of which some may have one element instead."""

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
                builder = builder_before(value.op)
                found = builder.insert(MaxSIOp(found, size)).result
        return found

    return rule


def _like_source(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    return sizes.size(value.op.operands[0], index)


@size_rule("tosa.matmul")
def _product(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    return sizes.size(value.op.operands[1 if index == 2 else 0], index)


@size_rule("tosa.transpose")
def _transposed(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    order = number_list(attribute(value.op, "perms"))
    return sizes.size(value.op.operands[0], order[index]) if index < len(order) else None


UNARY = (
    "abs bitwise_not cast ceil clamp clz cos erf exp floor identity log logical_not negate"
    " reciprocal rescale reverse rsqrt sigmoid sin tanh"
)
BINARY = (
    "add arithmetic_right_shift bitwise_and bitwise_or bitwise_xor equal greater greater_equal"
    " intdiv logical_and logical_left_shift logical_or logical_right_shift logical_xor maximum"
    " minimum mul pow sub"
)
REDUCTIONS = "all any max min product sum"

ELEMENTWISE_UNARY = (*UNARY.split(), *(f"reduce_{name}" for name in REDUCTIONS.split()))
size_rule(*(f"tosa.{name}" for name in ELEMENTWISE_UNARY))(_like_source)
size_rule(*(f"tosa.{name}" for name in BINARY.split()))(_broadcast(2))
size_rule("tosa.select")(_broadcast(3))


@size_rule("tosa.argmax")
def _argmax(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """The searched dimension is left out."""
    axis = integer(value.op, "axis")
    return None if axis is None else sizes.size(value.op.operands[0], index + (index >= axis))


@size_rule("tosa.concat")
def _concat(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    operands = value.op.operands
    if integer(value.op, "axis") != index:
        return sizes.size(operands[0], index)
    total: SSAValue | None = None
    known = 0
    for operand in operands:
        size = sizes.size(operand, index)
        if isinstance(size, int):
            known += size
        elif total is None:
            total = size
        else:
            total = builder_before(value.op).insert(AddiOp(total, size)).result
    return known if total is None else scaled(sizes, value, total, 1, known, 1)


@size_rule("tosa.gather")
def _gather(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """Batch and channels are the table's, rows those of the indices."""
    return sizes.size(value.op.operands[1 if index == 1 else 0], index)


@size_rule("tosa.pad")
def _pad(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    widths = constant_shape(value.op, 1)
    if widths is None:
        return None
    added = sum(widths[2 * index : 2 * index + 2])
    return scaled(sizes, value, sizes.size(value.op.operands[0], index), 1, added, 1)


@size_rule("tosa.reshape")
def _reshape(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    """The only extent that is not known holds what the others leave of all elements."""
    result, divisor, factor = value.type, 1, 1
    if not isinstance(result, TensorType):
        return None
    for place, extent in enumerate(result.get_shape()):
        if place != index:
            divisor *= extent
            if extent == DYNAMIC_INDEX:
                return None
    unknown: SSAValue | None = None
    for size in sizes.sizes(value.op.operands[0]):
        if isinstance(size, int):
            factor *= size
        elif unknown is None:
            unknown = size
        else:
            return None
    if divisor == 0:
        return 0
    return scaled(sizes, value, 1 if unknown is None else unknown, factor, 0, divisor)


@size_rule("tosa.slice")
def _slice(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    del sizes
    lengths = constant_shape(value.op, 2)
    return None if lengths is None or lengths[index] < 0 else lengths[index]


@size_rule("tosa.scatter", "tosa.table")
def _source(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    return sizes.size(value.op.operands[0], index)


@size_rule("tosa.tile")
def _tile(sizes: DimensionSizes, value: OpResult, index: int) -> Size | None:
    multiples = constant_shape(value.op, 1)
    if multiples is None:
        return None
    return scaled(sizes, value, sizes.size(value.op.operands[0], index), multiples[index], 0, 1)


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


@size_rule(
    "tosa.avg_pool2d",
    "tosa.conv2d",
    "tosa.conv3d",
    "tosa.depthwise_conv2d",
    "tosa.max_pool2d",
    "tosa.transpose_conv2d",
)
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

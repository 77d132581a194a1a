"""Rules of `tosa` convolutions and poolings: images are split by batch and by channel.

Windows slide over whole images: their operations carry their own padding, so a process could not
compute a part of an image alone. Input channels are needed whole because the bias is added to
the sum over them.
"""

from __future__ import annotations

from xdsl.ir import Operation

from ....sharding.factors import FactorKind, FactorRule
from .builder import RuleBuilder, Shape, shape_of
from .registry import rule

_WHOLE = FactorKind.NEED_REPLICATION


def _images(builder: RuleBuilder, image: Shape, result: Shape) -> int:
    """Say that an image and a result share the batch alone, and return the batch's factor."""
    batch = builder.factor(image[0])
    builder.operand(0, 0, batch)
    builder.result(0, 0, batch)
    for dimension in range(1, len(image) - 1):
        builder.operand(0, dimension, builder.factor(image[dimension], _WHOLE))
        builder.result(0, dimension, builder.factor(result[dimension], _WHOLE))
    return batch


@rule("tosa.conv2d", "tosa.conv3d", "tosa.transpose_conv2d")
def convolution(operation: Operation) -> FactorRule | None:
    """Image `[n, ..., i]`, weight `[o, ..., i]`, bias `[o]`, result `[n, ..., o]`."""
    image, weight, bias = (shape_of(operand) for operand in operation.operands[:3])
    result = shape_of(operation.results[0])
    if image is None or weight is None or bias is None or result is None:
        return None
    builder = RuleBuilder(operation)
    _images(builder, image, result)
    last = len(image) - 1
    inputs, outputs = builder.factor(image[last], _WHOLE), builder.factor(result[last])
    builder.operand(0, last, inputs)
    builder.operand(1, 0, outputs)
    for dimension in range(1, last):
        builder.operand(1, dimension, builder.factor(weight[dimension], _WHOLE))
    builder.operand(1, last, inputs)
    if bias[0] == result[last]:
        builder.operand(2, 0, outputs)
    builder.result(0, last, outputs)
    return builder.build()


@rule("tosa.depthwise_conv2d")
def depthwise(operation: Operation) -> FactorRule | None:
    """Image `[n, h, w, c]`, weight `[y, x, c, m]`, bias `[c m]`, result `[n, h, w, c m]`."""
    image, weight, bias = (shape_of(operand) for operand in operation.operands[:3])
    result = shape_of(operation.results[0])
    if image is None or weight is None or bias is None or result is None:
        return None
    builder = RuleBuilder(operation)
    _images(builder, image, result)
    channel, multiplier = builder.factor(image[3]), builder.factor(weight[3], _WHOLE)
    builder.operand(0, 3, channel)
    window = [builder.factor(weight[dimension], _WHOLE) for dimension in (0, 1)]
    builder.operand_dimensions(1, [(window[0],), (window[1],), (channel,), (multiplier,)])
    if bias[0] == result[3]:
        builder.operand(2, 0, channel, multiplier)
    builder.result(0, 3, channel, multiplier)
    return builder.build()


@rule("tosa.avg_pool2d", "tosa.max_pool2d", "tosa.resize")
def pooling(operation: Operation) -> FactorRule | None:
    """Batch and channels are independent of each other."""
    image, result = shape_of(operation.operands[0]), shape_of(operation.results[0])
    if image is None or result is None or len(image) != len(result):
        return None
    builder = RuleBuilder(operation)
    _images(builder, image, result)
    channel = builder.factor(image[-1])
    builder.operand(0, len(image) - 1, channel)
    builder.result(0, len(image) - 1, channel)
    return builder.build()

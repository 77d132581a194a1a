"""Rules of `tosa` convolutions and poolings, which are split by batch, channels and space.

Windows slide along the dimensions between batch and channels. A process that computes a part of the
result there needs a section of the image that other processes may own; padding is added by the
processes at the ends. A sum over input channels can be split if the bias is added once.
"""

from __future__ import annotations

from xdsl.ir import Operation

from ....dialects.tosa.windows import sliding
from ....ir.tensor_types import Shape, tensor_shape
from ....sharding.factors import FactorKind, FactorRule
from .builder import RuleBuilder
from .combiners import combiner_of
from .registry import sharding_rule

_REPLICATED = FactorKind.NEED_REPLICATION


def _images(builder: RuleBuilder, operation: Operation, image: Shape, result: Shape) -> None:
    """Add the factors that image and result share, apart from the channels."""
    builder.shared(0, image[0] if result[0] is None else result[0])
    windows = sliding(operation)
    for dimension in range(1, len(image) - 1):
        before, after = image[dimension], result[dimension]
        window = None if windows is None else windows[dimension - 1]
        if window is not None and window.stays:
            builder.shared(dimension, before if after is None else after)
        elif window is not None and before is not None and after is not None:
            builder.shared(dimension, after, FactorKind.PERMUTATION)
            if operation.name != "tosa.transpose_conv2d":
                builder.window(window.reads(dimension, before))
        else:
            builder.needs_replication(dimension, before, after)


@sharding_rule("tosa.conv2d", "tosa.conv3d", "tosa.transpose_conv2d")
def convolution(operation: Operation) -> FactorRule | None:
    """Return the rule: image `[n, ..., i]`, weight `[o, ..., i]`, bias `[o]` -> `[n, ..., o]`."""
    image, weight, bias = (tensor_shape(operand) for operand in operation.operands[:3])
    result, combiner = tensor_shape(operation.results[0]), combiner_of(operation, 0)
    if image is None or weight is None or bias is None or result is None or combiner is None:
        return None
    builder = RuleBuilder(operation)
    _images(builder, operation, image, result)
    last = len(image) - 1
    inputs = builder.reduction(weight[last] if image[last] is None else image[last], combiner.kind)
    outputs = builder.factor(weight[0] if result[last] is None else result[last])
    builder.operand(0, last, inputs)
    builder.operand(1, 0, outputs)
    for dimension in range(1, last):
        builder.operand(1, dimension, builder.factor(weight[dimension], _REPLICATED))
    builder.operand(1, last, inputs)
    if bias[0] != 1 or result[last] == 1:
        builder.operand(2, 0, outputs)
    builder.result(0, last, outputs)
    return builder.build()


@sharding_rule("tosa.depthwise_conv2d")
def depthwise(operation: Operation) -> FactorRule | None:
    """Return the rule of a depthwise convolution.

    Image `[n, h, w, c]`, weight `[y, x, c, m]`, bias `[c m]`, result `[n, h, w, c m]`.
    """
    image, weight, bias = (tensor_shape(operand) for operand in operation.operands[:3])
    result = tensor_shape(operation.results[0])
    if image is None or weight is None or bias is None or result is None:
        return None
    builder = RuleBuilder(operation)
    _images(builder, operation, image, result)
    channel, multiplier = builder.factor(image[3]), builder.factor(weight[3], _REPLICATED)
    builder.operand(0, 3, channel)
    window = [builder.factor(weight[dimension], _REPLICATED) for dimension in (0, 1)]
    builder.operand_dimensions(1, [(window[0],), (window[1],), (channel,), (multiplier,)])
    if bias[0] == result[3]:
        builder.operand(2, 0, channel, multiplier)
    builder.result(0, 3, channel, multiplier)
    return builder.build()


@sharding_rule("tosa.avg_pool2d", "tosa.max_pool2d")
def pooling(operation: Operation) -> FactorRule | None:
    """Return the rule of a pooling: batch and channels pass through."""
    image, result = tensor_shape(operation.operands[0]), tensor_shape(operation.results[0])
    if image is None or result is None or len(image) != len(result):
        return None
    builder = RuleBuilder(operation)
    _images(builder, operation, image, result)
    builder.shared(len(image) - 1, image[-1])
    return builder.build()

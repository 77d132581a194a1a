"""Convert batch normalisation and its gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from xdsl.dialects.builtin import FloatAttr, f32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from ....ir.attribute_access import attribute, element_type, integer
from ....ir.diagnostics import OperationError
from ....ir.index import IndexOrInt
from ..elementwise.float_expressions import FloatExpr
from ..lowering.element_types import kind, operand_kind
from ..lowering.emitter import Emitter, dims, shape
from ..lowering.lowering import Lowering, Tensors, tensor_rule

Term = Callable[[Emitter, Sequence[SSAValue]], FloatExpr]


def _epsilon(op: Operation) -> float:
    found = attribute(op, "epsilon")
    if not isinstance(found, FloatAttr):
        raise OperationError(op, f"expects a float as 'epsilon', found {found}")
    return found.value.data


def _by_feature(e: Emitter, op: Operation, values: Tensors, term: Term) -> SSAValue:
    """Return an elementwise result of the operand's shape; values of rank 1 are per feature."""
    empty = e.empty(e.sizes(values[0]), operand_kind(op).type)

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [term(inner, args[:-1]).value]

    return e.loops(values, _maps(op, values), [empty], None, body)[0]


def _maps(op: Operation, values: Tensors) -> list[AffineMap]:
    rank, feature = len(shape(values[0])), integer(op, "feature_index")
    whole, by_feature = dims(*range(rank), loops=rank), dims(feature, loops=rank)
    return [whole if len(shape(value)) == rank else by_feature for value in values]


def _normalised(e: Emitter, op: Operation, operand: SSAValue, features: Tensors) -> SSAValue:
    """Emit scale * (x - mean) / sqrt(variance + epsilon) + offset for each feature."""

    def term(inner: Emitter, args: Sequence[SSAValue]) -> FloatExpr:
        x, scale, offset, mean, variance = (FloatExpr(inner, each) for each in args)
        deviation = (variance + _epsilon(op)).apply("math.sqrt")
        return scale * ((x - mean) / deviation) + offset

    return _by_feature(e, op, [operand, *features], term)


@tensor_rule("stablehlo.batch_norm_inference")
def _batch_norm_inference(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    return [_normalised(lowering.emit, op, operands[0], operands[1:])]


@tensor_rule("stablehlo.batch_norm_training")
def _batch_norm_training(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Use the mean and the (biased) variance of the batch."""
    e = lowering.emit
    operand, scale, offset = operands
    mean = _mean(e, op, _sum(e, op, [operand], lambda inner, args: FloatExpr(inner, args[0])))

    def square(inner: Emitter, args: Sequence[SSAValue]) -> FloatExpr:
        distance = FloatExpr(inner, args[0]) - FloatExpr(inner, args[1])
        return distance * distance

    variance = _mean(e, op, _sum(e, op, [operand, mean], square))
    return [_normalised(e, op, operand, [scale, offset, mean, variance]), mean, variance]


@tensor_rule("stablehlo.batch_norm_grad")
def _batch_norm_grad(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """Emit the gradients of the operand, the scale and the offset.

    With d = x - mean, g the gradient and v = variance + epsilon they are
    scale / sqrt(v) * (g - mean(g) - d * mean(g * d) / v), sum(g * d) / sqrt(v) and sum(g).
    """
    e, element = lowering.emit, operand_kind(op).type
    operand, scale, mean, variance, gradient = operands

    def moment(inner: Emitter, args: Sequence[SSAValue]) -> FloatExpr:
        x, center, g = (FloatExpr(inner, each) for each in args)
        return g * (x - center)

    def gradient_term(inner: Emitter, args: Sequence[SSAValue]) -> FloatExpr:
        x, g, factor, center, v, mean_g, mean_gd = (FloatExpr(inner, each) for each in args)
        total = v + _epsilon(op)
        change = g - mean_g - (x - center) * mean_gd / total
        return factor / total.apply("math.sqrt") * change

    def scale_term(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        total, v = (FloatExpr(inner, each) for each in args[:2])
        deviation = (v + _epsilon(op)).apply("math.sqrt").as_type(total.type)
        return [(total / deviation).as_type(element).value]

    offsets = _sum(e, op, [gradient], lambda inner, args: FloatExpr(inner, args[0]))
    moments = _sum(e, op, [operand, mean, gradient], moment)
    means = [_mean(e, op, each) for each in (offsets, moments)]
    values = [operand, gradient, scale, mean, variance, *means]
    return [
        _by_feature(e, op, values, gradient_term),
        e.pointwise([moments[0], variance], element, scale_term),
        e.pointwise(
            [offsets[0]],
            element,
            lambda inner, args: [FloatExpr(inner, args[0]).as_type(element).value],
        ),
    ]


def _sum(e: Emitter, op: Operation, values: Tensors, term: Term) -> tuple[SSAValue, IndexOrInt]:
    """Return the sum of a term over all but the feature dimension, and the number of terms.

    Floats narrower than f32 are summed in f32.
    """
    rank, feature = len(shape(values[0])), integer(op, "feature_index")
    element = operand_kind(op)
    wide = kind(f32) if element.is_narrow_float else element
    others = [dimension for dimension in range(rank) if dimension != feature]
    count = reduce(e.multiply, (e.size(values[0], each) for each in others), 1)

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [(FloatExpr(inner, args[-1]) + term(inner, args[:-1]).as_type(wide.type)).value]

    (sums,) = e.loops(
        values,
        _maps(op, values),
        [e.fill(e.constant(0, wide.type), [e.size(values[0], feature)])],
        [dims(feature, loops=rank)],
        body,
    )
    return sums, count


def _mean(e: Emitter, op: Operation, summed: tuple[SSAValue, IndexOrInt]) -> SSAValue:
    """Return means, in the operand's element type, from what `_sum` returns."""
    sums, count = summed
    total = e.op("arith.sitofp", e.from_index(e.index(count), i64), to=element_type(sums.type))
    element = operand_kind(op).type

    def mean(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [(FloatExpr(inner, args[0]) / FloatExpr(inner, total)).as_type(element).value]

    return e.pointwise([sums], element, mean)

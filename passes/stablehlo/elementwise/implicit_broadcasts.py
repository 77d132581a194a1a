"""Convert CHLO's ops that broadcast their operands, and batch normalisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from ....dialects.chlo.dialect import BROADCASTING
from ....ir.attribute_access import attribute, element_type, integer, number_list
from ....ir.diagnostics import OperationError
from ....ir.index import IndexOrInt
from ..data_movement.shapes import broadcast, result_sizes
from ..lowering.element_types import Kind, kind, operand_kind, result_kind
from ..lowering.emitter import PARALLEL, REDUCTION, Emitter, dims, shape
from ..lowering.lowering import Lowering
from ..lowering.rules import scalar_rule, tensor_rule
from .float_expressions import FloatExpr

Tensors = Sequence[SSAValue]
Term = Callable[[Emitter, Sequence[SSAValue]], FloatExpr]


# Broadcasts --------------------------------------------------------------------------------------


def _broadcast_together(e: Emitter, op: Operation, operands: Tensors) -> list[SSAValue]:
    """Return the operands broadcast to one shape.

    Trailing dimensions are aligned, or the dimensions that `broadcast_dimensions` names.
    """
    rank = max(len(shape(value)) for value in operands)
    named = attribute(op, "broadcast_dimensions")
    placed: list[Sequence[int]] = []
    for value in operands:
        own = len(shape(value))
        places = range(rank - own, rank)
        explicit = named is not None and own < rank
        placed.append(number_list(named) if explicit else places)
    sizes: list[IndexOrInt] = [1] * rank
    for value, places in zip(operands, placed, strict=True):
        for dimension, place in enumerate(places):
            size = e.size(value, dimension)
            if size == 1 or sizes[place] == size:
                continue
            known = isinstance(sizes[place], int) and sizes[place] != 1
            if sizes[place] == 1:
                sizes[place] = size
            elif not known:
                sizes[place] = size if isinstance(size, int) else e.maximum(sizes[place], size)
    for place, size in enumerate(result_sizes(op)):
        sizes[place] = size if size >= 0 else sizes[place]
    return [
        value if shape(value) == tuple(sizes) else broadcast(e, value, sizes, places)
        for value, places in zip(operands, placed, strict=True)
    ]


@tensor_rule(*(f"chlo.broadcast_{name}" for name in (*BROADCASTING.split(), "compare", "select")))
def _broadcasting(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    name = op.name.removeprefix("chlo.broadcast_")
    rule = scalar_rule.get(f"stablehlo.{name}") or scalar_rule[f"chlo.{name}"]
    same = _broadcast_together(e, op, operands)
    element = result_kind(op).type
    return [e.pointwise(same, element, lambda inner, args: [rule(inner, op, args)])]


@tensor_rule("chlo.constant_like")
def _constant_like(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    value = attribute(op, "value")
    if not isinstance(value, IntegerAttr | FloatAttr):
        raise OperationError(op, f"needs a number as 'value', found {value}")
    number: float = value.value.data
    return [e.fill(e.constant(number, result_kind(op).type), e.sizes(operands[0]))]


# Batch norms -------------------------------------------------------------------------------------


def _epsilon(op: Operation) -> float:
    found = attribute(op, "epsilon")
    if not isinstance(found, FloatAttr):
        raise OperationError(op, f"needs a float as 'epsilon', found {found}")
    return found.value.data


def _by_feature(e: Emitter, op: Operation, values: Tensors, term: Term) -> SSAValue:
    """Return an elementwise result of the operand's shape; values of rank 1 are per feature."""
    empty = e.empty(e.sizes(values[0]), operand_kind(op).type)
    maps = _maps(op, values)
    return e.loops(values, maps, [empty], None, lambda inner, args: [term(inner, args[:-1]).value])[
        0
    ]


def _maps(op: Operation, values: Tensors) -> list[AffineMap]:
    rank, place = len(shape(values[0])), integer(op, "feature_index")
    whole, along = dims(*range(rank), loops=rank), dims(place, loops=rank)
    return [whole if len(shape(value)) == rank else along for value in values]


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
        _narrowed(e, op, offsets[0], lambda value: value),
    ]


def _sum(e: Emitter, op: Operation, values: Tensors, term: Term) -> tuple[SSAValue, IndexOrInt]:
    """Return the sum of a term over all but the feature dimension, and the number of terms.

    Floats narrower than f32 are summed in f32.
    """
    rank, place = len(shape(values[0])), integer(op, "feature_index")
    found: Kind = operand_kind(op)
    wide = kind(f32) if found.is_narrow_float else found
    count: IndexOrInt = 1
    for dimension in range(rank):
        if dimension != place:
            count = e.multiply(count, e.size(values[0], dimension))

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [(FloatExpr(inner, args[-1]) + term(inner, args[:-1]).as_type(wide.type)).value]

    (sums,) = e.loops(
        values,
        _maps(op, values),
        [e.fill(e.constant(0, wide.type), [e.size(values[0], place)])],
        [dims(place, loops=rank)],
        body,
        [PARALLEL if each == place else REDUCTION for each in range(rank)],
    )
    return sums, count


def _mean(e: Emitter, op: Operation, summed: tuple[SSAValue, IndexOrInt]) -> SSAValue:
    """Return means, in the operand's element type, from what `_sum` returns."""
    sums, count = summed
    total = e.op("arith.sitofp", e.from_index(e.index(count), i64), to=element_type(sums.type))
    return _narrowed(e, op, sums, lambda value: value / FloatExpr(value.e, total))


def _narrowed(
    e: Emitter, op: Operation, sums: SSAValue, function: Callable[[FloatExpr], FloatExpr]
) -> SSAValue:
    element = operand_kind(op).type
    return e.pointwise(
        [sums],
        element,
        lambda inner, args: [function(FloatExpr(inner, args[0])).as_type(element).value],
    )

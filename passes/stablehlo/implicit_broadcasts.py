"""CHLO's operations that broadcast their operands, and batch norms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f32, i64
from xdsl.ir import Operation, SSAValue

from ...dialects.chlo import BROADCASTING
from ...ir.attribute_access import attribute, integer, number_list
from ...ir.diagnostics import OperationError
from ...ir.index import IndexOrInt
from .arithmetic import operand_kind, result_kind
from .elements import Kind, kind
from .emitter import PARALLEL, REDUCTION, Emitter, dims, shape
from .lowering import Lowering
from .numbers import Number
from .rules import scalar_rule, tensor_rule
from .shapes import broadcast, result_sizes

Tensors = Sequence[SSAValue]
Term = Callable[[Emitter, Sequence[SSAValue]], Number]


# Broadcasts --------------------------------------------------------------------------------------


def _broadcast_together(e: Emitter, op: Operation, operands: Tensors) -> list[SSAValue]:
    """Operands of one shape: their last dimensions go together, or those that `op` names."""
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


def _normalised(e: Emitter, op: Operation, operand: SSAValue, features: Tensors) -> SSAValue:
    """scale * (x - mean) / sqrt(variance + epsilon) + offset, feature by feature."""
    rank, place = len(shape(operand)), integer(op, "feature_index")
    along = dims(place, loops=rank)

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        x, scale, offset, mean, variance = (Number(inner, each) for each in args[:5])
        deviation = (variance + _epsilon(op)).function("math.sqrt")
        return [(scale * ((x - mean) / deviation) + offset).value]

    empty = e.empty(e.sizes(operand), operand_kind(op).type)
    maps = [dims(*range(rank), loops=rank), *[along] * 4]
    return e.loops([operand, *features], maps, [empty], None, body)[0]


@tensor_rule("stablehlo.batch_norm_inference")
def _batch_norm_inference(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    return [_normalised(lowering.emit, op, operands[0], operands[1:])]


@tensor_rule("stablehlo.batch_norm_training")
def _batch_norm_training(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    """The variance is that of the batch, divided by its size."""
    e = lowering.emit
    operand, scale, offset = operands
    mean = _mean(e, op, [operand], lambda inner, args: Number(inner, args[0]))

    def square(inner: Emitter, args: Sequence[SSAValue]) -> Number:
        distance = Number(inner, args[0]) - Number(inner, args[1])
        return distance * distance

    variance = _mean(e, op, [operand, mean], square)
    return [_normalised(e, op, operand, [scale, offset, mean, variance]), mean, variance]


def _mean(e: Emitter, op: Operation, values: Tensors, term: Term) -> SSAValue:
    """The mean of a term over all dimensions but that of the features, carried in f32 or more."""
    rank, place = len(shape(values[0])), integer(op, "feature_index")
    found: Kind = operand_kind(op)
    wide = kind(f32) if found.is_narrow_float else found
    count: IndexOrInt = 1
    for dimension in range(rank):
        if dimension != place:
            count = e.multiply(count, e.size(values[0], dimension))
    total = e.op("arith.sitofp", e.from_index(e.index(count), i64), to=wide.type)

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [(Number(inner, args[-1]) + term(inner, args).as_type(wide.type)).value]

    maps = [dims(*range(rank), loops=rank), *[dims(place, loops=rank)] * (len(values) - 1)]
    sums = e.loops(
        values,
        maps,
        [e.fill(e.constant(0, wide.type), [e.size(values[0], place)])],
        [dims(place, loops=rank)],
        body,
        [PARALLEL if each == place else REDUCTION for each in range(rank)],
    )[0]
    return e.pointwise(
        [sums],
        found.type,
        lambda inner, args: [
            (Number(inner, args[0]) / Number(inner, total)).as_type(found.type).value
        ],
    )

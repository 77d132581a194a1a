"""Convert CHLO's ops that broadcast their operands."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Operation, SSAValue

from ....dialects.chlo.dialect import BROADCASTING
from ....ir.attribute_access import attribute, number_list
from ....ir.diagnostics import OperationError
from ....ir.index import IndexOrInt
from ..data_movement.shapes import broadcast, result_sizes
from ..lowering.element_types import result_kind
from ..lowering.emitter import Emitter, shape
from ..lowering.lowering import Lowering
from ..lowering.rules import scalar_rule, tensor_rule

Tensors = Sequence[SSAValue]


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

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
from ..lowering.folding import squared
from ..lowering.lowering import Lowering, Tensors, scalar_rule, tensor_rule


def _broadcast_together(e: Emitter, op: Operation, operands: Tensors) -> list[SSAValue]:
    """Return the operands broadcast to one shape.

    Trailing dimensions are aligned, or the dimensions that `broadcast_dimensions` names.
    """
    rank = max(len(shape(value)) for value in operands)
    named = attribute(op, "broadcast_dimensions")
    targets: list[Sequence[int]] = [
        number_list(named)
        if named is not None and len(shape(value)) < rank
        else range(rank - len(shape(value)), rank)
        for value in operands
    ]
    sizes: list[IndexOrInt] = [1] * rank
    for value, dimensions in zip(operands, targets, strict=True):
        for source, target in enumerate(dimensions):
            size, common = e.size(value, source), sizes[target]
            if size in (1, common):
                continue
            if common == 1:
                sizes[target] = size
            elif not isinstance(common, int):
                sizes[target] = size if isinstance(size, int) else e.maximum(common, size)
    for target, size in enumerate(result_sizes(op)):
        sizes[target] = size if size >= 0 else sizes[target]
    return [
        value if shape(value) == tuple(sizes) else broadcast(e, value, sizes, dimensions)
        for value, dimensions in zip(operands, targets, strict=True)
    ]


@tensor_rule(*(f"chlo.broadcast_{name}" for name in (*BROADCASTING.split(), "compare", "select")))
def _broadcasting(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    name = op.name.removeprefix("chlo.broadcast_")
    square = squared(e, op, operands[0]) if name == "power" else None
    if square is not None:
        return [square]
    rule = scalar_rule.get(f"stablehlo.{name}") or scalar_rule[f"chlo.{name}"]
    same = _broadcast_together(e, op, operands)
    element = result_kind(op).type
    return [e.pointwise(same, element, lambda inner, args: [rule(inner, op, args)])]


@tensor_rule("chlo.constant_like")
def _constant_like(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    value = attribute(op, "value")
    if not isinstance(value, IntegerAttr | FloatAttr):
        raise OperationError(op, f"expects a number as 'value', found {value}")
    number: float = value.value.data
    return [e.fill(e.constant(number, result_kind(op).type), e.sizes(operands[0]))]

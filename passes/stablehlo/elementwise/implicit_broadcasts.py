"""Emit elementwise ops that broadcast their operands, such as those of CHLO."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

from xdsl.dialects import scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ....dialects.chlo.dialect import BROADCASTING
from ....ir.attribute_access import attribute, number_list
from ....ir.diagnostics import OperationError
from ....ir.index import IndexOrInt
from ..data_movement.shapes import broadcast
from ..lowering.element_types import result_kind
from ..lowering.emitter import Body, Emitter, dims, shape
from ..lowering.folding import squared
from ..lowering.lowering import Lowering, Tensors, scalar_rule, tensor_rule


def broadcast_pointwise(
    e: Emitter,
    values: Sequence[SSAValue],
    element: Attribute,
    body: Body,
    named: Sequence[int] = (),
) -> SSAValue:
    """Emit an elementwise op on operands that broadcast.

    Trailing dimensions are aligned, or the dimensions `named` with those of operands of lower rank.
    A dimension of size 1 is read at 0. A dynamic one may have size 1 at run time, if the operands
    have several sizes there: such an operand is broadcast first.
    """
    rank = max(len(shape(value)) for value in values)
    own = [e.sizes(value) for value in values]
    targets = [
        named if named and len(each) < rank else range(rank - len(each), rank) for each in own
    ]
    columns: list[list[IndexOrInt]] = [[] for _ in range(rank)]
    for before, target in zip(own, targets, strict=True):
        for size, dimension in zip(before, target, strict=True):
            if size != 1 and size not in columns[dimension]:
                columns[dimension].append(size)
    sizes = [reduce(partial(_common_size, e), each) if each else 1 for each in columns]
    inputs: list[SSAValue] = []
    maps: list[AffineMap] = []
    for value, before, target in zip(values, own, targets, strict=True):
        pairs = list(zip(before, target, strict=True))
        after = [
            sizes[at] if len(columns[at]) > 1 and not isinstance(size, int) else size
            for size, at in pairs
        ]
        places = [
            AffineExpr.constant(0) if size == 1 != sizes[at] else at
            for size, at in zip(after, target, strict=True)
        ]
        maps.append(dims(*places, loops=rank))
        inputs.append(_broadcast_at_run_time(e, value, before, after))
    count = len(inputs)
    output = e.empty(sizes, element)
    return e.loops(inputs, maps, [output], None, lambda inner, args: body(inner, args[:count]))[0]


def _broadcast_at_run_time(
    e: Emitter, value: SSAValue, before: Sequence[IndexOrInt], sizes: Sequence[IndexOrInt]
) -> SSAValue:
    """Emit the broadcast of a tensor to `sizes`, unless it has these already."""
    pairs = [pair for pair in zip(before, sizes, strict=True) if pair[0] != pair[1]]
    if not pairs:
        return value
    same = [e.compare_integers("eq", e.index(one), e.index(other)) for one, other in pairs]
    kept, repeated = Block(), Block()
    inner = e.inside(repeated)
    found = broadcast(inner, value, sizes, range(len(sizes)))
    inner.add_op(scf.YieldOp(found))
    inner = e.inside(kept)
    inner.add_op(scf.YieldOp(inner.cast(value, found.type)))
    made = scf.IfOp(reduce(e.both, same), [found.type], Region(kept), Region(repeated))
    return e.add_op(made).results[0]


def _common_size(e: Emitter, one: IndexOrInt, other: IndexOrInt) -> IndexOrInt:
    """Emit the size that is not 1: the larger one, which a read refuses, if they do not fit."""
    left, right = e.index(one), e.index(other)
    pair = e.broadcast_instruction(left, right), e.broadcast_instruction(right, left)
    return e.maximum(*pair)


@tensor_rule(*(f"chlo.broadcast_{name}" for name in (*BROADCASTING.split(), "compare", "select")))
def _broadcasting(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    name = op.name.removeprefix("chlo.broadcast_")
    square = squared(e, op, operands[0]) if name == "power" else None
    if square is not None:
        return [square]
    rule = scalar_rule.get(f"stablehlo.{name}") or scalar_rule[f"chlo.{name}"]
    named = number_list(attribute(op, "broadcast_dimensions"))

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [rule(inner, op, args)]

    return [broadcast_pointwise(e, operands, result_kind(op).type, body, named)]


@tensor_rule("chlo.constant_like")
def _constant_like(lowering: Lowering, op: Operation, operands: Tensors) -> Tensors:
    e = lowering.emit
    value = attribute(op, "value")
    if not isinstance(value, IntegerAttr | FloatAttr):
        raise OperationError(op, f"expects a number as 'value', found {value}")
    number: float = value.value.data
    return [e.fill(e.constant(number, result_kind(op).type), e.sizes(operands[0]))]

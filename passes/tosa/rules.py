"""The table of rules that convert TOSA, and what several of them ask of an operand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ...ir.index import IndexOrInt
from ...ir.rules import Rules
from ..stablehlo.data_movement.shapes import broadcast
from ..stablehlo.lowering.emitter import Body, Emitter, dims, shape

Rule = Callable[[Emitter, Operation], SSAValue | None]

tosa_rule = Rules[Rule]()
"""`@tosa_rule("tosa.add")`: `function(emitter, operation)` emits what computes the result, or
returns `None` if the operation stays."""


def only_element(e: Emitter, value: SSAValue) -> SSAValue:
    """Emit the read of the element of a tensor that has one."""
    return e.element(value, [0] * len(shape(value)))


def broadcast_pointwise(
    e: Emitter, values: Sequence[SSAValue], element: Attribute, body: Body
) -> SSAValue:
    """Emit an elementwise op on operands that broadcast; trailing dimensions are aligned.

    A dimension of size 1 is read at 0. A dynamic one may have size 1 at run time, if the operands
    have several sizes there: such an operand is broadcast first.
    """
    rank = max(len(shape(value)) for value in values)
    own = [[*[1] * (rank - len(shape(value))), *e.sizes(value)] for value in values]
    columns = [list(dict.fromkeys(s for s in each if s != 1)) for each in zip(*own, strict=True)]
    sizes = [reduce(partial(_common_size, e), each) if each else 1 for each in columns]
    inputs: list[SSAValue] = []
    maps: list[AffineMap] = []
    for value, before in zip(values, own, strict=True):
        extents = [
            size if len(column) > 1 and not isinstance(extent, int) else extent
            for size, column, extent in zip(sizes, columns, before, strict=True)
        ]
        places = [
            AffineExpr.constant(0) if extent == 1 != size else index
            for index, (size, extent) in enumerate(zip(sizes, extents, strict=True))
        ]
        first = rank - len(shape(value))
        maps.append(dims(*places[first:], loops=rank))
        inputs.append(_broadcast_at_run_time(e, value, before[first:], extents[first:]))
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

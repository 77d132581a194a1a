"""Emit a scan element by element, for bodies without an identity and for dynamic sizes."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Block, Region, SSAValue

from ...ir.index import IndexOrInt
from ..stablehlo.elementwise.conversions import convert_tensor
from ..stablehlo.lowering.emitter import INDEX, Emitter, shape
from ..stablehlo.reduction.combiners import Combiner


def sequential_scan(e: Emitter, combined: Combiner, value: SSAValue, dimension: int) -> SSAValue:
    """Return `out[0] = x[0]`, `out[i] = f(out[i - 1], x[i])` in the accumulator's type.

    Raises OperationError if the body does not work element by element.
    """
    given, carried = combined.kinds[0], combined.carried_kinds[0]
    rank, sizes = len(shape(value)), e.sizes(value)
    first = convert_tensor(e, value, given, carried)
    row: list[IndexOrInt] = [1 if each == dimension else sizes[each] for each in range(rank)]
    strides = [1] * rank
    block = Block(arg_types=[INDEX, first.type])
    inner = e.inside(block)
    position, done = block.args

    def at(index: IndexOrInt) -> list[IndexOrInt]:
        return [index if each == dimension else 0 for each in range(rank)]

    before = inner.extract_slice(done, at(inner.subtract(position, 1)), row, strides)
    here = inner.extract_slice(done, at(position), row, strides)
    (made,) = inner.loops(
        [before, here],
        None,
        [inner.empty(row, carried.type)],
        None,
        lambda body, args: combined.combine(body, args[:1], args[1:2], [carried]),
    )
    found = inner.insert_slice(made, done, at(position), strides)
    inner.add_op(scf.YieldOp(found))
    loop = scf.ForOp(e.index(1), e.index(sizes[dimension]), e.index(1), [first], Region(block))
    return e.add_op(loop).results[0]

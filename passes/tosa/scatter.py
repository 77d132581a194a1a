"""Convert `tosa.scatter` to a loop that replaces one row after the other."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from ...dialects.check import HoldsOp
from ..stablehlo.lowering.emitter import BOOL, Emitter, shape
from .elementwise import Scalars
from .rules import tosa_rule


@tosa_rule("tosa.scatter")
def _scatter(e: Emitter, op: Operation) -> SSAValue | None:
    """Insert rows, and note which places are taken. At run time, no row may be written twice."""
    values, indices, source = op.operands
    if min(*shape(values), *shape(indices), 0) < 0:
        return None
    batch, rows, channels = e.sizes(values)
    count = e.size(indices, 1)
    taken = e.fill(e.constant(0, BOOL), [batch, rows])
    is_once = e.constant(1, BOOL)

    def body(inner: Emitter, args: Scalars) -> Scalars:
        number, result, taken, is_once = args
        item, at = inner.divide(number, count), inner.remainder(number, count)
        row = inner.to_index(inner.element(indices, [item, at]))
        part = inner.extract_slice(source, [item, at, 0], [1, 1, channels])
        is_free = inner.negated(inner.element(taken, [item, row]))
        one = inner.fill(inner.constant(1, BOOL), [1, 1])
        return [
            inner.insert_slice(part, result, [item, row, 0]),
            inner.insert_slice(one, taken, [item, row]),
            inner.both(is_once, is_free),
        ]

    start = [values, taken, is_once]
    result, _, is_once = e.sequential_loop(e.multiply(batch, count), start, body)
    properties = {"message": StringAttr("writes a row twice")}
    e.add_op(HoldsOp.create(operands=[is_once], properties=properties))
    return result

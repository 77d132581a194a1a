"""Emit a scan element by element, for bodies without an identity and for dynamic sizes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...ir.index import IndexOrInt
from ..stablehlo.elementwise.conversions import convert_tensor
from ..stablehlo.lowering.emitter import Emitter, shape
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

    def at(index: IndexOrInt) -> list[IndexOrInt]:
        return [index if each == dimension else 0 for each in range(rank)]

    def step(inner: Emitter, args: Sequence[SSAValue]) -> list[SSAValue]:
        position, done = args
        before = inner.extract_slice(done, at(inner.subtract(position, 1)), row, strides)
        here = inner.extract_slice(done, at(position), row, strides)
        (made,) = inner.loops(
            [before, here],
            None,
            [inner.empty(row, carried.type)],
            None,
            lambda body, pair: combined.combine(body, pair[:1], pair[1:2], [carried]),
        )
        return [inner.insert_slice(made, done, at(position), strides)]

    return e.sequential_loop(sizes[dimension], [first], step, first=1)[0]

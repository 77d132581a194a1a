"""Convert scans: running reductions in blocks, or element by element."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ComplexType, IndexType
from xdsl.ir import Operation, Region, SSAValue

from ...ir.attribute_access import element_type, flag, integer
from ...ir.combiners import COMBINERS
from ...ir.index import IndexOrInt
from ..stablehlo.elementwise.conversions import convert_tensor
from ..stablehlo.lowering.element_types import Kind
from ..stablehlo.lowering.emitter import Emitter, dims, dims_but, shape
from ..stablehlo.lowering.lowering import Lowering, Tensors
from ..stablehlo.reduction.combiners import Combiner, combiner, only_operation
from ..stablehlo.reduction.running_reductions import running_reduction
from .rules import linalg_ext_rule


@linalg_ext_rule("tm_tensor.scan", "iree_linalg_ext.scan")
def _scan(lowering: Lowering, op: Operation) -> Tensors:
    """Convert a scan: `out[0] = x[0]`, `out[i] = f(out[i - 1], x[i])`.

    The second result is `out[n - 1]`.

    An exclusive scan starts with the accumulator, as if it preceded `x`. Along a dimension of one
    element, the second result is the accumulator's initial value.
    """
    e = lowering.emit
    value, _, initial = op.operands
    dimension = integer(op, "dimension")
    extent = shape(value)[dimension]
    if 0 in shape(value):
        return [value, initial]
    if not flag(op, "inclusive"):
        value = _shifted(e, value, initial, dimension)
    combined = combiner(lowering, op, op.regions[0], 1)
    identity = _identity(op.regions[0], combined.kinds[0])
    if extent > 0 and identity is not None:
        start = e.constant(identity, combined.kinds[0].type)
        given = combined.kinds, combined.kinds
        (result,) = running_reduction(e, combined, [value], [start], given, dimension)
    else:
        result = sequential_scan(e, combined, value, dimension)
    (result,) = combined.finish(e, [result])
    last = _last(e, result, initial, dimension) if op.results[1].uses else initial
    return [result, last]


def _identity(region: Region, element: Kind) -> float | None:
    """Return the identity of an associative body on numbers, else `None`."""
    body = only_operation(region)
    found = None if body is None else COMBINERS.get(body.name)
    if found is None or isinstance(element.type, IndexType | ComplexType):
        return None
    return found.neutral(element.type)


def _shifted(e: Emitter, value: SSAValue, initial: SSAValue, dimension: int) -> SSAValue:
    """Shift a tensor by one position behind the accumulator: `[a], [x, y, z] -> [a, x, y]`."""
    rank, sizes = len(shape(value)), e.sizes(value)
    one = [int(each == dimension) for each in range(rank)]
    padded = e.pad(value, one, [0] * rank, e.constant(0, element_type(value.type)))
    moved = e.extract_slice(padded, [0] * rank, sizes)

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        is_first = inner.compare_integers("eq", inner.loop_index(dimension), inner.index(0))
        return [inner.select(is_first, args[1], args[0])]

    kept = dims_but(dimension, rank)
    empty = e.empty(sizes, element_type(value.type))
    maps = [dims(*range(rank), loops=rank), kept]
    return e.loops([moved, initial], maps, [empty], None, body)[0]


def _last(e: Emitter, result: SSAValue, initial: SSAValue, dimension: int) -> SSAValue:
    rank = len(shape(result))
    last = e.index(e.subtract(e.size(result, dimension), 1))

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        index = inner.loop_index(dimension)
        is_last = inner.compare_integers("eq", index, last)
        is_later = inner.compare_integers("sgt", index, inner.index(0))
        return [inner.select(inner.both(is_last, is_later), args[0], args[1])]

    kept = dims_but(dimension, rank)
    return e.loops([result], None, [initial], [kept], body)[0]


def sequential_scan(e: Emitter, combined: Combiner, value: SSAValue, dimension: int) -> SSAValue:
    """Return `out[0] = x[0]`, `out[i] = f(out[i - 1], x[i])` in the accumulator's type.

    It goes element by element, for bodies without an identity and for dynamic sizes. Raises
    OperationError if the body does not work element by element.
    """
    given, carried = combined.kinds[0], combined.carried_kinds[0]
    rank, sizes = len(shape(value)), e.sizes(value)
    first = convert_tensor(e, value, given, carried)
    row: list[IndexOrInt] = [1 if each == dimension else sizes[each] for each in range(rank)]

    def at(index: IndexOrInt) -> list[IndexOrInt]:
        return [index if each == dimension else 0 for each in range(rank)]

    def step(inner: Emitter, args: Sequence[SSAValue]) -> list[SSAValue]:
        position, done = args
        before = inner.extract_slice(done, at(inner.subtract(position, 1)), row)
        here = inner.extract_slice(done, at(position), row)
        (made,) = inner.loops(
            [before, here],
            None,
            [inner.empty(row, carried.type)],
            None,
            lambda body, pair: combined.combine(body, pair[:1], pair[1:2], [carried]),
        )
        return [inner.insert_slice(made, done, at(position))]

    return e.sequential_loop(sizes[dimension], [first], step, first=1)[0]

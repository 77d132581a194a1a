"""Convert the reductions of TOSA along a dimension to `linalg.generic`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from ...dialects.tosa.operation_kinds import REDUCTIONS
from ...ir.attribute_access import integer
from ...ir.combiners import COMBINERS
from ..stablehlo.elementwise.conversions import convert, convert_tensor
from ..stablehlo.lowering.element_types import operand_kind, result_kind
from ..stablehlo.lowering.emitter import Emitter, dims, shape
from .elementwise import F32, extremum, with_infinity
from .rules import tosa_rule


@tosa_rule("tosa.reduce_max", "tosa.reduce_min")
def _reduce_to_extremum(e: Emitter, op: Operation) -> SSAValue | None:
    """Start with the neutral number, or with the first elements if there may be none."""
    value, axis = op.operands[0], integer(op, "axis")
    name = extremum(op, op.name.removeprefix("tosa.reduce_"))
    extent = shape(value)[axis]
    if extent == 0:
        return None
    if extent > 0:
        return _reduced(e, op, name)
    sizes = e.sizes(value)
    sizes[axis] = 1
    first = e.extract_slice(value, [0] * len(sizes), sizes)
    return _reduced(e, op, name, e.reshape(first, [*sizes[:axis], *sizes[axis + 1 :]]))


@tosa_rule(*(f"tosa.reduce_{name}" for name in ("all", "any", "product", "sum")))
def _reduce(e: Emitter, op: Operation) -> SSAValue | None:
    name = REDUCTIONS[op.name.removeprefix("tosa.reduce_")][operand_kind(op).name != "float"]
    return _reduced(e, op, name) if name else None


def _reduced(e: Emitter, op: Operation, name: str, start: SSAValue | None = None) -> SSAValue:
    """Emit a reduction from `start`, or from the neutral number; narrow floats are widened."""
    value, axis = op.operands[0], integer(op, "axis")
    element = operand_kind(op)
    wide = F32 if element.is_narrow_float else element
    sizes = e.sizes(value)
    rank = len(sizes)
    kept = [each for each in range(rank) if each != axis]
    if start is None:
        neutral = e.constant(COMBINERS[name].neutral(wide.type), wide.type)
        start = e.fill(neutral, [sizes[each] for each in kept])
    else:
        start = convert_tensor(e, start, element, wide)

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [inner.op(name, args[1], convert(inner, args[0], element, wide))]

    (result,) = e.loops([value], None, [start], [dims(*kept, loops=rank)], body)
    sizes[axis] = 1
    return e.reshape(convert_tensor(e, result, wide, element), sizes)


@tosa_rule("tosa.argmax")
def _argmax(e: Emitter, op: Operation) -> SSAValue | None:
    """Carry the largest number and its index; the first of equal numbers stays."""
    value, axis = op.operands[0], integer(op, "axis")
    if shape(value)[axis] <= 0:
        return None
    index, given = result_kind(op), operand_kind(op)
    element = with_infinity(given)
    value = convert_tensor(e, value, given, element)
    sizes = e.sizes(value)
    rank = len(sizes)
    kept = [each for each in range(rank) if each != axis]
    name = extremum(op, "max")
    starts = (element, COMBINERS[name].neutral(element.type)), (index, 0)
    made = [
        e.fill(e.constant(start, each.type), [sizes[dimension] for dimension in kept])
        for each, start in starts
    ]

    def body(inner: Emitter, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        number, most, place = args
        if element.name == "float":
            # A NaN is larger than numbers, or is ignored: then the start is NaN.
            known = number if name == "arith.maxnumf" else most
            is_ordered = inner.compare_floats("ord", known, known)
            is_larger = inner.both(inner.compare_floats("ugt", number, most), is_ordered)
        else:
            is_larger = inner.compare_integers("sgt", number, most)
        here = inner.from_index(inner.loop_index(axis), index.type)
        return [inner.select(is_larger, *pair) for pair in ((number, most), (here, place))]

    return e.loops([value], None, made, [dims(*kept, loops=rank)] * 2, body)[1]

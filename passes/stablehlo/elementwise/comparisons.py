"""Convert comparisons, including the total order of floats."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from ....dialects.stablehlo.attributes import ComparisonTypeAttr
from ....ir.attribute_access import attribute
from ....ir.syntax.keyword_attributes import word
from ..lowering.element_types import kind, operand_kind
from ..lowering.emitter import Emitter
from ..lowering.lowering import Scalars, scalar_rule
from .arithmetic import complex_order, parts

_DIRECTIONS = {
    **{"EQ": ("eq", "oeq"), "NE": ("ne", "une"), "GE": ("ge", "oge")},
    **{"GT": ("gt", "ogt"), "LE": ("le", "ole"), "LT": ("lt", "olt")},
}


def is_total_order(op: Operation) -> bool:
    """Return whether a comparison is of the type TOTALORDER."""
    return attribute(op, "compare_type") == ComparisonTypeAttr("TOTALORDER")


def total_order(e: Emitter, value: SSAValue) -> SSAValue:
    """Return a float as a signed integer that is ordered as TOTALORDER specifies.

    In formats without -0, the only NaN has the bits of -0. It is ordered as a negative NaN, below
    all numbers.
    """
    element = kind(value.type)
    width, name = element.width, str(element.type)
    bits = e.op("arith.bitcast", value, to=IntegerType(width))
    smallest = e.constant(-1 << (width - 1), bits.type)
    if name.startswith("f8E8M0"):  # It has no sign.
        return e.op("arith.xori", bits, smallest)
    sign = e.op("arith.shrsi", bits, e.constant(width - 1, bits.type))
    flipped = e.op("arith.shrui", sign, e.constant(1, bits.type))
    ordered = e.op("arith.xori", bits, flipped)
    if name.endswith("FNUZ"):
        return e.select(e.compare_integers("eq", bits, smallest), smallest, ordered)
    return ordered


def total_order_of_numbers(e: Emitter, value: SSAValue) -> SSAValue:
    """Return a float as a signed integer: equal for zeros of both signs, the largest for NaN."""
    element = kind(value.type)
    ordered = total_order(e, value)
    largest = e.constant((1 << element.width - 1) - 1, ordered.type)
    if not str(element.type).startswith("f8E8M0"):  # It has no zero.
        is_zero = e.compare_floats("oeq", value, e.constant(0, element.type))
        ordered = e.select(is_zero, e.constant(0, ordered.type), ordered)
    return e.select(e.compare_floats("une", value, value), largest, ordered)


@scalar_rule("stablehlo.compare")
def compare(e: Emitter, op: Operation, args: Scalars) -> SSAValue:
    """Convert a comparison. Without TOTALORDER it is the comparison of the element type.

    Raises OperationError if operands are not numbers, or if the direction is missing.
    """
    direction = word(op, "comparison_direction")
    element = operand_kind(op)
    totally = is_total_order(op)
    integers, floats = _DIRECTIONS[direction]
    if element.name == "complex":
        return _compare_complex(e, args, direction, floats)
    if element.name == "float" and not totally:
        return e.compare_floats(floats, *args)
    if element.name == "float":
        args = [total_order(e, value) for value in args]
    sign = "" if integers in ("eq", "ne") else ("s" if element.name in ("float", "signed") else "u")
    return e.compare_integers(f"{sign}{integers}", *args)


def _compare_complex(e: Emitter, args: Scalars, direction: str, predicate: str) -> SSAValue:
    if direction in ("EQ", "NE"):
        (a, b), (c, d) = parts(e, args[0]), parts(e, args[1])
        join = e.both if direction == "EQ" else e.either
        return join(e.compare_floats(predicate, a, c), e.compare_floats(predicate, b, d))
    return complex_order(e, args, predicate)

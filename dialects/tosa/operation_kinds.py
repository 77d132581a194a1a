"""Which `tosa` ops are elementwise or reductions, and their constant operands."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Operation

from ...ir.attribute_access import attribute, number_list

ELEMENTWISE = """
    abs add arithmetic_right_shift bitwise_and bitwise_not bitwise_or bitwise_xor cast ceil clamp
    clz const cos equal erf exp floor greater greater_equal identity intdiv int_div log logical_and
    logical_left_shift logical_not logical_or logical_right_shift logical_xor maximum minimum pow
    reciprocal rsqrt select sigmoid sin sub tan tanh
""".split()
LEADING_OPERANDS = {"mul": 2, "negate": 1, "rescale": 1, "table": 1}
"""Elementwise operations, with their number of elementwise operands; further operands (shifts, zero
points, tables) are needed whole.
"""
REDUCTIONS = "all any max min prod product sum".split()


def constant_shape(operation: Operation, operand: int) -> tuple[int, ...] | None:
    """Return the values of a constant `!tosa.shape` operand; `None` if it is not constant."""
    maker = operation.operands[operand].owner
    values = attribute(maker, "values") if isinstance(maker, Operation) else None
    is_dense = isinstance(values, DenseIntOrFPElementsAttr)
    return number_list(cast(Attribute, values)) if is_dense else None

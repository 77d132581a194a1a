"""Which `tosa` ops are elementwise or reductions, and their constant operands."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...ir.attribute_access import is_number_list, number_list
from ...ir.locations import made_by

ELEMENTWISE = """
    abs add arithmetic_right_shift bitwise_and bitwise_not bitwise_or bitwise_xor cast ceil clamp
    clz const cos equal erf exp floor greater greater_equal identity intdiv log logical_and
    logical_left_shift logical_not logical_or logical_right_shift logical_xor maximum minimum pow
    reciprocal rsqrt select sigmoid sin sub tanh
""".split()
LEADING_OPERANDS = {"mul": 2, "negate": 1, "rescale": 1, "table": 1}
"""Elementwise operations, with their number of elementwise operands; further operands (shifts, zero
points, tables) are needed whole.
"""
REDUCTIONS = {
    "all": ("", "arith.andi"),
    "any": ("", "arith.ori"),
    "max": ("arith.maximumf", "arith.maxsi"),
    "min": ("arith.minimumf", "arith.minsi"),
    "product": ("arith.mulf", "arith.muli"),
    "sum": ("arith.addf", "arith.addi"),
}
"""The operations `reduce_...`, with the operations that combine floats and integers."""


def constant_numbers(value: SSAValue) -> tuple[int, ...] | None:
    """Return the integers of a constant tensor or `!tosa.shape`; `None` if they are not known."""
    maker = made_by(value, "tosa.const", "tosa.const_shape")
    found = None if maker is None else maker.get_attr_or_prop("values")
    return number_list(found) if is_number_list(found) else None

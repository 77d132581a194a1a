"""Operations on known numbers of rank 0: comparisons of integers, and what is chosen by them.

`jnp.remainder` and `jnp.floor_divide` ask whether their divisor is 0. A known divisor stays a
constant here, and kernels multiply instead of dividing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import eq, ge, gt, le, lt, ne

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, TensorType, i1
from xdsl.ir import Operation, SSAValue

from .arithmetic import operand_kind, result_kind, word
from .elements import converted
from .emitter import Emitter, constant_of, number_of, shape

_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    **{"EQ": eq, "NE": ne, "GE": ge, "GT": gt, "LE": le, "LT": lt}
}


def folded(e: Emitter, op: Operation, operands: Sequence[SSAValue]) -> SSAValue | None:
    """The result of an elementwise operation if it is known, or one of its operands."""
    found: SSAValue | None = None
    if op.name == "stablehlo.convert" and operand_kind(op) == result_kind(op):
        found = operands[0]
    elif op.name == "stablehlo.select":
        chosen = _number(operands[0])
        found = None if chosen is None else operands[1 if chosen else 2]
    elif op.name == "stablehlo.compare":
        return _compared(e, op, operands)
    return found if found is not None and found.type == converted(op.result_types[0]) else None


def _number(value: SSAValue) -> int | None:
    """The integer that a constant of rank 0 is."""
    found = None if shape(value) else constant_of(value)
    number = None if found is None else number_of(found)
    return int(number) if isinstance(number, int) else None


def _compared(e: Emitter, op: Operation, operands: Sequence[SSAValue]) -> SSAValue | None:
    kind = operand_kind(op)
    numbers = [_number(each) for each in operands]
    if kind.name not in ("signed", "unsigned") or not isinstance(kind.type, IntegerType):
        return None
    left, right = (None if each is None else each % (1 << kind.width) for each in numbers)
    if left is None or right is None:
        return None
    if kind.name == "signed":
        half = 1 << (kind.width - 1)
        left, right = (left + half) % (2 * half), (right + half) % (2 * half)
    is_true = _COMPARISONS[word(op, "comparison_direction")](left, right)
    type_ = TensorType(i1, [])
    return e.insert(ConstantOp(DenseIntOrFPElementsAttr.from_list(type_, [int(is_true)]), type_))

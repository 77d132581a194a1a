"""Fold elementwise ops on constants: comparisons of rank-0 integers, selects by them, and squares.

`jnp.remainder` and `jnp.floor_divide` check whether their divisor is 0. With these folds a known
divisor stays a constant, and kernels multiply instead of dividing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import eq, ge, gt, le, lt, ne
from typing import Any, cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, TensorType, f32, f64, i1
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from ....ir.attribute_access import attribute, is_splat
from ....ir.syntax.keyword_attributes import word
from ....tiling.element_types import as_signed, as_unsigned
from .element_types import computes_on_quantised, converted, operand_kind, result_kind
from .emitter import Emitter, dense_constant, number_of, shape

_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    **{"EQ": eq, "NE": ne, "GE": ge, "GT": gt, "LE": le, "LT": lt}
}


def drop_factors_of_one(module: Operation) -> None:
    """Replace `1 * x` by `x` in a module. Backpropagation starts with a gradient of 1.

    CSE then finds values that were computed both with and without this factor.
    """
    for operation in list(module.walk()):
        if operation.name != "stablehlo.multiply" or operation.attributes:
            continue
        if computes_on_quantised(operation) or operand_kind(operation).name == "complex":
            # A stored 1 of a quantised type is another number; complex 1 * inf is NaN.
            continue
        for one, other in (operation.operands, reversed(operation.operands)):
            if _is_one(one) and other.type == operation.results[0].type:
                Rewriter.replace_op(operation, [], [other])
                break


def _is_one(value: SSAValue) -> bool:
    return _repeated_number(value) == 1


def _repeated_number(value: SSAValue) -> float | complex | None:
    """Return the number of a constant, possibly broadcast or converted, that has no other."""
    while isinstance(owner := value.owner, Operation):
        if owner.name in ("stablehlo.constant", "arith.constant"):
            held = attribute(owner, "value")
            if not isinstance(held, DenseIntOrFPElementsAttr):
                return None
            numbers = cast("DenseIntOrFPElementsAttr[Any]", held)
            return number_of(numbers) if is_splat(numbers) else None
        if owner.name not in _REPEATING or computes_on_quantised(owner):
            return None
        if owner.name == "stablehlo.convert" and result_kind(owner).width < _WIDTH_OF_TWO:
            return None
        value = owner.operands[0]
    return None


_REPEATING = frozenset({f"stablehlo.{n}" for n in ("broadcast_in_dim", "convert", "reshape")})
"""Operations that keep 1 and 2 as they are, if these are numbers of the result's type."""

_WIDTH_OF_TWO = 3
"""The least bits of a type that has the number 2, signed or not."""


def squared(e: Emitter, op: Operation, base: SSAValue) -> SSAValue | None:
    """Return a power whose exponent is 2 as a product, `None` for other powers.

    `x * x` is rounded once, so that it is as exact.
    """
    kind = operand_kind(op)
    is_square = kind.name == "float" and _repeated_number(op.operands[1]) == 2
    if not is_square or base.type != converted(op.result_types[0]):
        return None
    return e.pointwise([base, base], kind.type, lambda inner, args: [inner.op("arith.mulf", *args)])


def folded(e: Emitter, op: Operation, operands: Sequence[SSAValue]) -> SSAValue | None:
    """Return the folded result of an elementwise op, `None` if it does not fold.

    A convert to the same type and a select by a constant return one of their operands.
    """
    found: SSAValue | None = None
    if op.name == "stablehlo.convert" and operand_kind(op) == result_kind(op):
        found = operands[0]
    elif op.name == "stablehlo.convert":
        return _converted(e, op, operands[0])
    elif op.name == "stablehlo.select":
        chosen = _number(operands[0])
        found = None if chosen is None else operands[1 if chosen else 2]
    elif op.name == "stablehlo.compare":
        return _compared(e, op, operands)
    elif op.name == "stablehlo.power":
        return squared(e, op, operands[0])
    return found if found is not None and found.type == converted(op.result_types[0]) else None


def _converted(e: Emitter, op: Operation, operand: SSAValue) -> SSAValue | None:
    """Return a constant of one number as a float, if that is rounded once.

    PyTorch's numbers are of 64 bits.
    """
    source, target = operand_kind(op), result_kind(op)
    held = dense_constant(operand)
    element = f32 if target.type == f32 else f64 if target.type == f64 else None
    is_number = source.name in ("signed", "float") and 0 not in shape(operand)
    if held is None or not is_number or not is_splat(held):
        return None
    number = number_of(held)
    if isinstance(number, int):
        number = as_signed(number, source.width)
    if isinstance(number, complex) or not abs(number) <= _MOST or element is None:
        return None
    type_ = TensorType(element, shape(operand))
    return e.insert(ConstantOp(DenseIntOrFPElementsAttr.from_list(type_, [float(number)]), type_))


_MOST = 1 << 53
"""Up to this integer all are numbers of `f64`, and floats fit `f32`."""


def _number(value: SSAValue) -> int | None:
    """Return the integer of a rank-0 constant, `None` for other values."""
    found = None if shape(value) else dense_constant(value)
    number = None if found is None else number_of(found)
    return int(number) if isinstance(number, int) else None


def _compared(e: Emitter, op: Operation, operands: Sequence[SSAValue]) -> SSAValue | None:
    kind = operand_kind(op)
    numbers = [_number(each) for each in operands]
    if kind.name not in ("signed", "unsigned") or not isinstance(kind.type, IntegerType):
        return None
    if None in numbers:
        return None
    read = as_signed if kind.name == "signed" else as_unsigned
    left, right = (read(cast(int, each), kind.width) for each in numbers)
    is_true = _COMPARISONS[word(op, "comparison_direction")](left, right)
    type_ = TensorType(i1, [])
    return e.insert(ConstantOp(DenseIntOrFPElementsAttr.from_list(type_, [int(is_true)]), type_))

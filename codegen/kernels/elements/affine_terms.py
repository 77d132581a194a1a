"""Write affine expressions as code of a kernel."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

from ..code.ast_builder import AstBuilder, Term
from .checks import Checks
from .kernel_text import Failure


def affine_term(
    code: AstBuilder,
    checks: Checks,
    expression: AffineExpr,
    operands: Sequence[Term],
    dimensions: int,
    operation: Operation | None,
) -> Term:
    """Write an affine expression; `operands` are its dimensions, then its symbols.

    If `operation` is given, the kernel fails at it if a computed divisor is not positive.
    """
    if isinstance(expression, AffineDimExpr):
        return operands[expression.position]
    if isinstance(expression, AffineConstantExpr):
        return expression.value
    if isinstance(expression, AffineBinaryOpExpr):
        left = affine_term(code, checks, expression.lhs, operands, dimensions, operation)
        right = affine_term(code, checks, expression.rhs, operands, dimensions, operation)
        is_division = expression.kind not in (AffineBinaryOpKind.Add, AffineBinaryOpKind.Mul)
        if is_division and operation is not None and not checks.is_proven(operation):
            message = f"{expression} divides by a number that is not positive"
            is_wrong = code.call("cmpisle_i64", right, 0)
            checks.fail_if(is_wrong, Failure(operation, message), 0)
        match expression.kind:
            case AffineBinaryOpKind.Add:
                return code.add(left, right)
            case AffineBinaryOpKind.Mul:
                return code.multiply(left, right)
            case AffineBinaryOpKind.Mod:
                return code.modulo(left, right)
            case AffineBinaryOpKind.FloorDiv:
                return code.floor_divide(left, right)
            case AffineBinaryOpKind.CeilDiv:
                return code.ceiling_divide(left, right)
    assert isinstance(expression, AffineSymExpr)
    return operands[dimensions + expression.position]

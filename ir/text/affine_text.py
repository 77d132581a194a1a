"""Read and print affine maps and sets in MLIR's syntax.

xDSL lacks semi-affine expressions and prints signs and parentheses differently.
"""

from __future__ import annotations

from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr
from xdsl.ir import Attribute
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)
from xdsl.parser import AffineParser
from xdsl.utils.mlir_lexer import MLIRToken

DIVISIONS = {
    "ceildiv": AffineBinaryOpKind.CeilDiv,
    "floordiv": AffineBinaryOpKind.FloorDiv,
    "mod": AffineBinaryOpKind.Mod,
}


class SemiAffineParser(AffineParser):
    """An affine parser that also reads semi-affine `s0 ceildiv s1` and `d0 * s0`, unlike xDSL's.

    Any expression may be a divisor. One factor of a product must be free of dimensions.
    """

    def _create_binop_expr(self, lhs: AffineExpr, rhs: AffineExpr, binop: MLIRToken) -> AffineExpr:
        if binop.text in DIVISIONS and not isinstance(rhs, AffineConstantExpr):
            return AffineBinaryOpExpr(DIVISIONS[binop.text], lhs, rhs)
        is_product = binop.text == "*"
        if is_product and not any(isinstance(each, AffineConstantExpr) for each in (lhs, rhs)):
            factors = sorted((lhs, rhs), key=_has_dimension, reverse=True)
            if not _has_dimension(factors[1]):
                return AffineBinaryOpExpr(AffineBinaryOpKind.Mul, *factors)
        return super()._create_binop_expr(lhs, rhs, binop)


def _has_dimension(expression: AffineExpr) -> bool:
    return any(isinstance(part, AffineDimExpr) for part in expression.dfs())


def affine_text(attribute: Attribute) -> str | None:
    """Return the text of an affine map or set; `None` for any other attribute."""
    if isinstance(attribute, AffineMapAttr):
        affine_map = attribute.data
        results = ", ".join(map(_expression, affine_map.results))
        space = _space(affine_map.num_dims, affine_map.num_symbols)
        return f"affine_map<{space} -> ({results})>"
    if isinstance(attribute, AffineSetAttr):
        affine_set = attribute.data
        constraints = ", ".join(
            f"{_expression(one.lhs)} {one.kind.value} {_expression(one.rhs)}"
            for one in affine_set.constraints
        )
        space = _space(affine_set.num_dims, affine_set.num_symbols)
        return f"affine_set<{space} : ({constraints})>"
    return None


def _space(dimensions: int, symbols: int) -> str:
    text = f"({', '.join(f'd{index}' for index in range(dimensions))})"
    if symbols:
        text += f"[{', '.join(f's{index}' for index in range(symbols))}]"
    return text


def _expression(expression: AffineExpr) -> str:
    match expression:
        case AffineConstantExpr(value):
            return str(value)
        case AffineDimExpr(position):
            return f"d{position}"
        case AffineSymExpr(position):
            return f"s{position}"
        case AffineBinaryOpExpr(AffineBinaryOpKind.Add):
            return _sum(expression)
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mul, left, AffineConstantExpr(-1)):
            return f"-{_factor(left)}"
        case AffineBinaryOpExpr(kind, left, right):
            return f"{_factor(left)} {_OPERATORS[kind]} {_factor(right)}"
        case _:
            return str(expression)


_OPERATORS = {
    AffineBinaryOpKind.Mul: "*",
    AffineBinaryOpKind.Mod: "mod",
    AffineBinaryOpKind.FloorDiv: "floordiv",
    AffineBinaryOpKind.CeilDiv: "ceildiv",
}


def _sum(expression: AffineExpr) -> str:
    """Return the terms of a sum as text.

    Sums nest to the left. Iteration avoids deep recursion for long ones.
    """
    terms: list[str] = []
    while isinstance(expression, AffineBinaryOpExpr) and expression.kind is AffineBinaryOpKind.Add:
        terms.append(_signed_term(expression.rhs))
        expression = expression.lhs
    return _expression(expression) + "".join(reversed(terms))


def _signed_term(term: AffineExpr) -> str:
    match term:
        case AffineConstantExpr(value) if value < 0:
            return f" - {-value}"
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mul, inner, AffineConstantExpr(-1)):
            is_sum = isinstance(inner, AffineBinaryOpExpr) and inner.kind is AffineBinaryOpKind.Add
            return f" - {_factor(inner) if is_sum else _expression(inner)}"
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mul, inner, AffineConstantExpr(value)) if (
            value < -1
        ):
            return f" - {_factor(inner)} * {-value}"
        case _:
            return f" + {_expression(term)}"


def _factor(expression: AffineExpr) -> str:
    text = _expression(expression)
    return f"({text})" if isinstance(expression, AffineBinaryOpExpr) else text

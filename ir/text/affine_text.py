"""Read and print affine maps and sets in MLIR's syntax.

xDSL lacks semi-affine expressions and prints signs and parentheses differently.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)
from xdsl.parser import AffineParser, BaseParser, Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRToken, MLIRTokenKind

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


class AffineValueParser(SemiAffineParser):
    """An affine parser of expressions of values: `%i` is a dimension, `symbol(%n)` a symbol."""

    def __init__(self, parser: Parser) -> None:
        # xDSL has no other way to read with two parsers from one text.
        super().__init__(cast(Any, parser)._parser_state)
        self._dimensions: dict[str, Span] = {}
        self._symbols: dict[str, Span] = {}

    def parse_expression(self) -> AffineExpr:
        """Read one expression."""
        return self._parse_affine_expr(self._parse_value)

    def parse_expressions(self, delimiter: BaseParser.Delimiter) -> list[AffineExpr]:
        """Read expressions between delimiters."""
        return self.parse_comma_separated_list(delimiter, self.parse_expression)

    def map_to(self, results: Sequence[AffineExpr]) -> tuple[AffineMap, list[UnresolvedOperand]]:
        """Return the map of the values that have been read, and these: dimensions, then symbols."""
        spans = [*self._dimensions.values(), *self._symbols.values()]
        found = AffineMap(len(self._dimensions), len(self._symbols), tuple(results))
        return found, [UnresolvedOperand(span, 0) for span in spans]

    def _parse_value(self) -> AffineExpr | None:
        if self.parse_optional_keyword("symbol") is not None:
            with self.in_parens():
                return self._value(self._symbols)
        if self._current_token.kind is not MLIRTokenKind.PERCENT_IDENT:
            return None
        return self._value(self._dimensions)

    def _value(self, kind: dict[str, Span]) -> AffineExpr:
        """Read a value; one that has been read before stays what it was, as in MLIR."""
        span = self._parse_token(MLIRTokenKind.PERCENT_IDENT, "expected a value").span
        if span.text not in self._dimensions and span.text not in self._symbols:
            kind[span.text] = span
        if span.text in self._symbols:
            return AffineExpr.symbol(list(self._symbols).index(span.text))
        return AffineExpr.dimension(list(self._dimensions).index(span.text))


_VARIABLE = re.compile(r"\b([ds]\d+)\b")


def print_expression(
    printer: Printer,
    expression: AffineExpr,
    dimensions: Sequence[SSAValue],
    symbols: Sequence[SSAValue],
) -> None:
    """Print an expression as `AffineValueParser` reads it."""
    for piece in _VARIABLE.split(_expression(expression)):
        if _VARIABLE.fullmatch(piece) is None:
            printer.print_string(piece)
        elif piece[0] == "d":
            printer.print_ssa_value(dimensions[int(piece[1:])])
        else:
            printer.print_string("symbol(")
            printer.print_ssa_value(symbols[int(piece[1:])])
            printer.print_string(")")


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
